package ibm_test

import (
	"net/http"
	"testing"

	"github.com/IBM/go-sdk-core/v5/core"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
)

const poolName = "tcp-80-30080"

// groupID is the identity of the cluster's resource group.
func (c cloud) groupID(t *testing.T) string {
	t.Helper()
	_, found := c.get(t, "https://resource-controller.cloud.ibm.com/v2/resource_groups?account_id="+account+
		"&name="+cluster)
	return found["resources"].([]any)[0].(map[string]any)["id"].(string)
}

// newBalancer returns a request for a load balancer in the first subnet, as the cloud-controller-manager makes it.
func (c cloud) newBalancer(t *testing.T) *vpcv1.CreateLoadBalancerOptions {
	t.Helper()
	subnets, _, err := c.vpc.ListSubnets(new(vpcv1.ListSubnetsOptions))
	require.NoError(t, err)
	return &vpcv1.CreateLoadBalancerOptions{
		Name: core.StringPtr("web"), IsPublic: core.BoolPtr(true),
		Subnets:       []vpcv1.SubnetIdentityIntf{&vpcv1.SubnetIdentity{ID: subnets.Subnets[0].ID}},
		ResourceGroup: &vpcv1.ResourceGroupIdentity{ID: core.StringPtr(c.groupID(t))},
		Pools: []vpcv1.LoadBalancerPoolPrototypeLoadBalancerContext{{
			Name: core.StringPtr(poolName), Protocol: core.StringPtr("tcp"), Algorithm: core.StringPtr("round_robin"),
			HealthMonitor: &vpcv1.LoadBalancerPoolHealthMonitorPrototype{Type: core.StringPtr("tcp"),
				Port: core.Int64Ptr(30080), Delay: core.Int64Ptr(5), MaxRetries: core.Int64Ptr(2), Timeout: core.Int64Ptr(2)},
			Members: []vpcv1.LoadBalancerPoolMemberPrototype{newMember("10.0.0.1")},
		}},
		Listeners: []vpcv1.LoadBalancerListenerPrototypeLoadBalancerContext{{
			Port: core.Int64Ptr(80), Protocol: core.StringPtr("tcp"), ConnectionLimit: core.Int64Ptr(15000),
			DefaultPool: &vpcv1.LoadBalancerPoolIdentityByName{Name: core.StringPtr(poolName)},
		}},
	}
}

func newMember(address string) vpcv1.LoadBalancerPoolMemberPrototype {
	return vpcv1.LoadBalancerPoolMemberPrototype{Port: core.Int64Ptr(30080),
		Target: &vpcv1.LoadBalancerPoolMemberTargetPrototypeIP{Address: core.StringPtr(address)}}
}

// awaitActive asks for a load balancer until it is not busy, and returns the states that it has had.
func (c cloud) awaitActive(t *testing.T, id string) (states []string) {
	t.Helper()
	for len(states) == 0 || states[len(states)-1] != "online/active" {
		require.Less(t, len(states), 3, states)
		found, _, err := c.vpc.GetLoadBalancer(c.vpc.NewGetLoadBalancerOptions(id))
		require.NoError(t, err)
		states = append(states, *found.OperatingStatus+"/"+*found.ProvisioningStatus)
	}
	return states
}

func TestTheMembersOfALoadBalancerChangeWhileItIsNotBusy(t *testing.T) {
	c := start(t)
	made, _, err := c.vpc.CreateLoadBalancer(c.newBalancer(t))
	require.NoError(t, err)
	require.Equal(t, "create_pending", *made.ProvisioningStatus)
	pool := *made.Pools[0].ID
	add := c.vpc.NewCreateLoadBalancerPoolMemberOptions(*made.ID, pool, 30080, newMember("10.0.0.2").Target)
	_, response, err := c.vpc.CreateLoadBalancerPoolMember(add)
	require.EqualError(t, err, "The load balancer is in the state create_pending.")
	require.Equal(t, http.StatusConflict, response.StatusCode)

	require.Equal(t, []string{"offline/create_pending", "online/active"}, c.awaitActive(t, *made.ID))
	added, _, err := c.vpc.CreateLoadBalancerPoolMember(add)
	require.NoError(t, err)
	require.Equal(t, []ibm.LoadBalancer{{Name: "web", Address: *made.Hostname, Members: []string{"10.0.0.1", "10.0.0.2"}}},
		c.LoadBalancers())

	require.Equal(t, []string{"online/update_pending", "online/active"}, c.awaitActive(t, *made.ID))
	_, err = c.vpc.DeleteLoadBalancerPoolMember(
		c.vpc.NewDeleteLoadBalancerPoolMemberOptions(*made.ID, pool, *added.ID))
	require.NoError(t, err)
	require.Equal(t, []string{"10.0.0.1"}, c.LoadBalancers()[0].Members)

	c.awaitActive(t, *made.ID)
	_, _, err = c.vpc.ReplaceLoadBalancerPoolMembers(c.vpc.NewReplaceLoadBalancerPoolMembersOptions(*made.ID, pool,
		[]vpcv1.LoadBalancerPoolMemberPrototype{newMember("10.0.0.2")}))
	require.NoError(t, err)
	members, _, err := c.vpc.ListLoadBalancerPoolMembers(
		c.vpc.NewListLoadBalancerPoolMembersOptions(*made.ID, pool))
	require.NoError(t, err)
	require.Len(t, members.Members, 1)
	require.Equal(t, "10.0.0.2", *members.Members[0].Target.(*vpcv1.LoadBalancerPoolMemberTarget).Address)

	_, err = c.vpc.DeleteLoadBalancer(c.vpc.NewDeleteLoadBalancerOptions(*made.ID))
	require.NoError(t, err)
	require.Empty(t, c.LoadBalancers())
	_, _, err = c.vpc.GetLoadBalancer(c.vpc.NewGetLoadBalancerOptions(*made.ID))
	require.EqualError(t, err, "The resource could not be found.")
}

func TestALoadBalancerIsDescribedAsItWasMade(t *testing.T) {
	c := start(t)
	made, _, err := c.vpc.CreateLoadBalancer(c.newBalancer(t))
	require.NoError(t, err)
	found, _, err := c.vpc.ListLoadBalancers(new(vpcv1.ListLoadBalancersOptions))
	require.NoError(t, err)
	require.Equal(t, []string{"web", *made.Hostname, "application"}, []string{*found.LoadBalancers[0].Name,
		*found.LoadBalancers[0].Hostname, *found.LoadBalancers[0].Profile.Family})
	require.Len(t, found.LoadBalancers[0].Subnets, 1)

	listeners, _, err := c.vpc.ListLoadBalancerListeners(c.vpc.NewListLoadBalancerListenersOptions(*made.ID))
	require.NoError(t, err)
	require.Len(t, listeners.Listeners, 1)
	require.Equal(t, int64(80), *listeners.Listeners[0].Port)
	require.Equal(t, poolName, *listeners.Listeners[0].DefaultPool.Name)
	pools, _, err := c.vpc.ListLoadBalancerPools(c.vpc.NewListLoadBalancerPoolsOptions(*made.ID))
	require.NoError(t, err)
	require.Len(t, pools.Pools, 1)
	require.Equal(t, []string{poolName, "tcp", "disabled"},
		[]string{*pools.Pools[0].Name, *pools.Pools[0].Protocol, *pools.Pools[0].ProxyProtocol})
	require.Equal(t, int64(30080), *pools.Pools[0].HealthMonitor.(*vpcv1.LoadBalancerPoolHealthMonitor).Port)
	require.Len(t, pools.Pools[0].Members, 1)
}

func TestALoadBalancerNeedsWhatExists(t *testing.T) {
	c := start(t)
	for wanted, change := range map[string]func(*vpcv1.CreateLoadBalancerOptions){
		`Subnet "x" does not exist.`: func(o *vpcv1.CreateLoadBalancerOptions) {
			o.Subnets = []vpcv1.SubnetIdentityIntf{&vpcv1.SubnetIdentity{ID: core.StringPtr("x")}}
		},
		"A load balancer needs a subnet.": func(o *vpcv1.CreateLoadBalancerOptions) {
			o.Subnets = []vpcv1.SubnetIdentityIntf{}
		},
		`Resource group "x" does not exist.`: func(o *vpcv1.CreateLoadBalancerOptions) {
			o.ResourceGroup = &vpcv1.ResourceGroupIdentity{ID: core.StringPtr("x")}
		},
		`The pool "x" of a listener is not in the request.`: func(o *vpcv1.CreateLoadBalancerOptions) {
			o.Listeners[0].DefaultPool = &vpcv1.LoadBalancerPoolIdentityByName{Name: core.StringPtr("x")}
		},
	} {
		options := c.newBalancer(t)
		change(options)
		_, response, err := c.vpc.CreateLoadBalancer(options)
		require.EqualError(t, err, wanted)
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
	}
	_, _, err := c.vpc.CreateLoadBalancer(c.newBalancer(t))
	require.NoError(t, err)
	_, _, err = c.vpc.CreateLoadBalancer(c.newBalancer(t))
	require.EqualError(t, err, `The name "web" is in use.`)
}
