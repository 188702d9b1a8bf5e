package azure

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// running is a running stand-in with a client that trusts its CA and resolves every name to it.
type running struct {
	*Server
	client *http.Client
}

func start(t *testing.T, options Options) running {
	t.Helper()
	options.Listen = "127.0.0.1:0"
	s, err := Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return running{Server: s, client: standintest.NewClient(t, s)}
}

func (c running) do(t *testing.T, request *http.Request) (int, []byte) {
	t.Helper()
	return standintest.Do(t, c.client, request)
}

func (c running) newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	return request
}

// logIn asks for a token with a client secret.
func (c running) logIn(t *testing.T, secret, scope string) (int, map[string]any) {
	t.Helper()
	return c.send(t, url.Values{"client_secret": {secret}, "scope": {scope}})
}

// send sends a form to the login.
func (c running) send(t *testing.T, form url.Values) (int, map[string]any) {
	t.Helper()
	form.Set("grant_type", "client_credentials")
	form.Set("client_id", clientID)
	request := c.newRequest(t, http.MethodPost, c.url(c.cloud.login, "/"+c.cloud.tenant+c.cloud.token), form.Encode())
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	status, content := c.do(t, request)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(content, &answer))
	return status, answer
}

// newToken returns a token for the current client secret.
func (c running) newToken(t *testing.T) string {
	t.Helper()
	status, answer := c.logIn(t, string(c.Credentials()["azure_client_secret"]),
		c.cloud.audiences[0]+"/.default openid offline_access profile")
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, "Bearer", answer["token_type"])
	require.InEpsilon(t, 3600, answer["expires_in"], 0)
	return fmt.Sprint(answer["access_token"])
}

// get asks the resource manager for a path.
func (c running) get(t *testing.T, token, path string) (int, []byte) {
	t.Helper()
	request := c.newRequest(t, http.MethodGet, c.url(c.cloud.manager, path), "")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return c.do(t, request)
}

// requireResource requires an answer of the resource manager.
func requireResource[T any](t *testing.T, c running, path string) T {
	t.Helper()
	status, content := c.get(t, c.newToken(t), path)
	require.Equal(t, http.StatusOK, status, string(content))
	var answer T
	require.NoError(t, json.Unmarshal(content, &answer))
	return answer
}

// requireError requires that the resource manager does not answer.
func (c running) requireError(t *testing.T, token, path string, status int, code string) {
	t.Helper()
	got, content := c.get(t, token, path)
	require.Equal(t, status, got, string(content))
	var answer errorResponse
	require.NoError(t, json.Unmarshal(content, &answer))
	require.Equal(t, code, answer.Error.Code)
}

func machinePath(name string) string {
	return resourceID(machinesPath, name) + "?api-version=2024-07-01"
}

func TestATokenIsForTheClientSecretAndTheResourceManager(t *testing.T) {
	for name, stack := range map[string]bool{"on Azure": false, "on an Azure Stack Hub": true} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Options{Stack: stack})
			secret, scope := string(c.Credentials()["azure_client_secret"]), c.cloud.audiences[0]+"/.default"
			status, answer := c.logIn(t, "another", scope)
			require.Equal(t, http.StatusUnauthorized, status)
			require.Equal(t, "invalid_client", answer["error"])
			status, answer = c.logIn(t, secret, "https://graph.microsoft.com/.default")
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, "invalid_resource", answer["error"])
			status, _ = c.logIn(t, secret, "")
			require.Equal(t, http.StatusBadRequest, status)
			c.newToken(t)
		})
	}
}

func TestTheLoginIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		stack bool
		// discovery and issuer are paths of the login.
		discovery, issuer string
	}{
		"on Azure": {false, "/" + publicCloud.tenant + "/v2.0/.well-known/openid-configuration",
			"/" + publicCloud.tenant},
		"on an Azure Stack Hub": {true, "/adfs/.well-known/openid-configuration", "/adfs"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Options{Stack: test.stack})
			status, content := c.do(t, c.newRequest(t, http.MethodGet, c.url(c.cloud.login, test.discovery), ""))
			require.Equal(t, http.StatusOK, status)
			var found map[string]string
			require.NoError(t, json.Unmarshal(content, &found))
			require.Equal(t, c.url(c.cloud.login, test.issuer), found["issuer"])
			require.Equal(t, c.url(c.cloud.login, "/"+c.cloud.tenant+c.cloud.token), found["token_endpoint"])
			require.Contains(t, found["authorization_endpoint"], "/oauth2/")
		})
	}
	c := start(t, Options{Stack: true})
	status, content := c.get(t, "", "/metadata/endpoints?api-version=2019-05-01")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(content), `"loginEndpoint":"`+c.url("adfs.local.azurestack.example.com", "/adfs")+`"`)
}

func TestTheLoginOfAnotherTenantIsRefused(t *testing.T) {
	c := start(t, Options{})
	path := "/" + strings.Replace(c.cloud.tenant, "1", "9", 1) + c.cloud.discovery
	status, content := c.do(t, c.newRequest(t, http.MethodGet, c.url(c.cloud.login, path), ""))
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, string(content), "AADSTS90002: Tenant '91111111-2222-3333-4444-555555555555' not found.")
}

func TestARotationEndsTheFormerSecretAndItsTokens(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	former, secret, token := c.Credential(), string(c.Credentials()["azure_client_secret"]), c.newToken(t)
	status, _ := c.get(t, token, machinePath("a"))
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, c.Rotate())
	require.NotEqual(t, former, c.Credential())
	c.requireError(t, token, machinePath("a"), http.StatusUnauthorized, "InvalidAuthenticationToken")
	status, _ = c.logIn(t, secret, c.cloud.audiences[0]+"/.default")
	require.Equal(t, http.StatusUnauthorized, status)
	requireResource[virtualMachine](t, c, machinePath("a"))
	require.Equal(t, []string{
		"POST token " + former + " 200",
		"GET virtualMachines " + former + " 200",
		"GET virtualMachines " + former + " 401",
		"POST token " + former + " 401",
		"POST token " + c.Credential() + " 200",
		"GET virtualMachines " + c.Credential() + " 200",
	}, standintest.Made(c.Calls()))
}

func TestATokenOfTheServiceAccountLogsInOnceItIsTrusted(t *testing.T) {
	c := start(t, Options{})
	assert := func(claims string) int {
		status, _ := c.send(t, url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
			"client_assertion":      {"e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"},
			"scope":                 {c.cloud.audiences[0] + "/.default"},
		})
		return status
	}
	claims := func(subject, audience string, expires time.Time) string {
		return fmt.Sprintf(`{"sub": %q, "aud": [%q], "exp": %d}`, subject, audience, expires.Unix())
	}
	later := time.Now().Add(time.Hour)
	require.Equal(t, http.StatusUnauthorized, assert(claims(subject, "openshift", later)))
	secret := string(c.Credentials()["azure_client_secret"])
	require.NoError(t, c.Federate())
	require.Equal(t, subject, c.Credential())
	require.NotContains(t, c.Credentials(), "azure_client_secret")
	require.Contains(t, c.Credentials(), "azure_federated_token_file")
	for name, test := range map[string]string{
		"another subject":  claims("system:serviceaccount:default:default", "openshift", later),
		"another audience": claims(subject, "api", later),
		"an expired token": claims(subject, "openshift", time.Now()),
		"no claims":        "x",
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, http.StatusUnauthorized, assert(test)) })
	}
	for _, former := range []string{secret, ""} {
		status, _ := c.logIn(t, former, c.cloud.audiences[0]+"/.default")
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.Equal(t, http.StatusOK, assert(claims(subject, "openshift", later)))
}

func TestAVirtualMachineHasAZoneAndAnInterface(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{
		{Name: "a", Addresses: []string{"10.200.0.10"}}, {Name: "b", Addresses: []string{"10.200.0.11"}},
	}))
	found := requireResource[virtualMachine](t, c, machinePath("B"))
	require.Equal(t, "azure://"+found.ID, c.ProviderID("b"))
	require.Equal(t, "westeurope", found.Location)
	require.Equal(t, []string{"2"}, found.Zones)
	require.Equal(t, "westeurope-2", c.Zone("b"))
	require.Equal(t, c.SystemUUID("b"), found.Properties.VMID)
	card := requireResource[networkInterface](t, c, found.Properties.NetworkProfile.Interfaces[0].ID+"?api-version=1")
	require.Equal(t, "b-nic", card.Name)
	require.Equal(t, ipConfigurationProperties{Primary: true, PrivateIPAddress: "10.200.0.11", AddressVersion: "IPv4"},
		card.Properties.IPConfigurations[0].Properties)
	zones := requireResource[provider](t, c, "/subscriptions/"+subscriptionID+
		"/providers/Microsoft.Compute?api-version=1")
	require.Equal(t, []zoneMapping{{"West Europe", []string{"1", "2", "3"}}}, zones.ResourceTypes[0].ZoneMappings)
}

func TestThePowerStateIsInTheInstanceViewOnly(t *testing.T) {
	c := start(t, Options{Stack: true})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	require.NoError(t, c.StopInstance("a"))
	require.Nil(t, requireResource[virtualMachine](t, c, machinePath("a")).Properties.InstanceView)
	power := func() string {
		found := requireResource[virtualMachine](t, c, machinePath("a")+"&$expand=instanceView")
		require.Empty(t, found.Zones)
		return found.Properties.InstanceView.Statuses[1].Code
	}
	require.Equal(t, "PowerState/deallocated", power())
	require.NoError(t, c.StartInstance("a"))
	require.Equal(t, "PowerState/running", power())
	require.EqualError(t, c.StopInstance("b"), `azure stand-in: no virtual machine "b"`)
}

func TestADeletedVirtualMachineIsNotFound(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}, {Name: "b"}}))
	require.NoError(t, c.SetInstances([]Instance{{Name: "b"}}))
	token := c.newToken(t)
	c.requireError(t, token, machinePath("a"), http.StatusNotFound, "ResourceNotFound")
	c.requireError(t, token, resourceID(interfacesPath, "a-nic")+"?api-version=1", http.StatusNotFound,
		"ResourceNotFound")
	requireResource[virtualMachine](t, c, machinePath("b"))
}

func TestTheResourceManagerRejectsUnusableRequests(t *testing.T) {
	c := start(t, Options{})
	require.NoError(t, c.SetInstances([]Instance{{Name: "a"}}))
	token := c.newToken(t)
	for name, test := range map[string]struct {
		token, path string
		status      int
		code        string
	}{
		"without a token": {"", machinePath("a"), http.StatusUnauthorized, "InvalidAuthenticationToken"},
		"with an unknown token": {"x", machinePath("a"), http.StatusUnauthorized,
			"InvalidAuthenticationToken"},
		"without a version": {token, resourceID(machinesPath, "a"), http.StatusBadRequest,
			"MissingApiVersionParameter"},
		"for another subscription": {token, strings.Replace(machinePath("a"), subscriptionID, "x", 1),
			http.StatusNotFound, "SubscriptionNotFound"},
		"for another group": {token, strings.Replace(machinePath("a"), resourceGroup, "x", 1), http.StatusNotFound,
			"ResourceGroupNotFound"},
		"for another provider": {token, "/subscriptions/" + subscriptionID + "/providers/x?api-version=1",
			http.StatusNotFound, "InvalidResourceNamespace"},
		"for anything else": {token, "/subscriptions", http.StatusNotImplemented, "NotImplemented"},
	} {
		t.Run(name, func(t *testing.T) { c.requireError(t, test.token, test.path, test.status, test.code) })
	}
	require.Equal(t, 1, c.Requests()[standin.Unserved])
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	c.requireError(t, token, machinePath("a"), http.StatusServiceUnavailable, "ServiceUnavailable")
}

// serveMetadata serves the metadata service, and returns a function that asks it with a header.
func (c running) serveMetadata(t *testing.T) (ask func(path, header string) (int, []byte)) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.ServeMetadata(t.Context(), listener)
	return func(path, header string) (int, []byte) {
		request := c.newRequest(t, http.MethodGet, "http://"+listener.Addr().String()+path, "")
		request.Header.Set("Metadata", header)
		return standintest.Do(t, http.DefaultClient, request)
	}
}

func TestTheMetadataServiceKnowsAMachineByItsAddress(t *testing.T) {
	c := start(t, Options{})
	ask := c.serveMetadata(t)
	const instance = "/metadata/instance?api-version=2021-10-01"
	status, _ := ask(instance, "True")
	require.Equal(t, http.StatusNotFound, status, "there is no machine")
	require.NoError(t, c.SetInstances([]Instance{{Name: "a", Addresses: []string{"127.0.0.1"}}}))
	status, _ = ask("/metadata/instance", "True")
	require.Equal(t, http.StatusBadRequest, status, "it has no version")
	status, _ = ask(instance, "")
	require.Equal(t, http.StatusBadRequest, status, "it has no header")
	status, content := ask(instance, "True")
	require.Equal(t, http.StatusOK, status)
	var found instanceMetadata
	require.NoError(t, json.Unmarshal(content, &found))
	require.Equal(t, "a", found.Compute.Name)
	require.Equal(t, c.ProviderID("a"), "azure://"+found.Compute.ResourceID)
	require.Equal(t, c.Zone("a"), found.Compute.Location+"-"+found.Compute.Zone)
	require.Equal(t, "127.0.0.1", found.Network.Interface[0].IPv4.Addresses[0].Private)
	status, _ = ask("/metadata/loadbalancer?api-version=2020-10-01", "True")
	require.Equal(t, http.StatusOK, status)
	status, _ = ask("/metadata/attested/document", "True")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, map[string]int{GetInstance: 4, GetLoadBalancer: 1, standin.Unserved: 1}, c.Requests())
}

func TestAnInstallationHasTheEndpointsOfAStack(t *testing.T) {
	c := start(t, Options{Stack: true})
	installed := c.Installation()
	require.Equal(t, c.url(stackHub.manager, ""), installed.Status.Azure.ARMEndpoint)
	var config, endpoints map[string]any
	require.NoError(t, json.Unmarshal([]byte(installed.CloudConfig["config"]), &config))
	require.NoError(t, json.Unmarshal([]byte(installed.CloudConfig["endpoints"]), &endpoints))
	require.Equal(t, installed.Status.Azure.ARMEndpoint, config["resourceManagerEndpoint"])
	require.Equal(t, "adfs", config["tenantId"])
	require.Equal(t, stackHub.audiences[0], endpoints["tokenAudience"])
	require.Equal(t, c.url(stackHub.login, "/adfs"), endpoints["activeDirectoryEndpoint"])
	require.Equal(t, string(c.CABundle()), installed.CloudConfig["ca-bundle.pem"])
	require.Empty(t, installed.TrustedCA)
	require.Len(t, installed.Credentials, 4)
}

func TestAnInstallationOnAzureHasNoEndpoints(t *testing.T) {
	c := start(t, Options{})
	installed := c.Installation()
	require.Empty(t, installed.Status.Azure.ARMEndpoint)
	require.Equal(t, []string{"config"}, slices.Collect(maps.Keys(installed.CloudConfig)))
	require.Equal(t, string(c.CABundle()), installed.TrustedCA)
	require.NotContains(t, installed.CloudConfig["config"], "resourceManagerEndpoint")
	require.Len(t, installed.Credentials, 7)
	require.Equal(t, map[string]string{"management.azure.com": "127.0.0.1", "login.microsoftonline.com": "127.0.0.1"},
		c.Hosts())
}

func TestStartRejectsAnAddressThatNoClientReaches(t *testing.T) {
	_, err := Start(t.Context(), Options{Listen: "0.0.0.0:0"})
	require.EqualError(t, err, `azure stand-in: listen address "0.0.0.0:0": must be an IP that clients can reach`)
}
