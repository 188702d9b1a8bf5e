package gcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/permissions"
)

// running is a running stand-in with a client that trusts its CA and resolves every name to it.
type running struct {
	*Server
	client *http.Client
}

func start(t *testing.T) running {
	t.Helper()
	s, err := Start(t.Context(), Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetInstances([]Instance{
		{Name: "master-0", Addresses: []string{"127.0.0.1"}}, {Name: "worker-0", Addresses: []string{"10.0.0.2"}},
	}))
	return running{Server: s, client: standintest.NewClient(t, s)}
}

// send sends a request to the API and returns the status and the answer.
func (c running) send(t *testing.T, verb, token, path string, body any) (int, object) {
	t.Helper()
	content, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), verb,
		c.URLAt(computeHost, "/compute/v1/projects/"+projectID+"/"+path), bytes.NewReader(content))
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return c.do(t, request)
}

func (c running) do(t *testing.T, request *http.Request) (int, object) {
	t.Helper()
	status, content := standintest.Do(t, c.client, request)
	var answer object
	require.NoError(t, json.Unmarshal(content, &answer), string(content))
	return status, answer
}

// require requires an answer of the API to a client with the current key.
func (c running) require(t *testing.T, verb, path string, body any) object {
	t.Helper()
	status, answer := c.send(t, verb, c.newToken(t), path, body)
	require.Equal(t, http.StatusOK, status, answer)
	return answer
}

// requireError requires that the API answers a client with the current key with an error.
func (c running) requireError(t *testing.T, verb, path string, body any, want int, message string) {
	t.Helper()
	status, answer := c.send(t, verb, c.newToken(t), path, body)
	requireFailure(t, status, answer, want, message)
}

func requireFailure(t *testing.T, status int, answer object, want int, message string) {
	t.Helper()
	failure, _ := answer["error"].(object)
	require.Equal(t, message, failure["message"])
	require.Equal(t, want, status)
}

// names returns the names of the items in an answer.
func names(answer object) []string {
	found := []string{}
	for _, item := range answer["items"].([]any) {
		found = append(found, text(item.(object), "name"))
	}
	return found
}

func TestInstancesAreFoundInTheirZones(t *testing.T) {
	c := start(t)
	require.Equal(t, []string{elsewhere, region + "-a", region + "-b", region + "-c"},
		names(c.require(t, http.MethodGet, "zones", nil)))
	require.Equal(t, []string{elsewhere},
		names(c.require(t, http.MethodGet, "zones?filter=region+eq+.*/regions/us-central1", nil)))
	require.Equal(t, "gce://dev-project/europe-west3-b/worker-0", c.ProviderID("worker-0"))
	found := c.require(t, http.MethodGet, "zones/europe-west3-b/instances/worker-0", nil)
	require.Equal(t, "RUNNING", found["status"])
	require.True(t, strings.HasSuffix(text(found, "machineType"), "/zones/europe-west3-b/machineTypes/n2-standard-4"))
	require.Equal(t, "10.0.0.2", text(found["networkInterfaces"].([]any)[0].(object), "networkIP"))
	c.requireError(t, http.MethodGet, "zones/europe-west3-a/instances/worker-0", nil, http.StatusNotFound,
		"The resource 'projects/dev-project/zones/europe-west3-a/instances/worker-0' was not found")
	require.Equal(t, 4, c.Requests()[GetInstance]+c.Requests()[ListZones])
}

func TestInstancesAreFiltered(t *testing.T) {
	c := start(t)
	for filter, want := range map[string][]string{
		"":                         {"master-0"},
		"?filter=name+eq+master.*": {"master-0"},
		"?filter=name+eq+worker.*": {},
		"?filter=name+eq+aster":    {},
	} {
		require.Equal(t, want, names(c.require(t, http.MethodGet, "zones/europe-west3-a/instances"+filter, nil)), filter)
	}
	for _, filter := range []string{"name", "name eq ("} {
		c.requireError(t, http.MethodGet, "zones/europe-west3-a/instances?filter="+strings.ReplaceAll(filter, " ", "+"),
			nil, http.StatusBadRequest, "Invalid value for field 'filter': '"+filter+"'.")
	}
}

func TestInstancesStopGoAndAreDenied(t *testing.T) {
	c := start(t)
	const path = "zones/europe-west3-a/instances/master-0"
	missing := "The resource 'projects/dev-project/" + path + "' was not found"
	require.EqualError(t, c.StopInstance("other"), `gcp stand-in: no instance "other"`)
	require.NoError(t, c.StopInstance("master-0"))
	require.Equal(t, "TERMINATED", c.require(t, http.MethodGet, path, nil)["status"])
	require.NoError(t, c.StartInstance("master-0"))
	require.Equal(t, "RUNNING", c.require(t, http.MethodGet, path, nil)["status"])

	require.NoError(t, c.DenyInstances(true))
	c.requireError(t, http.MethodGet, path, nil, http.StatusNotFound, missing)
	require.Empty(t, names(c.require(t, http.MethodGet, "zones/europe-west3-a/instances", nil)))
	require.NoError(t, c.DenyInstances(false))
	require.Equal(t, "RUNNING", c.require(t, http.MethodGet, path, nil)["status"])

	require.NoError(t, c.SetInstances(nil))
	c.requireError(t, http.MethodGet, path, nil, http.StatusNotFound, missing)
}

func TestAnOutageAndUnservedRequestsAreRecorded(t *testing.T) {
	c := start(t)
	token := c.newToken(t)
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	status, answer := c.send(t, http.MethodGet, token, "zones", nil)
	requireFailure(t, status, answer, http.StatusServiceUnavailable, "Service Unavailable")
	require.NoError(t, c.Fail(standin.AllEndpoints, 0))

	status, answer = c.send(t, http.MethodGet, token, "regions", nil)
	requireFailure(t, status, answer, http.StatusNotImplemented, "Not Implemented")
	require.Equal(t, 1, c.Requests()[standin.Unserved])

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		c.URLAt(computeHost, "/compute/v1/projects/other/zones"), http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	status, answer = c.do(t, request)
	requireFailure(t, status, answer, http.StatusNotFound, "The resource 'projects/other' was not found")
}

// The list of permissions names the methods that the cloud-controller-manager calls. What nobody calls is not served.
func TestTheStandInServesTheMethodsInTheListOfPermissions(t *testing.T) {
	document, err := os.ReadFile("../../../docs/gcp-permissions.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, methods := range permissions.Read(document) {
		for _, method := range methods {
			listed[method] = true
		}
	}
	served := map[string]bool{GetInstance: true, ListInstances: true, ListZones: true}
	for _, name := range operationMethods {
		served[name] = true
	}
	for _, k := range kinds {
		for name := range start(t).methods(k) {
			served[k.service+"."+name] = true
		}
	}
	require.Equal(t, listed, served)
}

func TestOnlyTheMethodsOfTheAPINeedAPermission(t *testing.T) {
	for _, free := range []string{GetToken, ExchangeToken, Impersonate, "GET instance/zone"} {
		require.True(t, NeedsNoPermission(free), free)
	}
	for _, method := range []string{GetInstance, "routes.insert", standin.Unserved} {
		require.False(t, NeedsNoPermission(method), method)
	}
}

func TestTheInstallationIsForTheStandIn(t *testing.T) {
	c := start(t)
	found := c.Installation()
	require.Equal(t, projectID, found.Status.GCP.ProjectID)
	require.Equal(t, region, found.Status.GCP.Region)
	require.Equal(t, string(c.CABundle()), found.TrustedCA)
	require.Equal(t, c.Credentials(), found.Credentials)
	require.Contains(t, found.CloudConfig["config"], "node-tags       = dev-x7k2p-worker\nnode-instance-prefix = dev-x7k2p\n")
	require.Equal(t, []string{computeHost, credentialsHost, loginHost, exchangeHost}, slices.Sorted(maps.Keys(c.Hosts())))
}
