package aws

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The forms of the answers.
type (
	// targetGroup has the instances that a load balancer distributes to.
	targetGroup struct {
		ARN       string   `xml:"TargetGroupArn"`
		Name      string   `xml:"TargetGroupName"`
		VPC       string   `xml:"VpcId"`
		Type      string   `xml:"TargetType"`
		Protocol  string   `xml:"Protocol"`
		Port      int      `xml:"Port"`
		Family    string   `xml:"IpAddressType"`
		Balancers []string `xml:"LoadBalancerArns>member"`

		CheckProtocol      string `xml:"HealthCheckProtocol"`
		CheckPort          string `xml:"HealthCheckPort"`
		CheckPath          string `xml:"HealthCheckPath,omitempty"`
		CheckInterval      int    `xml:"HealthCheckIntervalSeconds"`
		HealthyThreshold   int    `xml:"HealthyThresholdCount"`
		UnhealthyThreshold int    `xml:"UnhealthyThresholdCount"`

		targets []target
	}
	target struct {
		ID   string `xml:"Id"`
		Port int    `xml:"Port"`
	}
	targetGroupsResult struct {
		XMLName xml.Name
		Groups  []targetGroup `xml:"TargetGroups>member"`
	}
	targetHealthResult struct {
		XMLName xml.Name
		Targets []targetDescription `xml:"TargetHealthDescriptions>member"`
	}
	targetDescription struct {
		Target target `xml:"Target"`
		State  string `xml:"TargetHealth>State"`
		Reason string `xml:"TargetHealth>Reason,omitempty"`
	}
)

// targetGroup returns the target group with an ARN.
func (s *Server) targetGroup(arn string) (*targetGroup, *apiError) {
	i := slices.IndexFunc(s.targetGroups, func(g *targetGroup) bool { return g.ARN == arn })
	if i < 0 {
		return nil, &apiError{http.StatusBadRequest, "TargetGroupNotFound", "One or more target groups not found"}
	}
	return s.targetGroups[i], nil
}

// describe returns a target group with the load balancers that forward to it.
func (s *Server) describe(group *targetGroup) targetGroup {
	described := *group
	for _, b := range s.balancers {
		if b.forwardsTo(group) {
			described.Balancers = append(described.Balancers, b.arn)
		}
	}
	return described
}

func (b *balancer) forwardsTo(group *targetGroup) bool {
	return slices.ContainsFunc(b.listeners, func(l *listener) bool { return l.target() == group.ARN })
}

// address returns the first address of an instance, an empty list if it has none.
func (s *Server) address(id string) []string {
	for _, m := range s.machines {
		if m.id == id && len(m.Addresses) > 0 {
			return m.Addresses[:1]
		}
	}
	return nil
}

func (s *Server) createTargetGroup(p parameters) (any, *apiError) {
	made := &targetGroup{
		Name: p.get("Name"), VPC: p.get("VpcId"), Type: p.get("TargetType"), Protocol: p.get("Protocol"),
		Port: p.number("Port"), Family: "ipv4",
	}
	made.setHealthCheck(p)
	for _, g := range s.targetGroups {
		if g.Name != made.Name {
			continue
		}
		if g.Protocol != made.Protocol || g.Port != made.Port {
			return nil, &apiError{http.StatusBadRequest, "DuplicateTargetGroupName",
				fmt.Sprintf("A target group with the name '%s' exists, but with different settings", g.Name)}
		}
		return targetGroupsResult{resultName(CreateTargetGroup), []targetGroup{s.describe(g)}}, nil
	}
	made.ARN = balancerARN(fmt.Sprintf("targetgroup/%s/%x", made.Name, hash(standin.RandomHex(), 8)))
	s.targetGroups = append(s.targetGroups, made)
	return targetGroupsResult{resultName(CreateTargetGroup), []targetGroup{*made}}, nil
}

// setHealthCheck changes what an action has parameters for.
func (g *targetGroup) setHealthCheck(p parameters) {
	g.CheckProtocol = cmp.Or(p.get("HealthCheckProtocol"), g.CheckProtocol)
	g.CheckPort = cmp.Or(p.get("HealthCheckPort"), g.CheckPort)
	g.CheckPath = cmp.Or(p.get("HealthCheckPath"), g.CheckPath)
	g.CheckInterval = cmp.Or(p.number("HealthCheckIntervalSeconds"), g.CheckInterval)
	g.HealthyThreshold = cmp.Or(p.number("HealthyThresholdCount"), g.HealthyThreshold)
	g.UnhealthyThreshold = cmp.Or(p.number("UnhealthyThresholdCount"), g.UnhealthyThreshold)
}

func (s *Server) modifyTargetGroup(p parameters) (any, *apiError) {
	group, failed := s.targetGroup(p.get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	group.setHealthCheck(p)
	return targetGroupsResult{resultName(ModifyTargetGroup), []targetGroup{s.describe(group)}}, nil
}

// describeTargetGroups finds target groups by ARN, or those of a load balancer.
func (s *Server) describeTargetGroups(p parameters) (any, *apiError) {
	answer := targetGroupsResult{XMLName: resultName(DescribeTargetGroups)}
	if arn := p.get("LoadBalancerArn"); arn != "" {
		owner, failed := s.balancer(arn)
		if failed != nil {
			return nil, failed
		}
		for _, g := range s.targetGroups {
			if owner.forwardsTo(g) {
				answer.Groups = append(answer.Groups, s.describe(g))
			}
		}
		return answer, nil
	}
	for _, arn := range p.list("TargetGroupArns.member") {
		group, failed := s.targetGroup(arn)
		if failed != nil {
			return nil, failed
		}
		answer.Groups = append(answer.Groups, s.describe(group))
	}
	return answer, nil
}

// deleteTargetGroup deletes a target group that no listener forwards to.
func (s *Server) deleteTargetGroup(p parameters) (any, *apiError) {
	removed, failed := s.targetGroup(p.get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	if len(s.describe(removed).Balancers) > 0 {
		return nil, &apiError{http.StatusBadRequest, "ResourceInUse",
			fmt.Sprintf("Target group '%s' is currently in use by a listener or a rule", removed.ARN)}
	}
	s.targetGroups = slices.DeleteFunc(s.targetGroups, func(g *targetGroup) bool { return g == removed })
	return emptyResult{resultName(DeleteTargetGroup)}, nil
}

// targets returns those of an action.
func (p parameters) targets() []target {
	var targets []target
	for _, item := range p.items("Targets.member") {
		targets = append(targets, target{item.get("Id"), item.number("Port")})
	}
	return targets
}

// registerTargets adds instances, which must be running.
func (s *Server) registerTargets(p parameters) (any, *apiError) {
	group, failed := s.targetGroup(p.get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	added := p.targets()
	for _, t := range added {
		if !slices.ContainsFunc(s.machines, func(m *machine) bool { return m.id == t.ID && m.state == running }) {
			return nil, &apiError{http.StatusBadRequest, "InvalidTarget",
				fmt.Sprintf("The following targets are not in a running state and cannot be registered: '%s'", t.ID)}
		}
	}
	for _, t := range added {
		if !slices.Contains(group.targets, t) {
			group.targets = append(group.targets, t)
		}
	}
	return emptyResult{resultName(RegisterTargets)}, nil
}

// deregisterTargets removes instances at once: there are no connections to drain.
func (s *Server) deregisterTargets(p parameters) (any, *apiError) {
	group, failed := s.targetGroup(p.get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	removed := p.targets()
	group.targets = slices.DeleteFunc(group.targets, func(t target) bool { return slices.Contains(removed, t) })
	return emptyResult{resultName(DeregisterTargets)}, nil
}

// describeTargetHealth answers with the targets. Those that run are healthy: no one checks them.
func (s *Server) describeTargetHealth(p parameters) (any, *apiError) {
	group, failed := s.targetGroup(p.get("TargetGroupArn"))
	if failed != nil {
		return nil, failed
	}
	answer := targetHealthResult{XMLName: resultName(DescribeTargetHealth)}
	for _, t := range group.targets {
		described := targetDescription{Target: t, State: "healthy"}
		if !slices.ContainsFunc(s.machines, func(m *machine) bool { return m.id == t.ID && m.state == running }) {
			described.State, described.Reason = "unused", "Target.InvalidState"
		}
		answer.Targets = append(answer.Targets, described)
	}
	return answer, nil
}
