package aws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// The security group of every instance.
const (
	nodeGroupID   = "sg-0a1b2c3d4e5f60718"
	nodeGroupName = seed.InfrastructureName + "-node"
)

// The forms of the answers.
type (
	securityGroup struct {
		ID          string       `xml:"groupId"`
		Name        string       `xml:"groupName"`
		Description string       `xml:"groupDescription"`
		VPC         string       `xml:"vpcId"`
		Owner       string       `xml:"ownerId"`
		Permissions []permission `xml:"ipPermissions>item"`
		Tags        []tag        `xml:"tagSet>item"`
	}
	// permission allows traffic from all of its ranges and security groups. There is one for a protocol and its ports.
	// All protocols (-1) have no ports.
	permission struct {
		Protocol string      `xml:"ipProtocol"`
		FromPort int         `xml:"fromPort,omitempty"`
		ToPort   int         `xml:"toPort,omitempty"`
		Ranges   []ipRange   `xml:"ipRanges>item"`
		Groups   []groupPair `xml:"groups>item"`
	}
	groupPair struct {
		Owner string `xml:"userId"`
		ID    string `xml:"groupId"`
	}
	ipRange struct {
		CIDR        string `xml:"cidrIp"`
		Description string `xml:"description,omitempty"`
	}
	groupIdentifier struct {
		ID   string `xml:"groupId"`
		Name string `xml:"groupName"`
	}
	describeSecurityGroupsResponse struct {
		XMLName   xml.Name        `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeSecurityGroupsResponse"`
		RequestID string          `xml:"requestId"`
		Groups    []securityGroup `xml:"securityGroupInfo>item"`
		NextToken string          `xml:"nextToken,omitempty"`
	}
	createSecurityGroupResponse struct {
		XMLName   xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ CreateSecurityGroupResponse"`
		RequestID string   `xml:"requestId"`
		ID        string   `xml:"groupId"`
		Return    bool     `xml:"return"`
	}
	// changeResponse is the answer to an action that changes a security group.
	changeResponse struct {
		XMLName   xml.Name
		RequestID string `xml:"requestId"`
		Return    bool   `xml:"return"`
	}
)

func changed(action string) changeResponse {
	return changeResponse{
		XMLName: xml.Name{Space: "http://ec2.amazonaws.com/doc/2016-11-15/", Local: action + "Response"},
		Return:  true, RequestID: standin.RandomHex(),
	}
}

// newGroups returns the installer's security groups.
func newGroups() []*securityGroup {
	return []*securityGroup{{
		ID: nodeGroupID, Name: nodeGroupName, Description: "Created By OpenShift Installer", VPC: vpcID, Owner: account,
		Tags: []tag{{"Name", nodeGroupName}, clusterTag},
	}}
}

var groupFields = map[string]func(*securityGroup) []string{
	"group-id":               single(func(g *securityGroup) string { return g.ID }),
	"group-name":             single(func(g *securityGroup) string { return g.Name }),
	"vpc-id":                 single(func(g *securityGroup) string { return g.VPC }),
	"ip-permission.group-id": (*securityGroup).permitted,
}

// permitted returns the security groups that have a permission.
func (g *securityGroup) permitted() []string {
	var ids []string
	for _, p := range g.Permissions {
		for _, pair := range p.Groups {
			ids = append(ids, pair.ID)
		}
	}
	return ids
}

// group returns the security group with an identifier.
func (s *Server) group(id string) (*securityGroup, *apiError) {
	i := slices.IndexFunc(s.groups, func(g *securityGroup) bool { return g.ID == id })
	if i < 0 {
		return nil, &apiError{http.StatusBadRequest, "InvalidGroup.NotFound",
			fmt.Sprintf("The security group '%s' does not exist", id)}
	}
	return s.groups[i], nil
}

func (s *Server) describeSecurityGroups(p parameters) (any, *apiError) {
	matches, failed := filter(p, groupFields)
	if failed != nil {
		return nil, failed
	}
	ids := p.list("GroupId")
	for _, id := range ids {
		if _, failed := s.group(id); failed != nil {
			return nil, failed
		}
	}
	var found []securityGroup
	for _, g := range s.groups {
		if (len(ids) == 0 || slices.Contains(ids, g.ID)) && matches(g) {
			found = append(found, *g)
		}
	}
	from, to, next, failed := p.page(len(found))
	if failed != nil {
		return nil, failed
	}
	return describeSecurityGroupsResponse{RequestID: standin.RandomHex(), Groups: found[from:to], NextToken: next}, nil
}

func (s *Server) createSecurityGroup(p parameters) (any, *apiError) {
	name := p.get("GroupName")
	if slices.ContainsFunc(s.groups, func(g *securityGroup) bool { return g.Name == name }) {
		return nil, &apiError{http.StatusBadRequest, "InvalidGroup.Duplicate",
			fmt.Sprintf("The security group '%s' already exists for VPC '%s'", name, vpcID)}
	}
	made := &securityGroup{
		ID: fmt.Sprintf("sg-0%x", hash(standin.RandomHex(), 8)), Name: name, Description: p.get("GroupDescription"),
		VPC: p.get("VpcId"), Owner: account,
	}
	for _, specification := range p.items("TagSpecification") {
		made.Tags = append(made.Tags, specification.tags("Tag")...)
	}
	s.groups = append(s.groups, made)
	return createSecurityGroupResponse{RequestID: standin.RandomHex(), ID: made.ID, Return: true}, nil
}

// deleteSecurityGroup deletes a security group that neither an instance nor a load balancer has, and no rule names.
func (s *Server) deleteSecurityGroup(p parameters) (any, *apiError) {
	removed, failed := s.group(p.get("GroupId"))
	if failed != nil {
		return nil, failed
	}
	used := removed.ID == nodeGroupID && slices.ContainsFunc(s.machines, func(m *machine) bool {
		return m.state != terminated
	})
	if used || s.balances(removed.ID) || slices.ContainsFunc(s.groups, func(g *securityGroup) bool {
		return g != removed && slices.Contains(g.permitted(), removed.ID)
	}) {
		return nil, &apiError{http.StatusBadRequest, "DependencyViolation",
			fmt.Sprintf("resource %s has a dependent object", removed.ID)}
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *securityGroup) bool { return g == removed })
	return changed(DeleteSecurityGroup), nil
}

// balances reports whether a load balancer has a security group.
func (s *Server) balances(group string) bool {
	return slices.ContainsFunc(s.balancers, func(b *balancer) bool { return slices.Contains(b.groups, group) }) ||
		slices.ContainsFunc(s.classics, func(c *classic) bool { return slices.Contains(c.Groups, group) })
}

// permissions returns those of an action, with one range or security group each.
func (p parameters) permissions() []permission {
	var all []permission
	for _, item := range p.items("IpPermissions") {
		one := permission{
			Protocol: item.get("IpProtocol"), FromPort: item.number("FromPort"), ToPort: item.number("ToPort"),
		}
		for _, source := range item.items("IpRanges") {
			one.Ranges = []ipRange{{source.get("CidrIp"), source.get("Description")}}
			all = append(all, one)
		}
		one.Ranges = nil
		for _, source := range item.items("Groups") {
			one.Groups = []groupPair{{account, source.get("GroupId")}}
			all = append(all, one)
		}
	}
	return all
}

// find returns the permission for the protocol and the ports of another one, nil if there is none.
func (g *securityGroup) find(wanted permission) *permission {
	for i := range g.Permissions {
		has := &g.Permissions[i]
		if has.Protocol == wanted.Protocol && has.FromPort == wanted.FromPort && has.ToPort == wanted.ToPort {
			return has
		}
	}
	return nil
}

// without returns the permission without the sources of another one. The descriptions of ranges do not count.
func (w permission) without(removed permission) permission {
	w.Ranges = slices.DeleteFunc(slices.Clone(w.Ranges), func(r ipRange) bool {
		return slices.ContainsFunc(removed.Ranges, func(other ipRange) bool { return other.CIDR == r.CIDR })
	})
	w.Groups = slices.DeleteFunc(slices.Clone(w.Groups), func(g groupPair) bool {
		return slices.Contains(removed.Groups, g)
	})
	return w
}

func (w permission) sources() int { return len(w.Ranges) + len(w.Groups) }

// has reports whether a permission that has one source exists.
func (g *securityGroup) has(wanted permission) bool {
	found := g.find(wanted)
	return found != nil && found.without(wanted).sources() < found.sources()
}

func (w permission) String() string {
	return fmt.Sprintf("%s, %d-%d from %v%v", w.Protocol, w.FromPort, w.ToPort, w.Ranges, w.Groups)
}

// authorizeIngress adds permissions. One that exists fails the action as a whole.
func (s *Server) authorizeIngress(p parameters) (any, *apiError) {
	group, failed := s.group(p.get("GroupId"))
	if failed != nil {
		return nil, failed
	}
	added := p.permissions()
	for _, wanted := range added {
		if group.has(wanted) {
			return nil, &apiError{http.StatusBadRequest, "InvalidPermission.Duplicate",
				fmt.Sprintf("the specified rule %q already exists", wanted)}
		}
	}
	for _, wanted := range added {
		if has := group.find(wanted); has != nil {
			has.Ranges, has.Groups = append(has.Ranges, wanted.Ranges...), append(has.Groups, wanted.Groups...)
		} else {
			group.Permissions = append(group.Permissions, wanted)
		}
	}
	return changed(AuthorizeSecurityGroupIngress), nil
}

// revokeIngress removes permissions. One that does not exist fails the action as a whole.
func (s *Server) revokeIngress(p parameters) (any, *apiError) {
	group, failed := s.group(p.get("GroupId"))
	if failed != nil {
		return nil, failed
	}
	removed := p.permissions()
	for _, wanted := range removed {
		if !group.has(wanted) {
			return nil, &apiError{http.StatusBadRequest, "InvalidPermission.NotFound",
				fmt.Sprintf("The specified rule %q does not exist in this security group.", wanted)}
		}
	}
	for _, wanted := range removed {
		has := group.find(wanted)
		*has = has.without(wanted)
	}
	group.Permissions = slices.DeleteFunc(group.Permissions, func(p permission) bool { return p.sources() == 0 })
	return changed(RevokeSecurityGroupIngress), nil
}
