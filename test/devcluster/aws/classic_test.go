package aws

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// createClassic makes a classic load balancer in the first public subnet.
func createClassic(t *testing.T, c cloud, parameters ...string) {
	t.Helper()
	name := balance[createClassicResult](t, c, CreateLoadBalancer, append(parameters, "LoadBalancerName=a0123",
		"Subnets.member.1="+subnets[3].ID, "Listeners.member.1.Protocol=tcp", "Listeners.member.1.LoadBalancerPort=80",
		"Listeners.member.1.InstanceProtocol=tcp", "Listeners.member.1.InstancePort=30080")...).DNSName
	require.Equal(t, []LoadBalancer{{Name: "a0123", Address: name}}, c.LoadBalancers())
}

func (c cloud) describeClassic(t *testing.T) *classic {
	t.Helper()
	found := balance[classicsResult](t, c, DescribeLoadBalancers, "LoadBalancerNames.member.1=a0123").Balancers
	require.Len(t, found, 1)
	return found[0]
}

func TestAClassicLoadBalancerIsDescribedAsItWasMade(t *testing.T) {
	c := start(t)
	createClassic(t, c, "Scheme=internal", "SecurityGroups.member.1="+nodeGroupID)
	found := c.describeClassic(t)
	require.Regexp(t, `^a0123-[0-9a-f]{10}\.eu-central-1\.elb\.amazonaws\.com$`, found.DNSName)
	require.Equal(t, []classicListener{{"tcp", 80, "tcp", 30080}}, found.Listeners)
	require.Equal(t, []string{nodeGroupID}, found.Groups)
	require.Equal(t, []string{subnets[3].ID}, found.Subnets)
	require.Equal(t, "internal", found.Scheme)

	balance[healthCheckResult](t, c, ConfigureHealthCheck, "LoadBalancerName=a0123", "HealthCheck.Target=HTTP:10256/healthz",
		"HealthCheck.Interval=10", "HealthCheck.Timeout=5", "HealthCheck.HealthyThreshold=2",
		"HealthCheck.UnhealthyThreshold=6")
	require.Equal(t, healthCheck{"HTTP:10256/healthz", 10, 5, 2, 6}, c.describeClassic(t).Check)
	balance[classicAttributesResult](t, c, ModifyLoadBalancerAttributes, "LoadBalancerName=a0123",
		"LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled=true", "LoadBalancerAttributes.ConnectionDraining.Timeout=9")
	require.Equal(t, classicAttributes{CrossZone: true, DrainingTimeout: 9, IdleTimeout: 60},
		balance[classicAttributesResult](t, c, DescribeLoadBalancerAttributes, "LoadBalancerName=a0123").Attributes)

	for range 2 { // the second time, there is none
		balance[emptyResult](t, c, DeleteLoadBalancer, "LoadBalancerName=a0123")
	}
	require.Empty(t, c.LoadBalancers())
}

func TestWhatAClassicLoadBalancerNeedsMustExist(t *testing.T) {
	c := start(t)
	createClassic(t, c)
	listener := "Listeners.member.1.LoadBalancerPort=80"
	for code, parameters := range map[string][]string{
		"DuplicateLoadBalancerName": {"LoadBalancerName=a0123"},
		"ValidationError":           {"LoadBalancerName=b", "Subnets.member.1=" + subnets[3].ID},
		"SubnetNotFound":            {"LoadBalancerName=b", listener, "Subnets.member.1=subnet-1"},
		"InvalidSecurityGroup": {"LoadBalancerName=b", listener, "Subnets.member.1=" + subnets[3].ID,
			"SecurityGroups.member.1=sg-1"},
	} {
		c.requireActionError(t, code, CreateLoadBalancer, parameters...)
	}
	c.requireActionError(t, "LoadBalancerNotFound", DescribeLoadBalancers, "LoadBalancerNames.member.1=b")
	for _, action := range []string{DescribeLoadBalancerAttributes, ModifyLoadBalancerAttributes, ConfigureHealthCheck,
		RegisterInstances, DeregisterInstances} {
		c.requireActionError(t, "LoadBalancerNotFound", action, "LoadBalancerName=b")
	}
}

func TestMembersOfAClassicLoadBalancerAreInstances(t *testing.T) {
	c := start(t)
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"10.0.0.10"}}}))
	createClassic(t, c)
	named := []string{"LoadBalancerName=a0123", "Instances.member.1.InstanceId=" + c.idOf("a")}
	c.requireActionError(t, "InvalidInstance", RegisterInstances, append(named, "Instances.member.2.InstanceId=i-1")...)
	require.Empty(t, c.LoadBalancers()[0].Members, "an error has no effect")
	for range 2 {
		require.Equal(t, []member{{c.idOf("a")}}, balance[membersResult](t, c, RegisterInstances, named...).Members)
	}
	require.Equal(t, []member{{c.idOf("a")}}, c.describeClassic(t).Instances)
	require.Equal(t, []string{"10.0.0.10"}, c.LoadBalancers()[0].Members)
	balance[membersResult](t, c, DeregisterInstances, named...)
	require.Empty(t, c.LoadBalancers()[0].Members)
}

func TestASecurityGroupIsKeptWhileARuleNamesIt(t *testing.T) {
	c := start(t)
	made := call[createSecurityGroupResponse](t, c, CreateSecurityGroup, "GroupName=g", "VpcId="+vpcID).ID
	rule := []string{"GroupId=" + nodeGroupID, "IpPermissions.1.IpProtocol=-1", "IpPermissions.1.Groups.1.GroupId=" + made}
	call[changeResponse](t, c, AuthorizeSecurityGroupIngress, rule...)
	c.requireActionError(t, "InvalidPermission.Duplicate", AuthorizeSecurityGroupIngress, rule...)
	naming := func() []securityGroup {
		return call[describeSecurityGroupsResponse](t, c, DescribeSecurityGroups,
			"Filter.1.Name=ip-permission.group-id", "Filter.1.Value.1="+made).Groups
	}
	require.Len(t, naming(), 1)
	require.Equal(t, []permission{{Protocol: "-1", Groups: []groupPair{{account, made}}}}, naming()[0].Permissions)
	c.requireActionError(t, "DependencyViolation", DeleteSecurityGroup, "GroupId="+made)
	call[changeResponse](t, c, RevokeSecurityGroupIngress, rule...)
	c.requireActionError(t, "InvalidPermission.NotFound", RevokeSecurityGroupIngress, rule...)
	require.Empty(t, naming())
	createClassic(t, c, "SecurityGroups.member.1="+made)
	c.requireActionError(t, "DependencyViolation", DeleteSecurityGroup, "GroupId="+made)
	balance[emptyResult](t, c, DeleteLoadBalancer, "LoadBalancerName=a0123")
	call[changeResponse](t, c, DeleteSecurityGroup, "GroupId="+made)
}

// The Query API has its action in the body, which the log has not.
func TestTheLogHasTheActionThatIsNotServed(t *testing.T) {
	dir := t.TempDir()
	c := startIn(t, dir)
	c.requireError(t, c.newRequest(t, c.accessKey(), time.Now(), "AddTags", "LoadBalancerNames.member.1=a"),
		http.StatusNotImplemented, "InvalidAction")
	log, err := os.ReadFile(filepath.Join(dir, "requests.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), " / /?Action=AddTags&Version=2012-06-01 501 -\n")
}
