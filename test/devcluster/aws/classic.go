package aws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// classic is a classic load balancer, the cloud-controller-manager's default. As with network load balancers, the
// actions that only a change of the Service needs are not served.
type classic struct {
	Name      string            `xml:"LoadBalancerName"`
	DNSName   string            `xml:"DNSName"`
	Scheme    string            `xml:"Scheme"`
	VPC       string            `xml:"VPCId"`
	Subnets   []string          `xml:"Subnets>member"`
	Groups    []string          `xml:"SecurityGroups>member"`
	Listeners []classicListener `xml:"ListenerDescriptions>member>Listener"`
	Instances []member          `xml:"Instances>member"`
	Check     healthCheck       `xml:"HealthCheck"`

	attributes classicAttributes
}

// The forms of the answers.
type (
	classicListener struct {
		Protocol         string `xml:"Protocol"`
		Port             int    `xml:"LoadBalancerPort"`
		InstanceProtocol string `xml:"InstanceProtocol"`
		InstancePort     int    `xml:"InstancePort"`
	}
	healthCheck struct {
		Target             string `xml:"Target"`
		Interval           int    `xml:"Interval"`
		Timeout            int    `xml:"Timeout"`
		HealthyThreshold   int    `xml:"HealthyThreshold"`
		UnhealthyThreshold int    `xml:"UnhealthyThreshold"`
	}
	classicAttributes struct {
		CrossZone       bool `xml:"CrossZoneLoadBalancing>Enabled"`
		AccessLog       bool `xml:"AccessLog>Enabled"`
		Draining        bool `xml:"ConnectionDraining>Enabled"`
		DrainingTimeout int  `xml:"ConnectionDraining>Timeout"`
		IdleTimeout     int  `xml:"ConnectionSettings>IdleTimeout"`
	}
	createClassicResult struct {
		XMLName xml.Name
		DNSName string `xml:"DNSName"`
	}
	classicsResult struct {
		XMLName   xml.Name
		Balancers []*classic `xml:"LoadBalancerDescriptions>member"`
	}
	member struct {
		ID string `xml:"InstanceId"`
	}
	classicAttributesResult struct {
		XMLName    xml.Name
		Attributes classicAttributes `xml:"LoadBalancerAttributes"`
	}
	healthCheckResult struct {
		XMLName xml.Name
		Check   healthCheck `xml:"HealthCheck"`
	}
	membersResult struct {
		XMLName xml.Name
		Members []member `xml:"Instances>member"`
	}
)

// classic returns the classic load balancer with a name.
func (s *Server) classic(name string) (*classic, *apiError) {
	i := slices.IndexFunc(s.classics, func(c *classic) bool { return c.Name == name })
	if i < 0 {
		return nil, &apiError{http.StatusBadRequest, "LoadBalancerNotFound",
			fmt.Sprintf("There is no ACTIVE Load Balancer named '%s'", name)}
	}
	return s.classics[i], nil
}

func (s *Server) createClassic(p parameters) (any, *apiError) {
	name := p.get("LoadBalancerName")
	if _, failed := s.classic(name); failed == nil {
		return nil, &apiError{http.StatusBadRequest, "DuplicateLoadBalancerName",
			fmt.Sprintf("Load balancer %s already exists and it is configured with different parameters.", name)}
	}
	made := &classic{
		Name: name, DNSName: fmt.Sprintf("%s-%x.%s.elb.amazonaws.com", name, hash(standin.RandomHex(), 5), region),
		Scheme: "internet-facing", VPC: vpcID, Subnets: p.list("Subnets.member"), Groups: p.list("SecurityGroups.member"),
		// These are AWS' defaults.
		Check:      healthCheck{Target: "TCP:80", Interval: 30, Timeout: 5, HealthyThreshold: 10, UnhealthyThreshold: 2},
		attributes: classicAttributes{DrainingTimeout: 300, IdleTimeout: 60},
	}
	if scheme := p.get("Scheme"); scheme != "" {
		made.Scheme = scheme
	}
	for _, l := range p.items("Listeners.member") {
		made.Listeners = append(made.Listeners, classicListener{
			l.get("Protocol"), l.number("LoadBalancerPort"), l.get("InstanceProtocol"), l.number("InstancePort"),
		})
	}
	if len(made.Listeners) == 0 || len(made.Subnets) == 0 {
		return nil, &apiError{http.StatusBadRequest, "ValidationError", "A load balancer needs listeners and subnets."}
	}
	if failed := s.requirePlace(made.Subnets, made.Groups); failed != nil {
		return nil, failed
	}
	s.classics = append(s.classics, made)
	return createClassicResult{resultName(CreateLoadBalancer), made.DNSName}, nil
}

// describeClassics finds classic load balancers by name. One that does not exist is an error.
func (s *Server) describeClassics(p parameters) (any, *apiError) {
	answer := classicsResult{XMLName: resultName(DescribeLoadBalancers)}
	names := p.list("LoadBalancerNames.member")
	for _, name := range names {
		if _, failed := s.classic(name); failed != nil {
			return nil, failed
		}
	}
	for _, c := range s.classics {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			answer.Balancers = append(answer.Balancers, c)
		}
	}
	return answer, nil
}

func (s *Server) deleteClassic(p parameters) (any, *apiError) {
	name := p.get("LoadBalancerName") // it is no error if there is none
	s.classics = slices.DeleteFunc(s.classics, func(c *classic) bool { return c.Name == name })
	return emptyResult{resultName(DeleteLoadBalancer)}, nil
}

func (s *Server) describeClassicAttributes(p parameters) (any, *apiError) {
	found, failed := s.classic(p.get("LoadBalancerName"))
	if failed != nil {
		return nil, failed
	}
	return classicAttributesResult{resultName(DescribeLoadBalancerAttributes), found.attributes}, nil
}

// modifyClassicAttributes changes what the action has parameters for.
func (s *Server) modifyClassicAttributes(p parameters) (any, *apiError) {
	changed, failed := s.classic(p.get("LoadBalancerName"))
	if failed != nil {
		return nil, failed
	}
	const prefix = "LoadBalancerAttributes."
	for name, value := range map[string]*bool{
		"CrossZoneLoadBalancing": &changed.attributes.CrossZone, "AccessLog": &changed.attributes.AccessLog,
		"ConnectionDraining": &changed.attributes.Draining,
	} {
		if text := p.get(prefix + name + ".Enabled"); text != "" {
			*value, _ = strconv.ParseBool(text)
		}
	}
	for name, value := range map[string]*int{
		"ConnectionDraining.Timeout":     &changed.attributes.DrainingTimeout,
		"ConnectionSettings.IdleTimeout": &changed.attributes.IdleTimeout,
	} {
		if number := p.number(prefix + name); number > 0 {
			*value = number
		}
	}
	return classicAttributesResult{resultName(ModifyLoadBalancerAttributes), changed.attributes}, nil
}

func (s *Server) configureHealthCheck(p parameters) (any, *apiError) {
	changed, failed := s.classic(p.get("LoadBalancerName"))
	if failed != nil {
		return nil, failed
	}
	const prefix = "HealthCheck."
	changed.Check = healthCheck{
		Target: p.get(prefix + "Target"), Interval: p.number(prefix + "Interval"), Timeout: p.number(prefix + "Timeout"),
		HealthyThreshold: p.number(prefix + "HealthyThreshold"), UnhealthyThreshold: p.number(prefix + "UnhealthyThreshold"),
	}
	return healthCheckResult{resultName(ConfigureHealthCheck), changed.Check}, nil
}

// instances returns those of an action. They must exist.
func (s *Server) instances(p parameters) ([]member, *apiError) {
	var all []member
	for _, item := range p.items("Instances.member") {
		id := item.get("InstanceId")
		if !slices.ContainsFunc(s.machines, func(m *machine) bool { return m.id == id }) {
			return nil, &apiError{http.StatusBadRequest, "InvalidInstance",
				fmt.Sprintf("Could not find EC2 instance %s.", id)}
		}
		all = append(all, member{id})
	}
	return all, nil
}

func (s *Server) registerInstances(p parameters) (any, *apiError) {
	return s.changeInstances(p, RegisterInstances, func(has, named []member) []member {
		for _, m := range named {
			if !slices.Contains(has, m) {
				has = append(has, m)
			}
		}
		return has
	})
}

// deregisterInstances removes instances at once: there are no connections to drain.
func (s *Server) deregisterInstances(p parameters) (any, *apiError) {
	return s.changeInstances(p, DeregisterInstances, func(has, named []member) []member {
		return slices.DeleteFunc(has, func(m member) bool { return slices.Contains(named, m) })
	})
}

func (s *Server) changeInstances(p parameters, action string, change func(has, named []member) []member,
) (any, *apiError) {
	changed, failed := s.classic(p.get("LoadBalancerName"))
	if failed != nil {
		return nil, failed
	}
	named, failed := s.instances(p)
	if failed != nil {
		return nil, failed
	}
	changed.Instances = change(changed.Instances, named)
	return membersResult{resultName(action), changed.Instances}, nil
}
