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
	// permission allows traffic from all of its ranges. There is one for a protocol and its ports.
	permission struct {
		Protocol string    `xml:"ipProtocol"`
		FromPort int       `xml:"fromPort"`
		ToPort   int       `xml:"toPort"`
		Ranges   []ipRange `xml:"ipRanges>item"`
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

var groupFields = map[string]func(*securityGroup) string{
	"group-id":   func(g *securityGroup) string { return g.ID },
	"group-name": func(g *securityGroup) string { return g.Name },
	"vpc-id":     func(g *securityGroup) string { return g.VPC },
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

// deleteSecurityGroup deletes a security group that neither an instance nor a load balancer has.
func (s *Server) deleteSecurityGroup(p parameters) (any, *apiError) {
	removed, failed := s.group(p.get("GroupId"))
	if failed != nil {
		return nil, failed
	}
	used := removed.ID == nodeGroupID && slices.ContainsFunc(s.machines, func(m *machine) bool {
		return m.state != terminated
	})
	if used || slices.ContainsFunc(s.balancers, func(b *balancer) bool { return slices.Contains(b.groups, removed.ID) }) {
		return nil, &apiError{http.StatusBadRequest, "DependencyViolation",
			fmt.Sprintf("resource %s has a dependent object", removed.ID)}
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *securityGroup) bool { return g == removed })
	return changed(DeleteSecurityGroup), nil
}

// permissions returns those of an action, with one range each.
func (p parameters) permissions() []permission {
	var all []permission
	for _, item := range p.items("IpPermissions") {
		for _, source := range item.items("IpRanges") {
			all = append(all, permission{
				Protocol: item.get("IpProtocol"), FromPort: item.number("FromPort"), ToPort: item.number("ToPort"),
				Ranges: []ipRange{{source.get("CidrIp"), source.get("Description")}},
			})
		}
	}
	return all
}

// find returns the permission for the protocol and the ports of another one, and in it the index of the range of the
// other one, -1 if it has none.
func (g *securityGroup) find(wanted permission) (found *permission, index int) {
	for i := range g.Permissions {
		has := &g.Permissions[i]
		if has.Protocol == wanted.Protocol && has.FromPort == wanted.FromPort && has.ToPort == wanted.ToPort {
			return has, slices.IndexFunc(has.Ranges, func(r ipRange) bool { return r.CIDR == wanted.Ranges[0].CIDR })
		}
	}
	return nil, -1
}

func (w permission) String() string {
	return fmt.Sprintf("%s, %d-%d from %s", w.Protocol, w.FromPort, w.ToPort, w.Ranges[0].CIDR)
}

// authorizeIngress adds permissions. One that exists fails the action as a whole.
func (s *Server) authorizeIngress(p parameters) (any, *apiError) {
	group, failed := s.group(p.get("GroupId"))
	if failed != nil {
		return nil, failed
	}
	added := p.permissions()
	for _, wanted := range added {
		if _, index := group.find(wanted); index >= 0 {
			return nil, &apiError{http.StatusBadRequest, "InvalidPermission.Duplicate",
				fmt.Sprintf("the specified rule %q already exists", wanted)}
		}
	}
	for _, wanted := range added {
		if has, _ := group.find(wanted); has != nil {
			has.Ranges = append(has.Ranges, wanted.Ranges...)
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
		if _, index := group.find(wanted); index < 0 {
			return nil, &apiError{http.StatusBadRequest, "InvalidPermission.NotFound",
				fmt.Sprintf("The specified rule %q does not exist in this security group.", wanted)}
		}
	}
	for _, wanted := range removed {
		if has, index := group.find(wanted); index >= 0 { // it may be named twice
			has.Ranges = slices.Delete(has.Ranges, index, index+1)
		}
	}
	group.Permissions = slices.DeleteFunc(group.Permissions, func(p permission) bool { return len(p.Ranges) == 0 })
	return changed(RevokeSecurityGroupIngress), nil
}
