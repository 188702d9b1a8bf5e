package gcp

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	regional = "regions/" + region + "/"
	zonal    = "zones/" + region + "-b/"
)

// change makes a change and waits for its operation, as clients do.
func (c running) change(t *testing.T, verb, path string, body any) {
	t.Helper()
	operation := c.require(t, verb, path, body)
	require.Equal(t, operation, c.require(t, http.MethodPost, pathOf(text(operation, "selfLink"))+"/wait", nil))
	require.Equal(t, "DONE", operation["status"])
}

// createExternal creates an external load balancer with an instance.
func (c running) createExternal(t *testing.T) {
	t.Helper()
	c.change(t, http.MethodPost, regional+"addresses", object{"name": "a1"})
	c.change(t, http.MethodPost, "global/httpHealthChecks", object{"name": "k8s-node", "port": 10256})
	c.change(t, http.MethodPost, regional+"targetPools", object{"name": "a1",
		"instances":    []string{"/zones/europe-west3-b/instances/worker-0"},
		"healthChecks": []string{linkPrefix + "global/httpHealthChecks/k8s-node"}})
	c.change(t, http.MethodPost, regional+"forwardingRules", object{"name": "a1", "IPAddress": "203.0.113.1",
		"target": "https://compute.googleapis.com/compute/v1/projects/dev-project/regions/europe-west3/targetPools/a1"})
}

func TestAnExternalLoadBalancerHasATargetPool(t *testing.T) {
	c := start(t)
	c.createExternal(t)
	require.Equal(t, []LoadBalancer{{Name: "a1", Address: "203.0.113.1", Members: []string{"10.0.0.2"}}}, c.LoadBalancers())
	found := c.require(t, http.MethodGet, regional+"targetPools/a1", nil)
	require.Equal(t, []any{linkPrefix + "zones/europe-west3-b/instances/worker-0"}, found["instances"])
	require.Equal(t, linkPrefix+"regions/europe-west3", found["region"])

	require.NoError(t, c.SetInstances([]Instance{{Name: "master-0", Addresses: []string{"127.0.0.1"}}}))
	require.Equal(t, []string{"10.0.0.2"}, c.LoadBalancers()[0].Members, "a target pool keeps a deleted instance")
	c.change(t, http.MethodPost, regional+"targetPools/a1/removeInstance",
		object{"instances": []any{object{"instance": "/zones/europe-west3-b/instances/worker-0"}}})
	c.change(t, http.MethodPost, regional+"targetPools/a1/addInstance",
		object{"instances": []any{object{"instance": "/zones/europe-west3-a/instances/master-0"}}})
	require.Equal(t, []string{"127.0.0.1"}, c.LoadBalancers()[0].Members)

	require.Equal(t, "EXTERNAL", c.require(t, http.MethodGet, regional+"forwardingRules/a1", nil)["loadBalancingScheme"])
	require.Equal(t, "IN_USE", c.require(t, http.MethodGet, regional+"addresses/a1", nil)["status"])
	c.change(t, http.MethodDelete, regional+"addresses/a1", nil)
	require.Equal(t, "203.0.113.1", c.LoadBalancers()[0].Address, "the rule keeps a released address")
	c.change(t, http.MethodPost, regional+"addresses", object{"name": "a1", "address": "203.0.113.1"})
	require.Equal(t, []string{"a1"},
		names(c.require(t, http.MethodGet, regional+"addresses?filter=address+eq+203.0.113.1", nil)))
}

func TestAResourceThatIsUsedCannotBeDeleted(t *testing.T) {
	c := start(t)
	c.createExternal(t)
	used := map[string]string{
		regional + "targetPools/a1": regional + "forwardingRules/a1", "global/httpHealthChecks/k8s-node": regional + "targetPools/a1",
	}
	for path, by := range used {
		c.requireError(t, http.MethodDelete, path, nil, http.StatusBadRequest, "The resource 'projects/dev-project/"+path+
			"' is already being used by 'projects/dev-project/"+by+"'")
	}
	c.change(t, http.MethodDelete, regional+"forwardingRules/a1", nil)
	require.Empty(t, c.LoadBalancers())
	for _, path := range slices.Sorted(maps.Keys(used)) {
		if strings.HasPrefix(path, regional) {
			c.change(t, http.MethodDelete, path, nil)
		}
	}
	c.change(t, http.MethodDelete, "global/httpHealthChecks/k8s-node", nil)
	c.requireError(t, http.MethodGet, regional+"targetPools/a1", nil, http.StatusNotFound,
		"The resource 'projects/dev-project/regions/europe-west3/targetPools/a1' was not found")
}

func TestAnInternalLoadBalancerHasInstanceGroups(t *testing.T) {
	c := start(t)
	const worker = linkPrefix + "zones/europe-west3-b/instances/worker-0"
	c.change(t, http.MethodPost, zonal+"instanceGroups", object{"name": "k8s-ig", "network": linkPrefix + installed[0]})
	c.change(t, http.MethodPost, zonal+"instanceGroups/k8s-ig/addInstances",
		object{"instances": []any{object{"instance": worker}}})
	c.change(t, http.MethodPost, "global/healthChecks", object{"name": "k8s-node"})
	c.change(t, http.MethodPut, "global/healthChecks/k8s-node", object{"name": "k8s-node", "timeoutSec": 1})
	c.change(t, http.MethodPost, regional+"backendServices", object{"name": "a2", "loadBalancingScheme": "INTERNAL",
		"healthChecks": []string{linkPrefix + "global/healthChecks/k8s-node"},
		"backends":     []any{object{"group": linkPrefix + zonal + "instanceGroups/k8s-ig"}}})
	c.change(t, http.MethodPost, regional+"forwardingRules", object{"name": "a2", "loadBalancingScheme": "INTERNAL",
		"backendService": linkPrefix + regional + "backendServices/a2", "subnetwork": linkPrefix + installed[1]})
	require.Equal(t, []LoadBalancer{{Name: "a2", Address: "10.0.128.1", Members: []string{"10.0.0.2"}}}, c.LoadBalancers())
	require.Equal(t, []any{object{"instance": worker, "status": "RUNNING"}},
		c.require(t, http.MethodPost, zonal+"instanceGroups/k8s-ig/listInstances", object{})["items"])
	require.Equal(t, []string{"k8s-ig"}, names(c.require(t, http.MethodGet, zonal+"instanceGroups", nil)))
	require.Empty(t, names(c.require(t, http.MethodGet, "zones/europe-west3-a/instanceGroups", nil)))
	c.requireError(t, http.MethodPost, zonal+"instanceGroups/k8s-ig/addInstances",
		object{"instances": []any{object{"instance": "zones/europe-west3-a/instances/master-0"}}}, http.StatusNotFound,
		"The resource 'projects/dev-project/zones/europe-west3-a/instances/master-0' was not found")

	require.NoError(t, c.SetInstances(nil))
	require.Empty(t, c.LoadBalancers()[0].Members, "an instance group loses a deleted instance")
	require.Zero(t, c.require(t, http.MethodGet, zonal+"instanceGroups/k8s-ig", nil)["size"])
	c.requireError(t, http.MethodDelete, zonal+"instanceGroups/k8s-ig", nil, http.StatusBadRequest,
		"The resource 'projects/dev-project/zones/europe-west3-b/instanceGroups/k8s-ig' is already being used by "+
			"'projects/dev-project/regions/europe-west3/backendServices/a2'")
}

func TestAPatchKeepsWhatItDoesNotName(t *testing.T) {
	c := start(t)
	c.change(t, http.MethodPost, "global/firewalls",
		object{"name": "k8s-fw", "network": linkPrefix + installed[0], "priority": 1000, "description": "x"})
	c.change(t, http.MethodPatch, "global/firewalls/k8s-fw", object{"priority": 999})
	found := c.require(t, http.MethodGet, "global/firewalls/k8s-fw", nil)
	require.Equal(t, []any{"x", 999.0}, []any{found["description"], found["priority"]})
	c.requireError(t, http.MethodPatch, "global/firewalls/k8s-fw", object{"network": "global/networks/other"},
		http.StatusNotFound, "The resource 'projects/dev-project/global/networks/other' was not found")
}

func TestAnUnusableResourceIsRejected(t *testing.T) {
	c := start(t)
	c.change(t, http.MethodPost, regional+"addresses", object{"name": "a1"})
	for name, test := range map[string]struct {
		body    any
		status  int
		message string
	}{
		"no object":         {"x", http.StatusBadRequest, "Parse Error"},
		"a name with a dot": {object{"name": "a.1"}, http.StatusBadRequest, "Invalid value for field 'resource.name': 'a.1'."},
		"a name that exists": {object{"name": "a1"}, http.StatusConflict,
			"The resource 'projects/dev-project/regions/europe-west3/addresses/a1' already exists"},
		"another project's address": {object{"name": "a2", "address": "203.0.113.9"}, http.StatusBadRequest,
			"Invalid value for field 'resource.address': '203.0.113.9'. Specified IP address is not allocated to the " +
				"project or does not belong to the specified region."},
		"another network": {object{"name": "a2", "subnetwork": "regions/europe-west3/subnetworks/other"}, http.StatusNotFound,
			"The resource 'projects/dev-project/regions/europe-west3/subnetworks/other' was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			c.requireError(t, http.MethodPost, regional+"addresses", test.body, test.status, test.message)
		})
	}
	c.requireError(t, http.MethodPost, regional+"operations/operation-0/wait", nil, http.StatusNotFound,
		"The resource 'projects/dev-project/regions/europe-west3/operations/operation-0' was not found")
}

func TestAHealthCheckIsThatOfAFormerProviderUntilItIsUpdated(t *testing.T) {
	c := start(t)
	check := object{"name": "k8s-node", "checkIntervalSec": 8}
	for _, collection := range []string{"healthChecks", "httpHealthChecks"} {
		c.change(t, http.MethodPost, "global/"+collection, check)
	}
	c.change(t, http.MethodPost, regional+"addresses", object{"name": "a1"})
	require.Empty(t, c.AgedHealthChecks())
	c.AgeHealthChecks()
	require.EqualValues(t, 2, c.require(t, http.MethodGet, "global/healthChecks/k8s-node", nil)["checkIntervalSec"])
	require.Equal(t, []string{"k8s-node", "k8s-node"}, c.AgedHealthChecks())
	c.change(t, http.MethodPut, "global/healthChecks/k8s-node", check)
	require.Equal(t, []string{"k8s-node"}, c.AgedHealthChecks())
	c.change(t, http.MethodPut, "global/httpHealthChecks/k8s-node", check)
	require.Empty(t, c.AgedHealthChecks())
}
