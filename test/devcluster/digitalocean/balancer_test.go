package digitalocean_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
)

// balancerRequest returns a request as the cloud-controller-manager makes it, for all droplets.
func (c cloud) balancerRequest(t *testing.T) *godo.LoadBalancerRequest {
	t.Helper()
	droplets, _, err := c.api.Droplets.List(t.Context(), nil)
	require.NoError(t, err)
	request := &godo.LoadBalancerRequest{
		Name: "web", Region: c.Region(), Type: godo.LoadBalancerTypeRegionalNetwork,
		VPCUUID:         string(c.Credentials()["cluster-vpc-id"]),
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
		Tags:            []string{"k8s:dev"},
	}
	for _, droplet := range droplets {
		request.DropletIDs = append(request.DropletIDs, droplet.ID)
	}
	return request
}

func TestALoadBalancerIsCreatedChangedAndDeleted(t *testing.T) {
	c := start(t)
	request := c.balancerRequest(t)
	made, _, err := c.api.LoadBalancers.Create(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, []string{"new", ""}, []string{made.Status, made.IP})
	require.Equal(t, []digitalocean.LoadBalancer{{Name: "web", Members: []string{"10.0.0.1", "10.0.0.2"}}}, c.LoadBalancers())

	active, _, err := c.api.LoadBalancers.Get(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"active", "203.0.113.1"}, []string{active.Status, active.IP})
	require.Equal(t, request.ForwardingRules, active.ForwardingRules)
	require.Equal(t, request.DropletIDs, active.DropletIDs)
	require.Equal(t, []string{"web", c.Region(), request.Type, request.VPCUUID},
		[]string{active.Name, active.Region.Slug, active.Type, active.VPCUUID})
	listed, _, err := c.api.LoadBalancers.List(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []godo.LoadBalancer{*active}, listed)

	request.DropletIDs = request.DropletIDs[1:]
	changed, _, err := c.api.LoadBalancers.Update(t.Context(), made.ID, request)
	require.NoError(t, err)
	require.Equal(t, request.DropletIDs, changed.DropletIDs)
	require.Equal(t, []digitalocean.LoadBalancer{{Name: "web", Address: "203.0.113.1", Members: []string{"10.0.0.2"}}},
		c.LoadBalancers())

	_, err = c.api.LoadBalancers.Delete(t.Context(), made.ID)
	require.NoError(t, err)
	require.Empty(t, c.LoadBalancers())
	_, _, err = c.api.LoadBalancers.Get(t.Context(), made.ID)
	requireFailure(t, http.StatusNotFound, notFound, err)
}

func TestADeletedDropletLeavesItsLoadBalancers(t *testing.T) {
	c := start(t)
	made, _, err := c.api.LoadBalancers.Create(t.Context(), c.balancerRequest(t))
	require.NoError(t, err)
	require.NoError(t, c.SetInstances([]digitalocean.Instance{{Name: "b", Addresses: []string{"10.0.0.2"}}}))
	left, _, err := c.api.LoadBalancers.Get(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, made.DropletIDs[1:], left.DropletIDs)
}

func TestALoadBalancerOfWhatDoesNotExistIsRejected(t *testing.T) {
	c := start(t)
	const vpc = "00000000-0000-0000-0000-000000000000"
	for name, tc := range map[string]struct {
		change  func(*godo.LoadBalancerRequest)
		message string
	}{
		"no name":             {func(r *godo.LoadBalancerRequest) { r.Name = "" }, "Name can't be blank"},
		"an unknown region":   {func(r *godo.LoadBalancerRequest) { r.Region = "mars1" }, "Region is not available"},
		"another VPC":         {func(r *godo.LoadBalancerRequest) { r.VPCUUID = vpc }, fmt.Sprintf("VPC %q does not exist in the region", vpc)},
		"no rule":             {func(r *godo.LoadBalancerRequest) { r.ForwardingRules = nil }, "Forwarding rules can't be blank"},
		"an unknown droplet":  {func(r *godo.LoadBalancerRequest) { r.DropletIDs = []int{7} }, "Droplet 7 does not exist"},
		"the name of another": {func(r *godo.LoadBalancerRequest) { r.Name = "other" }, "Name is already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			request := c.balancerRequest(t)
			if name == "the name of another" {
				request.Name = "other"
				_, _, err := c.api.LoadBalancers.Create(t.Context(), request)
				require.NoError(t, err)
			}
			tc.change(request)
			_, _, err := c.api.LoadBalancers.Create(t.Context(), request)
			requireFailure(t, http.StatusUnprocessableEntity, tc.message, err)
		})
	}
}

func TestATagIsForLoadBalancersThatExist(t *testing.T) {
	c := start(t)
	made, _, err := c.api.LoadBalancers.Create(t.Context(), c.balancerRequest(t))
	require.NoError(t, err)
	tag := func(name, id string) error {
		_, err := c.api.Tags.TagResources(t.Context(), name, &godo.TagResourcesRequest{
			Resources: []godo.Resource{{ID: id, Type: godo.LoadBalancerResourceType}},
		})
		return err
	}
	require.NoError(t, tag("k8s:dev", made.ID), "the load balancer made its tag")
	requireFailure(t, http.StatusNotFound, notFound, tag("k8s:other", made.ID))
	_, _, err = c.api.Tags.Create(t.Context(), &godo.TagCreateRequest{Name: "k8s:other"})
	require.NoError(t, err)
	require.NoError(t, tag("k8s:other", made.ID))
	requireFailure(t, http.StatusUnprocessableEntity, "There is no load_balancer none", tag("k8s:other", "none"))
}
