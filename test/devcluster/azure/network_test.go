package azure

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// manage asks the resource manager with a body, and for one version of the resource if match is set.
func (c running) manage(t *testing.T, method, path, match, body string) (int, object) {
	t.Helper()
	request := c.newRequest(t, method, c.url(c.cloud.manager, path+"?api-version=1"), body)
	request.Header.Set("Authorization", "Bearer "+c.newToken(t))
	if match != "" {
		request.Header.Set("If-Match", match)
	}
	status, content := c.do(t, request)
	var answer object
	if len(content) > 0 {
		require.NoError(t, json.Unmarshal(content, &answer))
	}
	return status, answer
}

// requireCode requires that the resource manager rejects a request.
func (c running) requireCode(t *testing.T, status int, code, method, path, match, body string) {
	t.Helper()
	got, answer := c.manage(t, method, path, match, body)
	require.Equal(t, status, got, answer)
	require.Equal(t, code, answer["error"].(object)["code"])
}

func networkID(kind, name string) string { return resourceID(networkPath+kind+"/", name) }

const publicIP = `{"location": "westeurope", "sku": {"name": "Standard"}, "tags": {"a": "b"}}`

// newBalancer is a load balancer with one frontend, one pool and one rule.
func newBalancer() string {
	id := networkID(loadBalancers, "lb")
	return `{"sku": {"name": "Standard"}, "properties": {
		"frontendIPConfigurations": [{"name": "f", "properties": {
			"publicIPAddress": {"id": "` + networkID(publicIPs, "ip") + `"}}}],
		"backendAddressPools": [{"name": "p"}],
		"probes": [{"name": "h", "properties": {"port": 10256}}],
		"loadBalancingRules": [{"name": "r", "properties": {
			"frontendIPConfiguration": {"id": "` + id + `/frontendIPConfigurations/f"},
			"backendAddressPool": {"id": "` + id + `/backendAddressPools/p"},
			"probe": {"id": "` + id + `/probes/h"}}}]}}`
}

// createBalancer creates a load balancer with its public IP.
func (c running) createBalancer(t *testing.T) {
	t.Helper()
	status, _ := c.manage(t, http.MethodPut, networkID(publicIPs, "ip"), "", publicIP)
	require.Equal(t, http.StatusCreated, status)
	status, _ = c.manage(t, http.MethodPut, networkID(loadBalancers, "lb"), "", newBalancer())
	require.Equal(t, http.StatusCreated, status)
}

// join makes the interface of a machine a member of the load balancer's backend pool.
func (c running) join(t *testing.T, name string) (int, object) {
	t.Helper()
	return c.manage(t, http.MethodPut, resourceID(interfacesPath, name+"-nic"), "", `{"properties": {"ipConfigurations":
		[{"name": "pipConfig0", "properties": {"primary": true, "loadBalancerBackendAddressPools": [
			{"id": "`+networkID(loadBalancers, "lb")+`/backendAddressPools/p"}]}}]}}`)
}

func TestAResourceIsKeptWithWhatTheResourceManagerAdds(t *testing.T) {
	c := start(t, Options{})
	path := networkID(publicIPs, "ip")
	c.requireCode(t, http.StatusNotFound, "ResourceNotFound", http.MethodGet, path, "", "")
	status, made := c.manage(t, http.MethodPut, path, "", publicIP)
	require.Equal(t, http.StatusCreated, status)
	require.Equal(t, object{"ipAddress": "203.0.113.1", "provisioningState": "Succeeded"}, made["properties"])
	require.Equal(t, []any{path, "ip", "westeurope", object{"a": "b"}},
		[]any{made["id"], made["name"], made["location"], made["tags"]})
	_, found := c.manage(t, http.MethodGet, path, "", "")
	require.Equal(t, made, found)
	_, list := c.manage(t, http.MethodGet, resourceID(networkPath, publicIPs), "", "")
	require.Equal(t, []any{made}, list["value"])
	status, _ = c.manage(t, http.MethodPut, path, made["etag"].(string), `{"tags": {"a": "c"}}`)
	require.Equal(t, http.StatusOK, status)
	c.requireCode(t, http.StatusPreconditionFailed, "PreconditionFailed", http.MethodPut, path, made["etag"].(string), "{}")
	for _, body := range []string{"x", "null"} {
		c.requireCode(t, http.StatusBadRequest, "InvalidRequestContent", http.MethodPut, path, "", body)
	}
	for _, wanted := range []int{http.StatusOK, http.StatusNoContent} {
		status, _ = c.manage(t, http.MethodDelete, path, "", "")
		require.Equal(t, wanted, status)
	}
	_, list = c.manage(t, http.MethodGet, resourceID(networkPath, publicIPs), "", "")
	require.Empty(t, list["value"])
}

func TestTheSecurityGroupOfTheInstallerExists(t *testing.T) {
	c := start(t, Options{})
	path := networkID(securityGroups, resourcePrefix+"-nsg")
	_, found := c.manage(t, http.MethodGet, path, "", "")
	rule := items(found, "securityRules")[0]
	require.Equal(t, path+"/securityRules/apiserver_in", rule["id"])
	require.Equal(t, "6443", properties(rule)["destinationPortRange"])
}

func TestALoadBalancerKnowsWhatRefersToItsParts(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{
		{Name: "a", Addresses: []string{"10.200.0.10"}}, {Name: "b", Addresses: []string{"10.200.0.11"}},
	}))
	c.createBalancer(t)
	status, joined := c.join(t, "b")
	require.Equal(t, http.StatusOK, status)
	path := networkID(loadBalancers, "lb")
	_, found := c.manage(t, http.MethodGet, path, "", "")
	for _, part := range []string{frontends, pools, probes} {
		require.Equal(t, []any{object{"id": path + "/loadBalancingRules/r"}}, properties(items(found, part)[0])[rules])
	}
	require.Equal(t, []any{object{"id": resourceID(interfacesPath, "b-nic") + "/ipConfigurations/pipConfig0"}},
		properties(items(found, pools)[0])["backendIPConfigurations"])
	_, ip := c.manage(t, http.MethodGet, networkID(publicIPs, "ip"), "", "")
	require.Equal(t, path+"/frontendIPConfigurations/f", reference(ip, "ipConfiguration"))
	_, card := c.manage(t, http.MethodGet, resourceID(interfacesPath, "b-nic"), "", "")
	require.Equal(t, joined, card)
	require.Equal(t, []LoadBalancer{{Name: "lb", Address: "203.0.113.1", Members: []string{"10.200.0.11"}}}, c.LoadBalancers())
}

func TestAMemberLeavesWithItsMachineAndWithTheLoadBalancer(t *testing.T) {
	c := start(t, Options{})
	a := Instance{Name: "a", Addresses: []string{"10.200.0.10"}}
	require.NoError(t, c.SetInstances([]Instance{a, {Name: "b", Addresses: []string{"10.200.0.11"}}}))
	c.createBalancer(t)
	c.join(t, "a")
	c.join(t, "b")
	require.NoError(t, c.SetInstances([]Instance{a}))
	require.Equal(t, []string{"10.200.0.10"}, c.LoadBalancers()[0].Members)
	c.requireCode(t, http.StatusBadRequest, "PublicIPAddressCannotBeDeleted", http.MethodDelete, networkID(publicIPs, "ip"),
		"", "")
	_, before := c.manage(t, http.MethodGet, resourceID(interfacesPath, "a-nic"), "", "")
	c.manage(t, http.MethodDelete, networkID(loadBalancers, "lb"), "", "")
	require.Empty(t, c.LoadBalancers())
	_, after := c.manage(t, http.MethodGet, resourceID(interfacesPath, "a-nic"), "", "")
	require.NotEqual(t, before["etag"], after["etag"])
	status, _ := c.manage(t, http.MethodDelete, networkID(publicIPs, "ip"), "", "")
	require.Equal(t, http.StatusOK, status)
}

func TestReferencesMustLeadToSomething(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"10.200.0.10"}}}))
	path := networkID(loadBalancers, "lb")
	c.requireCode(t, http.StatusBadRequest, "LoadBalancerFrontendIPConfigurationsRequired", http.MethodPut, path, "", "{}")
	c.requireCode(t, http.StatusBadRequest, "InvalidResourceReference", http.MethodPut, path, "", newBalancer())
	c.manage(t, http.MethodPut, networkID(publicIPs, "ip"), "", "{}")
	c.requireCode(t, http.StatusBadRequest, "DifferentSkuLoadBalancersAndPublicIPAddressNotAllowed", http.MethodPut, path, "",
		newBalancer())
	status, _ := c.join(t, "a")
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = c.join(t, "b")
	require.Equal(t, http.StatusNotFound, status)
	c.requireCode(t, http.StatusPreconditionFailed, "PreconditionFailed", http.MethodPut,
		resourceID(interfacesPath, "a-nic"), "x", "{}")
	c.requireCode(t, http.StatusBadRequest, "InvalidRequestContent", http.MethodPut, resourceID(interfacesPath, "a-nic"), "",
		"x")
}

func TestMachinesAreListed(t *testing.T) {
	c := start(t, Options{Stack: true})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}, {Name: "b"}}))
	_, list := c.manage(t, http.MethodGet, resourceID("Microsoft.Compute/", "virtualMachines"), "", "")
	require.Len(t, list["value"], 2)
}
