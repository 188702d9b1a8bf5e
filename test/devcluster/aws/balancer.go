package aws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// LoadBalancer is a load balancer of the cloud.
type LoadBalancer = standin.LoadBalancer

// balancer is a network load balancer.
type balancer struct {
	arn, name, dnsName, scheme string
	subnets, groups            []string
	listeners                  []*listener
}

// listener forwards a port to a target group.
type listener struct {
	ARN      string          `xml:"ListenerArn"`
	Balancer string          `xml:"LoadBalancerArn"`
	Port     int             `xml:"Port"`
	Protocol string          `xml:"Protocol"`
	Actions  []forwardAction `xml:"DefaultActions>member"`
}

type forwardAction struct {
	Type        string `xml:"Type"`
	TargetGroup string `xml:"TargetGroupArn"`
}

// target returns the identifier of the target group.
func (l *listener) target() string { return l.Actions[0].TargetGroup }

// The forms of the answers.
type (
	loadBalancer struct {
		ARN     string         `xml:"LoadBalancerArn"`
		Name    string         `xml:"LoadBalancerName"`
		DNSName string         `xml:"DNSName"`
		Type    string         `xml:"Type"`
		Scheme  string         `xml:"Scheme"`
		Family  string         `xml:"IpAddressType"`
		VPC     string         `xml:"VpcId"`
		State   string         `xml:"State>Code"`
		Zones   []balancerZone `xml:"AvailabilityZones>member"`
		Groups  []string       `xml:"SecurityGroups>member"`
	}
	balancerZone struct {
		Name   string `xml:"ZoneName"`
		Subnet string `xml:"SubnetId"`
	}
	loadBalancersResult struct {
		XMLName   xml.Name
		Balancers []loadBalancer `xml:"LoadBalancers>member"`
	}
	listenersResult struct {
		XMLName   xml.Name
		Listeners []*listener `xml:"Listeners>member"`
	}
	attributesResult struct {
		XMLName    xml.Name
		Attributes []attribute `xml:"Attributes>member"`
	}
	attribute struct {
		Key   string `xml:"Key"`
		Value string `xml:"Value"`
	}
	// emptyResult is the answer to an action that returns nothing.
	emptyResult struct{ XMLName xml.Name }
)

// resultName is the name of the element that has the result of an action.
func resultName(action string) xml.Name { return xml.Name{Local: action + "Result"} }

// LoadBalancers returns the network load balancers in the order of their creation, then the classic ones. A target
// stays a member until it is deregistered.
func (s *Server) LoadBalancers() []LoadBalancer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []LoadBalancer
	for _, b := range s.balancers {
		seen := LoadBalancer{Name: b.name, Address: b.dnsName}
		if len(b.listeners) > 0 {
			if group, failed := s.targetGroup(b.listeners[0].target()); failed == nil {
				for _, t := range group.targets {
					seen.Members = append(seen.Members, s.address(t.ID)...)
				}
			}
		}
		found = append(found, seen)
	}
	for _, c := range s.classics {
		seen := LoadBalancer{Name: c.Name, Address: c.DNSName}
		for _, m := range c.Instances {
			seen.Members = append(seen.Members, s.address(m.ID)...)
		}
		found = append(found, seen)
	}
	return found
}

// balancer returns the load balancer with an ARN.
func (s *Server) balancer(arn string) (*balancer, *apiError) {
	i := slices.IndexFunc(s.balancers, func(b *balancer) bool { return b.arn == arn })
	if i < 0 {
		return nil, &apiError{http.StatusBadRequest, "LoadBalancerNotFound", fmt.Sprintf("Load balancer '%s' not found", arn)}
	}
	return s.balancers[i], nil
}

func (b *balancer) describe(state string) loadBalancer {
	described := loadBalancer{
		ARN: b.arn, Name: b.name, DNSName: b.dnsName, Type: "network", Scheme: b.scheme, VPC: vpcID, State: state,
		Groups: b.groups, Family: "ipv4",
	}
	for _, s := range subnets {
		if slices.Contains(b.subnets, s.ID) {
			described.Zones = append(described.Zones, balancerZone{s.Zone, s.ID})
		}
	}
	return described
}

// createLoadBalancer creates a network load balancer.
func (s *Server) createLoadBalancer(p parameters) (any, *apiError) {
	name := p.get("Name")
	if p.get("Type") != "network" {
		return nil, &apiError{http.StatusBadRequest, "ValidationError", "The stand-in has network load balancers only."}
	}
	if slices.ContainsFunc(s.balancers, func(b *balancer) bool { return b.name == name }) {
		return nil, &apiError{http.StatusBadRequest, "DuplicateLoadBalancerName",
			fmt.Sprintf("A load balancer with the name '%s' exists", name)}
	}
	id := fmt.Sprintf("%x", hash(standin.RandomHex(), 8))
	made := &balancer{
		arn: balancerARN("loadbalancer/net/" + name + "/" + id), name: name, scheme: "internet-facing",
		dnsName: name + "-" + id + ".elb." + region + ".amazonaws.com", groups: p.list("SecurityGroups.member"),
	}
	if scheme := p.get("Scheme"); scheme != "" {
		made.scheme = scheme
	}
	for _, mapping := range p.items("SubnetMappings.member") {
		made.subnets = append(made.subnets, mapping.get("SubnetId"))
	}
	if failed := s.requirePlace(made.subnets, made.groups); failed != nil {
		return nil, failed
	}
	s.balancers = append(s.balancers, made)
	return loadBalancersResult{resultName(CreateLoadBalancer), []loadBalancer{made.describe("provisioning")}}, nil
}

// requirePlace requires that the subnets and the security groups of a load balancer exist.
func (s *Server) requirePlace(ids, groups []string) *apiError {
	for _, id := range ids {
		if !slices.ContainsFunc(subnets, func(s subnet) bool { return s.ID == id }) {
			return &apiError{http.StatusBadRequest, "SubnetNotFound", fmt.Sprintf("The subnet ID '%s' does not exist", id)}
		}
	}
	for _, id := range groups {
		if _, failed := s.group(id); failed != nil {
			return &apiError{http.StatusBadRequest, "InvalidSecurityGroup", failed.message}
		}
	}
	return nil
}

// balancerARN returns the name of a resource of Elastic Load Balancing.
func balancerARN(resource string) string {
	return "arn:aws:elasticloadbalancing:" + region + ":" + account + ":" + resource
}

// describeLoadBalancers finds load balancers by ARN or name. One that does not exist is an error.
func (s *Server) describeLoadBalancers(p parameters) (any, *apiError) {
	arns, names := p.list("LoadBalancerArns.member"), p.list("Names.member")
	answer := loadBalancersResult{XMLName: resultName(DescribeLoadBalancers)}
	for _, b := range s.balancers {
		if len(arns)+len(names) == 0 || slices.Contains(arns, b.arn) || slices.Contains(names, b.name) {
			answer.Balancers = append(answer.Balancers, b.describe("active"))
		}
	}
	if len(answer.Balancers) < len(arns)+len(names) {
		return nil, &apiError{http.StatusBadRequest, "LoadBalancerNotFound",
			fmt.Sprintf("One or more load balancers not found: %v", append(arns, names...))}
	}
	return answer, nil
}

func (s *Server) deleteLoadBalancer(p parameters) (any, *apiError) {
	arn := p.get("LoadBalancerArn") // it is no error if there is none
	s.balancers = slices.DeleteFunc(s.balancers, func(b *balancer) bool { return b.arn == arn })
	return emptyResult{resultName(DeleteLoadBalancer)}, nil
}

// describeLoadBalancerAttributes answers with the defaults, which nothing changes.
func (s *Server) describeLoadBalancerAttributes(p parameters) (any, *apiError) {
	if _, failed := s.balancer(p.get("LoadBalancerArn")); failed != nil {
		return nil, failed
	}
	return attributesResult{resultName(DescribeLoadBalancerAttributes), []attribute{
		{"load_balancing.cross_zone.enabled", "false"}, {"access_logs.s3.enabled", "false"},
		{"access_logs.s3.bucket", ""}, {"access_logs.s3.prefix", ""}, {"deletion_protection.enabled", "false"},
	}}, nil
}

func (s *Server) createListener(p parameters) (any, *apiError) {
	owner, failed := s.balancer(p.get("LoadBalancerArn"))
	if failed != nil {
		return nil, failed
	}
	actions := p.items("DefaultActions.member")
	if len(actions) != 1 || actions[0].get("Type") != "forward" {
		return nil, &apiError{http.StatusBadRequest, "ValidationError", "A listener needs one action of the type forward."}
	}
	group, failed := s.targetGroup(actions[0].get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	made := &listener{
		ARN:      fmt.Sprintf("%s/%x", owner.arn, hash(standin.RandomHex(), 8)),
		Balancer: owner.arn, Port: p.number("Port"), Protocol: p.get("Protocol"),
		Actions: []forwardAction{{"forward", group.ARN}},
	}
	if slices.ContainsFunc(owner.listeners, func(l *listener) bool { return l.Port == made.Port }) {
		return nil, &apiError{http.StatusBadRequest, "DuplicateListener", "A listener already exists on this port"}
	}
	owner.listeners = append(owner.listeners, made)
	return listenersResult{resultName(CreateListener), []*listener{made}}, nil
}

func (s *Server) describeListeners(p parameters) (any, *apiError) {
	owner, failed := s.balancer(p.get("LoadBalancerArn"))
	if failed != nil {
		return nil, failed
	}
	return listenersResult{resultName(DescribeListeners), owner.listeners}, nil
}
