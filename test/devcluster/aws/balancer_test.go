package aws

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// result is an answer of Elastic Load Balancing.
type result[T any] struct {
	Result T `xml:",any"`
}

// balance requires the result of an action.
func balance[T any](t *testing.T, c cloud, action string, parameters ...string) T {
	t.Helper()
	return call[result[T]](t, c, action, parameters...).Result
}

// createBalancer makes a load balancer with a listener and a target group, and returns their ARNs.
func createBalancer(t *testing.T, c cloud, parameters ...string) (balancer, group string) {
	t.Helper()
	balancer = balance[loadBalancersResult](t, c, CreateLoadBalancer, append(parameters, "Name=a0123", "Type=network",
		"SubnetMappings.member.1.SubnetId="+subnets[3].ID, "SubnetMappings.member.2.SubnetId="+subnets[4].ID,
	)...).Balancers[0].ARN
	group = balance[targetGroupsResult](t, c, CreateTargetGroup, "Name=g", "Protocol=TCP", "Port=30080",
		"TargetType=instance", "VpcId="+vpcID, "HealthCheckPort=10256").Groups[0].ARN
	balance[listenersResult](t, c, CreateListener, "LoadBalancerArn="+balancer, "Port=80", "Protocol=TCP",
		"DefaultActions.member.1.Type=forward", "DefaultActions.member.1.TargetGroupArn="+group)
	return balancer, group
}

// idOf returns the identifier of an instance.
func (c cloud) idOf(name string) string {
	id := c.ProviderID(name)
	return id[strings.LastIndex(id, "/")+1:]
}

func TestALoadBalancerIsDescribedWithItsZones(t *testing.T) {
	c := start(t)
	arn, _ := createBalancer(t, c)
	for _, wanted := range []string{"Names.member.1=a0123", "LoadBalancerArns.member.1=" + arn} {
		found := balance[loadBalancersResult](t, c, DescribeLoadBalancers, wanted).Balancers
		require.Len(t, found, 1)
		require.Regexp(t, `^a0123-[0-9a-f]{16}\.elb\.eu-central-1\.amazonaws\.com$`, found[0].DNSName)
		require.Equal(t, []balancerZone{{"eu-central-1a", subnets[3].ID}, {"eu-central-1b", subnets[4].ID}}, found[0].Zones)
		require.Equal(t, "active internet-facing ipv4 "+vpcID,
			strings.Join([]string{found[0].State, found[0].Scheme, found[0].Family, found[0].VPC}, " "))
		require.Equal(t, []LoadBalancer{{Name: "a0123", Address: found[0].DNSName}}, c.LoadBalancers())
	}
	listeners := balance[listenersResult](t, c, DescribeListeners, "LoadBalancerArn="+arn).Listeners
	require.Len(t, listeners, 1)
	require.Equal(t, 80, listeners[0].Port)
	attributes := balance[attributesResult](t, c, DescribeLoadBalancerAttributes, "LoadBalancerArn="+arn).Attributes
	require.Contains(t, attributes, attribute{"load_balancing.cross_zone.enabled", "false"})
}

func TestWhatALoadBalancerNeedsMustExist(t *testing.T) {
	c := start(t)
	arn, _ := createBalancer(t, c)
	for code, parameters := range map[string][]string{
		"DuplicateLoadBalancerName": {"Name=a0123", "Type=network"},
		"ValidationError":           {"Name=b", "Type=application"},
		"SubnetNotFound":            {"Name=b", "Type=network", "SubnetMappings.member.1.SubnetId=subnet-1"},
		"InvalidSecurityGroup":      {"Name=b", "Type=network", "SecurityGroups.member.1=sg-1"},
	} {
		c.requireActionError(t, code, CreateLoadBalancer, parameters...)
	}
	for _, action := range []string{DescribeListeners, DescribeLoadBalancerAttributes, DescribeTargetGroups, CreateListener} {
		c.requireActionError(t, "LoadBalancerNotFound", action, "LoadBalancerArn=x")
	}
	c.requireActionError(t, "LoadBalancerNotFound", DescribeLoadBalancers, "Names.member.1=b")
	c.requireActionError(t, "ValidationError", CreateListener, "LoadBalancerArn="+arn)
	c.requireActionError(t, "TargetGroupNotFound", CreateListener, "LoadBalancerArn="+arn,
		"DefaultActions.member.1.Type=forward", "DefaultActions.member.1.TargetGroupArn=x")
	c.requireActionError(t, "DuplicateTargetGroupName", CreateTargetGroup, "Name=g", "Protocol=UDP", "Port=30080")
}

func TestTargetsAreRunningInstances(t *testing.T) {
	c := start(t)
	a := Instance{Name: "a", Addresses: []string{"10.0.0.10"}}
	require.NoError(t, c.SetInstances([]Instance{a, {Name: "b"}}))
	require.NoError(t, c.StopInstance("b"))
	_, group := createBalancer(t, c)
	id := c.idOf("a")
	register := []string{"TargetGroupArn=" + group, "Targets.member.1.Id=" + id, "Targets.member.1.Port=30080"}
	c.requireActionError(t, "InvalidTarget", RegisterTargets, append(register, "Targets.member.2.Id="+c.idOf("b"))...)
	require.Empty(t, c.LoadBalancers()[0].Members, "an error has no effect")
	for range 2 {
		balance[emptyResult](t, c, RegisterTargets, register...)
	}
	health := func() targetDescription {
		found := balance[targetHealthResult](t, c, DescribeTargetHealth, "TargetGroupArn="+group).Targets
		require.Len(t, found, 1)
		return found[0]
	}
	require.Equal(t, targetDescription{Target: target{id, 30080}, State: "healthy"}, health())
	require.NoError(t, c.SetInstances(nil))
	require.Equal(t, targetDescription{target{id, 30080}, "unused", "Target.InvalidState"}, health())
	require.Equal(t, []string{"10.0.0.10"}, c.LoadBalancers()[0].Members, "a terminated instance stays a target")
	balance[emptyResult](t, c, DeregisterTargets, register...)
	require.Empty(t, c.LoadBalancers()[0].Members)
}

func TestATargetGroupGoesAfterItsLoadBalancer(t *testing.T) {
	c := start(t)
	arn, group := createBalancer(t, c)
	found := balance[targetGroupsResult](t, c, DescribeTargetGroups, "LoadBalancerArn="+arn).Groups
	require.Len(t, found, 1)
	require.Equal(t, []string{arn}, found[0].Balancers)
	require.Equal(t, "ipv4", found[0].Family)
	c.requireActionError(t, "ResourceInUse", DeleteTargetGroup, "TargetGroupArn="+group)
	changed := balance[targetGroupsResult](t, c, ModifyTargetGroup, "TargetGroupArn="+group, "HealthCheckPath=/healthz")
	require.Equal(t, "10256/healthz", changed.Groups[0].CheckPort+changed.Groups[0].CheckPath)
	for range 2 { // the second time, there is none
		balance[emptyResult](t, c, DeleteLoadBalancer, "LoadBalancerArn="+arn)
	}
	require.Empty(t, c.LoadBalancers())
	balance[emptyResult](t, c, DeleteTargetGroup, "TargetGroupArn="+group)
	c.requireActionError(t, "TargetGroupNotFound", DescribeTargetGroups, "TargetGroupArns.member.1="+group)
}

func TestASecurityGroupIsKeptWhileItIsUsed(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	made := call[createSecurityGroupResponse](t, c, CreateSecurityGroup, "GroupName=g", "GroupDescription=d",
		"VpcId="+vpcID, "TagSpecification.1.Tag.1.Key=k", "TagSpecification.1.Tag.1.Value=v").ID
	c.requireActionError(t, "InvalidGroup.Duplicate", CreateSecurityGroup, "GroupName=g")
	found := call[describeSecurityGroupsResponse](t, c, DescribeSecurityGroups, "Filter.1.Name=group-name",
		"Filter.1.Value.1=g", "Filter.2.Name=vpc-id", "Filter.2.Value.1="+vpcID).Groups
	require.Len(t, found, 1)
	require.Equal(t, []tag{{"k", "v"}}, found[0].Tags)
	arn, _ := createBalancer(t, c, "SecurityGroups.member.1="+made)
	for _, used := range []string{made, nodeGroupID} {
		c.requireActionError(t, "DependencyViolation", DeleteSecurityGroup, "GroupId="+used)
	}
	balance[emptyResult](t, c, DeleteLoadBalancer, "LoadBalancerArn="+arn)
	require.True(t, call[changeResponse](t, c, DeleteSecurityGroup, "GroupId="+made).Return)
	c.requireActionError(t, "InvalidGroup.NotFound", DescribeSecurityGroups, "GroupId.1="+made)
	require.Len(t, call[describeSecurityGroupsResponse](t, c, DescribeSecurityGroups).Groups, 1)
}

func TestRulesOfASecurityGroupAreGrouped(t *testing.T) {
	c := start(t)
	rule := func(cidr string) []string {
		return []string{"GroupId=" + nodeGroupID, "IpPermissions.1.IpProtocol=tcp", "IpPermissions.1.FromPort=80",
			"IpPermissions.1.ToPort=80", "IpPermissions.1.IpRanges.1.CidrIp=" + cidr,
			"IpPermissions.1.IpRanges.1.Description=d"}
	}
	for _, cidr := range []string{"10.0.0.0/24", "10.0.1.0/24"} {
		call[changeResponse](t, c, AuthorizeSecurityGroupIngress, rule(cidr)...)
	}
	c.requireActionError(t, "InvalidPermission.Duplicate", AuthorizeSecurityGroupIngress, rule("10.0.0.0/24")...)
	has := func() []permission {
		return call[describeSecurityGroupsResponse](t, c, DescribeSecurityGroups, "GroupId.1="+nodeGroupID).
			Groups[0].Permissions
	}
	require.Equal(t, []permission{{"tcp", 80, 80, []ipRange{{"10.0.0.0/24", "d"}, {"10.0.1.0/24", "d"}}, nil}}, has())
	call[changeResponse](t, c, RevokeSecurityGroupIngress, rule("10.0.0.0/24")...)
	c.requireActionError(t, "InvalidPermission.NotFound", RevokeSecurityGroupIngress, rule("10.0.0.0/24")...)
	require.Equal(t, []permission{{"tcp", 80, 80, []ipRange{{"10.0.1.0/24", "d"}}, nil}}, has())
	call[changeResponse](t, c, RevokeSecurityGroupIngress, rule("10.0.1.0/24")...)
	require.Empty(t, has())
}

func TestOnlyPublicSubnetsLeadToTheGateway(t *testing.T) {
	c := start(t)
	found := call[describeSubnetsResponse](t, c, DescribeSubnets, "Filter.1.Name=vpc-id", "Filter.1.Value.1="+vpcID).Subnets
	require.Len(t, found, 6)
	require.Len(t, call[describeSubnetsResponse](t, c, DescribeSubnets, "SubnetId.1="+found[0].ID).Subnets, 1)
	c.requireActionError(t, "InvalidSubnetID.NotFound", DescribeSubnets, "SubnetId.1=subnet-1")
	var public []string
	for _, table := range call[describeRouteTablesResponse](t, c, DescribeRouteTables).Tables {
		for _, association := range table.Associations {
			if strings.HasPrefix(table.Routes[0].Gateway, "igw-") {
				public = append(public, association.Subnet)
			}
		}
	}
	require.Equal(t, []string{found[3].ID, found[4].ID, found[5].ID}, public)
}

func TestAServiceHasItsOwnSignaturesAndErrors(t *testing.T) {
	c := start(t)
	request := c.newRequest(t, c.accessKey(), time.Now(), DescribeLoadBalancers)
	request.Header.Set("Authorization",
		strings.Replace(request.Header.Get("Authorization"), "elasticloadbalancing", "ec2", 1))
	c.requireError(t, request, http.StatusForbidden, "SignatureDoesNotMatch")
	require.NoError(t, c.Fail(DescribeLoadBalancers, http.StatusServiceUnavailable))
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), DescribeLoadBalancers), http.StatusServiceUnavailable,
		"Unavailable")
}
