package nutanix_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/nutanix"
)

const (
	machines = "/api/vmm/v4.1/ahv/config/vms/"
	clusters = "/api/clustermgmt/v4.1/config/clusters"
)

type object = map[string]any

// cloud is a running stand-in with a client that logs in as the SDK does.
type cloud struct {
	*nutanix.Server
	client *http.Client
	// user and password are sent without a cookie only.
	user, password, cookie string
}

// start starts a stand-in with two virtual machines.
func start(t *testing.T) *cloud {
	t.Helper()
	s, err := nutanix.Start(t.Context(), nutanix.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetInstances([]nutanix.Instance{
		{Name: "a", Addresses: []string{"10.0.0.1"}}, {Name: "b", Addresses: []string{"10.0.0.2"}},
	}))
	return newClient(t, s)
}

// newClient returns a client with the credentials of the Secret, which trusts the stand-in's CA.
func newClient(t *testing.T, s *nutanix.Server) *cloud {
	t.Helper()
	var secret []struct {
		Type string `json:"type"`
		Data struct {
			PrismCentral struct {
				Username string `json:"username"`
				Password string `json:"password"`
			} `json:"prismCentral"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(s.Credentials()["credentials"], &secret))
	require.Equal(t, "basic_auth", secret[0].Type)
	login := secret[0].Data.PrismCentral
	return &cloud{Server: s, client: standintest.NewClient(t, s), user: login.Username, password: login.Password}
}

// get asks for a path and returns the status and the data of the answer.
func (c *cloud) get(t *testing.T, path string) (int, any) {
	t.Helper()
	return c.do(t, http.MethodGet, path)
}

func (c *cloud) do(t *testing.T, method, path string) (int, any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.URL()+path, http.NoBody)
	require.NoError(t, err)
	if c.cookie != "" {
		request.Header.Set("Cookie", c.cookie)
	} else {
		request.SetBasicAuth(c.user, c.password)
	}
	response, err := c.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if cookies := response.Cookies(); len(cookies) > 0 {
		c.cookie = cookies[0].Name + "=" + cookies[0].Value
	}
	answer := struct{ Data any }{}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer.Data
}

// requireMachine returns the virtual machine with a name.
func (c *cloud) requireMachine(t *testing.T, name string) object {
	t.Helper()
	status, found := c.get(t, machines+c.SystemUUID(name))
	require.Equal(t, http.StatusOK, status, found)
	return found.(object)
}

func TestAMachineIsFoundByTheUUIDOfItsFirmware(t *testing.T) {
	c := start(t)
	found := c.requireMachine(t, "b")
	require.Equal(t, []any{"b", c.SystemUUID("b"), "ON", "vmm.v4.ahv.config.Vm"},
		[]any{found["name"], found["extId"], found["powerState"], found["$objectType"]})
	require.Equal(t, "nutanix://"+c.SystemUUID("b"), c.ProviderID("b"))
	network := found["nics"].([]any)[0].(object)["nicNetworkInfo"].(object)
	require.Equal(t, "10.0.0.2", network["ipv4Config"].(object)["ipAddress"].(object)["value"])
	require.Equal(t, "vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo", network["$objectType"])
}

func TestAMachineIsInTheClusterThatIsItsZone(t *testing.T) {
	c := start(t)
	for _, name := range []string{"a", "b"} {
		machine := c.requireMachine(t, name)
		id := machine["cluster"].(object)["extId"].(string)
		status, found := c.get(t, clusters+"/"+id)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, []any{id, c.Zone(name)}, []any{found.(object)["extId"], found.(object)["name"]})
		host := machine["host"].(object)["extId"].(string)
		status, found = c.get(t, clusters+"/"+id+"/hosts/"+host)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, []any{host, "host-of-" + c.Zone(name)}, []any{found.(object)["extId"], found.(object)["hostName"]})
	}
	require.NotEqual(t, c.Zone("a"), c.Zone("b"))
	status, _ := c.get(t, clusters+"/none")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = c.get(t, clusters+"/none/hosts/none")
	require.Equal(t, http.StatusNotFound, status)
}

func TestOneOfTheClustersIsPrismCentral(t *testing.T) {
	c := start(t)
	status, found := c.get(t, clusters)
	require.Equal(t, http.StatusOK, status)
	software := map[any]any{}
	for _, cluster := range found.([]any) {
		described := cluster.(object)
		installed := described["config"].(object)["clusterSoftwareMap"].([]any)[0].(object)
		software[described["name"]] = installed["softwareType"]
	}
	require.Equal(t, map[any]any{c.Region(): "PRISM_CENTRAL", "cluster-a": "NOS", "cluster-b": "NOS"}, software)
	_, found = c.get(t, clusters+"?$page=1")
	require.Empty(t, found)
}

func TestAMachineStopsAndGoesAndCanBeDenied(t *testing.T) {
	c := start(t)
	require.NoError(t, c.StopInstance("a"))
	require.Equal(t, "OFF", c.requireMachine(t, "a")["powerState"])
	require.NoError(t, c.StartInstance("a"))
	require.Equal(t, "ON", c.requireMachine(t, "a")["powerState"])

	require.NoError(t, c.DenyInstances(true))
	status, failed := c.get(t, machines+c.SystemUUID("a"))
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "VM_NOT_FOUND", failed.(object)["error"].([]any)[0].(object)["errorGroup"])
	require.NoError(t, c.DenyInstances(false))
	c.requireMachine(t, "a")

	require.NoError(t, c.SetInstances([]nutanix.Instance{{Name: "b", Addresses: []string{"10.0.0.2"}}}))
	status, _ = c.get(t, machines+c.SystemUUID("a"))
	require.Equal(t, http.StatusNotFound, status)
	require.EqualError(t, c.StopInstance("a"), `nutanix stand-in: no virtual machine "a"`)
}

func TestARotatedUserIsRejectedInItsSessionTooAndTheRecordHasIt(t *testing.T) {
	c := start(t)
	c.requireMachine(t, "a")
	require.NotEmpty(t, c.cookie, "the password is answered with a session")
	c.requireMachine(t, "a")
	require.NoError(t, c.Rotate())
	status, _ := c.get(t, clusters)
	require.Equal(t, http.StatusUnauthorized, status, "the session")
	c.cookie = ""
	status, _ = c.get(t, clusters)
	require.Equal(t, http.StatusUnauthorized, status, "the password")
	newClient(t, c.Server).requireMachine(t, "a")

	require.Equal(t, []string{
		nutanix.GetVM + " ccm-1 200", nutanix.GetVM + " ccm-1 200", nutanix.ListClusters + " ccm-1 401",
		nutanix.ListClusters + " ccm-1 401", nutanix.GetVM + " ccm-2 200",
	}, standintest.Made(c.Calls()))
}

func TestAnUnknownLoginIsRejected(t *testing.T) {
	c := start(t)
	c.password = "wrong"
	status, _ := c.get(t, clusters)
	require.Equal(t, http.StatusUnauthorized, status)
	c.cookie = "NTNX_IGW_SESSION=none"
	status, _ = c.get(t, clusters)
	require.Equal(t, http.StatusUnauthorized, status)
	for _, call := range c.Calls() {
		require.Empty(t, call.Credential)
	}
}

func TestAClientFindsTheNewestVersion(t *testing.T) {
	c := start(t)
	for _, namespace := range []string{"vmm", "clustermgmt"} {
		status, newest := c.do(t, http.MethodOptions, "/api/"+namespace+"/unversioned/info")
		require.Equal(t, []any{http.StatusOK, "v4.2"}, []any{status, newest})
	}
	require.Equal(t, map[string]int{nutanix.GetNewest: 2}, c.Requests())
}

func TestWhatIsNotServedIsCounted(t *testing.T) {
	c := start(t)
	for _, path := range []string{"/api/nutanix/v3/vms/list", "/api/vmm/v5.0/ahv/config/vms/" + c.SystemUUID("a")} {
		status, _ := c.get(t, path)
		require.Equal(t, http.StatusNotImplemented, status)
	}
	require.Equal(t, map[string]int{standin.Unserved: 2}, c.Requests())
}

func TestAnOutageFailsEveryRequest(t *testing.T) {
	c := start(t)
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	status, _ := c.get(t, machines+c.SystemUUID("a"))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NoError(t, c.Fail(standin.AllEndpoints, 0))
	require.NoError(t, c.Fail(nutanix.GetVM, http.StatusTooManyRequests))
	status, _ = c.get(t, machines+c.SystemUUID("a"))
	require.Equal(t, http.StatusTooManyRequests, status)
	status, _ = c.get(t, clusters)
	require.Equal(t, http.StatusOK, status)
}

func TestAnInstallationHasTheEndpointAndTheCA(t *testing.T) {
	c := start(t)
	installed := c.Installation()
	require.Equal(t, c.Host(), installed.Spec.Nutanix.PrismCentral.Address)
	var config struct {
		PrismCentral struct {
			Address string
			Port    int32
		}
	}
	require.NoError(t, json.Unmarshal([]byte(installed.CloudConfig["config"]), &config))
	require.Equal(t, c.Host(), config.PrismCentral.Address)
	require.Equal(t, installed.Spec.Nutanix.PrismCentral.Port, config.PrismCentral.Port)
	require.Equal(t, string(c.CABundle()), installed.CloudConfig["ca-bundle.pem"])
	require.Equal(t, c.Credentials(), installed.Credentials)
}
