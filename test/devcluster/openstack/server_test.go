package openstack

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// cloud is a running stand-in with a client that trusts its CA.
type cloud struct {
	*Server
	t      *testing.T
	client *http.Client
}

func start(t *testing.T, options Options) cloud {
	t.Helper()
	server, err := Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return cloud{Server: server, t: t, client: standintest.NewClient(t, server)}
}

// in is the same cloud as seen by a subtest.
func (c cloud) in(t *testing.T) cloud {
	c.t = t
	return c
}

func startDefault(t *testing.T) cloud {
	t.Helper()
	return start(t, Options{Listen: "127.0.0.1:0"})
}

// do sends a request and returns the status, the header and the decoded body.
func (c cloud) do(method, path, token, body string) (int, http.Header, map[string]any) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.URL()+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := c.client.Do(request)
	require.NoError(c.t, err)
	data, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	require.NoError(c.t, response.Body.Close())
	var decoded map[string]any
	if response.Header.Get("Content-Type") == "application/json" {
		require.NoError(c.t, json.Unmarshal(data, &decoded))
	}
	return response.StatusCode, response.Header, decoded
}

// at follows keys into a decoded body.
func at(t *testing.T, value any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		object, ok := value.(map[string]any)
		require.True(t, ok, "no object around %q", key)
		require.Contains(t, object, key)
		value = object[key]
	}
	return value
}

func text(t *testing.T, value any, keys ...string) string {
	t.Helper()
	text, ok := at(t, value, keys...).(string)
	require.True(t, ok, "no text at %q", keys)
	return text
}

func items(t *testing.T, value any, keys ...string) []any {
	t.Helper()
	items, ok := at(t, value, keys...).([]any)
	require.True(t, ok, "no list at %q", keys)
	return items
}

func passwordLogin(user, domain, password, project string) string {
	return fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":%q,"domain":{"name":%q},`+
		`"password":%q}}},"scope":{"project":{"name":%q,"domain":{"name":"Default"}}}}}`, user, domain, password,
		project)
}

// login returns a token for the current password.
func (c cloud) login() string {
	c.t.Helper()
	status, header, _ := c.do("POST", "/identity/v3/auth/tokens", "",
		passwordLogin("cloud-controller-manager", "Default", c.password, "openshift"))
	require.Equal(c.t, http.StatusCreated, status)
	return header.Get("X-Subject-Token")
}

func TestLogin(t *testing.T) {
	c := startDefault(t)
	require.NoError(t, c.SetPassword("right"))
	good := passwordLogin("cloud-controller-manager", "Default", "right", "openshift")
	credential := func(secret, rest string) string {
		return `{"auth":{"identity":{"methods":["application_credential"],"application_credential":{"secret":"` +
			secret +
			`",` + rest
	}
	for name, test := range map[string]struct {
		body   string
		status int
	}{
		"the password opens":        {good, 201},
		"ids instead of names open": {`{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"5f1d8e2c9b0a4d7e8c6b3a2f1e0d9c8b","password":"right"}}},"scope":{"project":{"id":"0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f"}}}}`, 201},
		"another password does not": {passwordLogin("cloud-controller-manager", "Default", "wrong",
			"openshift"), 401},
		"an empty password does not": {passwordLogin("cloud-controller-manager", "Default", "",
			"openshift"), 401},
		"another user does not": {passwordLogin("admin", "Default", "right", "openshift"), 401},
		"a user of another domain does not": {passwordLogin("cloud-controller-manager", "other", "right",
			"openshift"), 401},
		"another project does not": {passwordLogin("cloud-controller-manager", "Default", "right",
			"admin"), 401},
		"a login without a scope does not": {`{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"5f1d8e2c9b0a4d7e8c6b3a2f1e0d9c8b","password":"right"}}}}}`, 401},
		"an unknown method does not":       {strings.Replace(good, `["password"]`, `["totp"]`, 1), 401},
		"an application credential opens": {credential(applicationCredentialSecret,
			`"id":"7d4c1f6b2a9e4e0d8b5a3c2f1d0e9f8a"}}}}`), 201},
		"its name and user open": {credential(applicationCredentialSecret,
			`"name":"openshift","user":{"id":"5f1d8e2c9b0a4d7e8c6b3a2f1e0d9c8b"}}}}}`), 201},
		"its name alone does not": {credential(applicationCredentialSecret,
			`"name":"openshift"}}}}`), 401},
		"a wrong secret of one does not": {credential("wrong",
			`"id":"7d4c1f6b2a9e4e0d8b5a3c2f1d0e9f8a"}}}}`), 401},
		"an application credential has its scope": {credential(applicationCredentialSecret,
			`"id":"7d4c1f6b2a9e4e0d8b5a3c2f1d0e9f8a"}},"scope":{"project":{"id":"x"}}}}`), 401},
		"a body that is not JSON is a bad request":   {"auth: {}", 400},
		"a body without auth is a bad request":       {"{}", 400},
		"a body of a wrong shape is a bad request":   {`{"auth":{"identity":{"methods":"password"}}}`, 400},
		"a body that does not end is a bad request":  {good[:len(good)-1], 400},
		"a body of more than 1 MiB is a bad request": {`{"x":"` + strings.Repeat("x", 1<<20), 400},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			status, header, body := c.do("POST", "/identity/v3/auth/tokens", "", test.body)
			require.Equal(t, test.status, status)
			if status != http.StatusCreated {
				require.Empty(t, header.Get("X-Subject-Token"))
				require.Contains(t, body, "error")
				return
			}
			token := header.Get("X-Subject-Token")
			status, _, _ = c.do("GET", "/compute/v2.1/servers/detail", token, "")
			require.Equal(t, http.StatusOK, status)
		})
	}
}

func TestARejectedLoginLooksLikeKeystones(t *testing.T) {
	c := startDefault(t)
	status, header, body := c.do("POST", "/identity/v3/auth/tokens", "", passwordLogin("x", "x", "x", "x"))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, fmt.Sprintf("Keystone uri=%q", c.URL()+"/identity"), header.Get("WWW-Authenticate"))
	require.Equal(t, map[string]any{"error": map[string]any{
		"code": 401.0, "title": "Unauthorized", "message": "The request you have made requires authentication.",
	}}, body)
}

// catalog returns the URLs of the catalog of a new login, by the service's type.
func (c cloud) catalog() map[string][]string {
	c.t.Helper()
	status, _, body := c.do("POST", "/identity/v3/auth/tokens", "",
		passwordLogin("cloud-controller-manager", "Default", c.password, "openshift"))
	require.Equal(c.t, http.StatusCreated, status)
	urls := map[string][]string{}
	for _, service := range items(c.t, body, "token", "catalog") {
		kind := text(c.t, service, "type")
		for _, endpoint := range items(c.t, service, "endpoints") {
			urls[kind] = append(urls[kind],
				text(c.t, endpoint, "interface")+" "+text(c.t, endpoint, "region")+" "+text(c.t, endpoint, "url"))
		}
	}
	return urls
}

func TestTheCatalogueNamesEveryServiceInEveryInterface(t *testing.T) {
	c := startDefault(t)
	want := map[string][]string{}
	for kind, path := range map[string]string{
		"identity": "/identity", "compute": "/compute/v2.1", "network": "/networking",
		"load-balancer": "/load-balancer",
	} {
		for _, face := range []string{"public", "internal", "admin"} {
			want[kind] = append(want[kind], face+" RegionOne "+c.URL()+path)
		}
	}
	require.Equal(t, want, c.catalog())
}

func TestTheCatalogueOmitsAWithdrawnService(t *testing.T) {
	c := startDefault(t)
	c.Withdraw(LoadBalancerService, true)
	require.NotContains(t, c.catalog(), "load-balancer")
	require.Contains(t, c.catalog(), "network")
	c.Withdraw(LoadBalancerService, false)
	require.Contains(t, c.catalog(), "load-balancer")
}

func TestVersionRootsNeedNoToken(t *testing.T) {
	c := startDefault(t)
	version := func(path, id, status string) map[string]any {
		return map[string]any{
			"id": id, "status": status, "updated": "2023-09-05T00:00:00Z",
			"links": []any{map[string]any{"rel": "self", "href": c.URL() + path}},
		}
	}
	v3 := map[string]any{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links": []any{map[string]any{"rel": "self", "href": c.URL() + "/identity/v3/"}},
	}
	for path, test := range map[string]struct {
		status int
		body   map[string]any
	}{
		"/identity/":    {300, map[string]any{"versions": map[string]any{"values": []any{v3}}}},
		"/identity/v3":  {200, map[string]any{"version": v3}},
		"/identity/v3/": {200, map[string]any{"version": v3}},
		"/networking/":  {200, map[string]any{"versions": []any{version("/networking/v2.0", "v2.0", "CURRENT")}}},
		"/load-balancer/": {200, map[string]any{"versions": []any{
			version("/load-balancer/v2.0", "v2.0", "SUPPORTED"), version("/load-balancer/v2.0", "v2.27", "CURRENT"),
		}}},
	} {
		t.Run(path, func(t *testing.T) {
			c := c.in(t)
			status, _, body := c.do("GET", path, "", "")
			require.Equal(t, test.status, status)
			require.Equal(t, test.body, body)
		})
	}
}

func TestServicesRejectRequestsWithoutAValidToken(t *testing.T) {
	c := startDefault(t)
	for _, path := range []string{
		"/compute/v2.1/servers/detail", "/compute/v2.1/servers/x", "/compute/v2.1/flavors/x",
		"/networking/v2.0/extensions", "/networking/v2.0/ports", "/networking/v2.0/networks",
		"/networking/v2.0/networks/x",
		"/networking/v2.0/subnets", "/networking/v2.0/subnets/x", "/networking/v2.0/security-groups",
		"/networking/v2.0/floatingips", "/load-balancer/v2.0/lbaas/loadbalancers",
	} {
		for name, token := range map[string]string{"no token": "", "an unknown token": "0123456789abcdef0123456789abcdef"} {
			t.Run(path+" with "+name, func(t *testing.T) {
				c := c.in(t)
				status, header, _ := c.do("GET", path, token, "")
				require.Equal(t, http.StatusUnauthorized, status)
				require.Equal(t, fmt.Sprintf("Keystone uri=%q", c.URL()+"/identity"), header.Get("WWW-Authenticate"))
			})
		}
	}
}

func TestAnExpiredTokenIsRejected(t *testing.T) {
	c := startDefault(t)
	token := c.login()
	c.mutex.Lock()
	info := c.tokens[token]
	info.expires = info.expires.Add(-tokenLifetime)
	c.tokens[token] = info
	c.mutex.Unlock()
	status, _, _ := c.do("GET", "/networking/v2.0/ports", token, "")
	require.Equal(t, http.StatusUnauthorized, status)
}

func TestAChangedPasswordRevokesTheOldOneAndItsTokens(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Options{Listen: "127.0.0.1:0", Dir: dir})
	require.NoError(t, c.SetPassword("first"))
	old := c.login()
	_, header, _ := c.do("POST", "/identity/v3/auth/tokens", "",
		`{"auth":{"identity":{"methods":["application_credential"],"application_credential":{"id":"`+applicationCredentialID+
			`","secret":"`+applicationCredentialSecret+`"}}}}`)
	credential := header.Get("X-Subject-Token")

	require.NoError(t, c.SetPassword(`se"cond: #`))

	status, _, _ := c.do("GET", "/networking/v2.0/ports", old, "")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _, _ = c.do("GET", "/networking/v2.0/ports", credential, "")
	require.Equal(t, http.StatusOK, status)
	status, _, _ = c.do("POST", "/identity/v3/auth/tokens", "",
		passwordLogin("cloud-controller-manager", "Default", "first", "openshift"))
	require.Equal(t, http.StatusUnauthorized, status)
	status, _, _ = c.do("GET", "/networking/v2.0/ports", c.login(), "")
	require.Equal(t, http.StatusOK, status)

	want := `clouds:
  openstack:
    auth:
      auth_url: ` + c.AuthURL() + `
      username: cloud-controller-manager
      password: "se\"cond: #"
      project_name: openshift
      user_domain_name: Default
      project_domain_name: Default
    region_name: RegionOne
    identity_api_version: 3
`
	require.Equal(t, want, string(c.CloudsYAML()))
	path := filepath.Join(dir, "clouds.yaml")
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(written))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

func TestApplicationCredentialCloudsYAML(t *testing.T) {
	c := startDefault(t)
	require.Equal(t, `clouds:
  openstack:
    auth_type: v3applicationcredential
    auth:
      auth_url: `+c.AuthURL()+`
      application_credential_id: 7d4c1f6b2a9e4e0d8b5a3c2f1d0e9f8a
      application_credential_secret: application-credential-of-the-stand-in
    region_name: RegionOne
    identity_api_version: 3
`, string(c.ApplicationCredentialCloudsYAML()))
}

func TestServers(t *testing.T) {
	c := startDefault(t)
	c.SetServers([]Instance{
		{Name: "master-0", Addresses: []string{"10.200.0.10", "fd00::10"}, FloatingAddresses: []string{"203.0.113.10"}},
		{Name: "master-1", ID: "11111111-2222-3333-4444-555555555555", Flavor: "c1.small", Zone: "az-2",
			Status: "SHUTOFF"},
		{Name: "master-10"},
	})
	token := c.login()
	names := func(query string) []string {
		t.Helper()
		status, _, body := c.do("GET", "/compute/v2.1/servers/detail"+query, token, "")
		require.Equal(t, http.StatusOK, status)
		found := []string{}
		for _, server := range items(t, body, "servers") {
			found = append(found, text(t, server, "name"))
		}
		return found
	}
	require.Equal(t, []string{"master-0", "master-1", "master-10"}, names(""))
	require.Equal(t, []string{"master-1"}, names("?name=%5Emaster-1%24"))
	require.Equal(t, []string{"master-1", "master-10"}, names("?name=master-1"))
	require.Equal(t, []string{}, names("?name=worker"))
	status, _, body := c.do("GET", "/compute/v2.1/servers/detail?name=(", token, "")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "badRequest")

	require.Equal(t, "039d00b1-7e10-807f-9211-1429fc7d82e2", InstanceID("master-0"))
	status, _, body = c.do("GET", "/compute/v2.1/servers/"+InstanceID("master-0"), token, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ACTIVE", text(t, body, "server", "status"))
	require.Equal(t, "nova", text(t, body, "server", "OS-EXT-AZ:availability_zone"))
	require.Equal(t, []any{
		map[string]any{"addr": "10.200.0.10", "version": 4.0, "OS-EXT-IPS:type": "fixed"},
		map[string]any{"addr": "fd00::10", "version": 6.0, "OS-EXT-IPS:type": "fixed"},
		map[string]any{"addr": "203.0.113.10", "version": 4.0, "OS-EXT-IPS:type": "floating"},
	}, items(t, body, "server", "addresses", "openshift"))

	status, _, body = c.do("GET", "/compute/v2.1/servers/11111111-2222-3333-4444-555555555555", token, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "SHUTOFF", text(t, body, "server", "status"))
	require.Equal(t, "az-2", text(t, body, "server", "OS-EXT-AZ:availability_zone"))
	status, _, body = c.do("GET", "/compute/v2.1/flavors/"+text(t, body, "server", "flavor", "id"), token, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "c1.small", text(t, body, "flavor", "name"))
}

func TestWhatIsNotThere(t *testing.T) {
	c := startDefault(t)
	token := c.login()
	for path, want := range map[string]map[string]any{
		"/compute/v2.1/servers/x": {"itemNotFound": map[string]any{"code": 404.0,
			"message": "Instance x could not be found."}},
		"/compute/v2.1/flavors/x": {"itemNotFound": map[string]any{"code": 404.0,
			"message": "Flavor x could not be found."}},
		"/networking/v2.0/networks/x": {"NeutronError": map[string]any{"type": "NetworkNotFound",
			"message": "Network x could not be found.", "detail": ""}},
		"/networking/v2.0/subnets/x": {"NeutronError": map[string]any{"type": "SubnetNotFound",
			"message": "Subnet x could not be found.", "detail": ""}},
	} {
		t.Run(path, func(t *testing.T) {
			c := c.in(t)
			status, _, body := c.do("GET", path, token, "")
			require.Equal(t, http.StatusNotFound, status)
			require.Equal(t, want, body)
		})
	}
	for _, path := range []string{"/compute/v2.1/os-keypairs", "/volume/v3"} {
		status, _, _ := c.do("GET", path, token, "")
		require.Equal(t, http.StatusNotImplemented, status)
	}
	require.Equal(t, 2, c.Requests()[standin.Unserved])
}

func TestPorts(t *testing.T) {
	c := startDefault(t)
	c.SetServers([]Instance{{Name: "a", Addresses: []string{"10.200.0.10", "10.200.0.11"}},
		{Name: "b", Addresses: []string{"10.200.0.12"}}})
	token := c.login()
	ips := func(query string) []string {
		t.Helper()
		status, _, body := c.do("GET", "/networking/v2.0/ports"+query, token, "")
		require.Equal(t, http.StatusOK, status)
		found := []string{}
		for _, port := range items(t, body, "ports") {
			require.Equal(t, "ACTIVE", text(t, port, "status"))
			for _, ip := range items(t, port, "fixed_ips") {
				found = append(found, text(t, ip, "ip_address"))
			}
		}
		return found
	}
	require.Equal(t, []string{"10.200.0.10", "10.200.0.11", "10.200.0.12"}, ips(""))
	require.Equal(t, []string{"10.200.0.10", "10.200.0.11"}, ips("?device_id="+InstanceID("a")))
	require.Equal(t, []string{}, ips("?device_id=x"))
}

func TestConstantLists(t *testing.T) {
	c := startDefault(t)
	token := c.login()
	for path, test := range map[string]struct {
		key   string
		count int
	}{
		"/networking/v2.0/extensions":             {"extensions", 2},
		"/networking/v2.0/networks":               {"networks", 2},
		"/networking/v2.0/subnets":                {"subnets", 1},
		"/networking/v2.0/security-groups":        {"security_groups", 0},
		"/networking/v2.0/floatingips":            {"floatingips", 0},
		"/load-balancer/v2.0/lbaas/loadbalancers": {"loadbalancers", 0},
	} {
		t.Run(path, func(t *testing.T) {
			c := c.in(t)
			status, _, body := c.do("GET", path, token, "")
			require.Equal(t, http.StatusOK, status)
			require.Len(t, body[test.key], test.count)
			require.NotNil(t, body[test.key])
		})
	}
	status, _, body := c.do("GET", "/networking/v2.0/networks/"+networkID, token, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "openshift", text(t, body, "network", "name"))
}

func TestSetServersKeepsNothingOfTheCallers(t *testing.T) {
	c := startDefault(t)
	ips := []string{"10.200.0.10"}
	c.SetServers([]Instance{{Name: "a", Addresses: ips}})
	ips[0] = "changed"
	require.Equal(t, []Instance{{
		Name: "a", ID: InstanceID("a"), Addresses: []string{"10.200.0.10"}, Flavor: "m1.large", Zone: "nova",
		Status: "ACTIVE",
	}}, c.servers(func(Instance) bool { return true }))
	c.SetServers(nil)
	require.Empty(t, c.servers(func(Instance) bool { return true }))
}

func TestFailuresAndCounts(t *testing.T) {
	c := startDefault(t)
	token := c.login()
	get := func(path string) int {
		t.Helper()
		status, _, _ := c.do("GET", path, token, "")
		return status
	}
	require.NoError(t, c.Fail(ComputeServers, 503))
	require.Equal(t, 503, get("/compute/v2.1/servers/detail"))
	require.Equal(t, 200, get("/networking/v2.0/ports"))
	require.NoError(t, c.Fail(AllEndpoints, 500))
	require.Equal(t, 503, get("/compute/v2.1/servers/detail"))
	require.Equal(t, 500, get("/networking/v2.0/ports"))
	require.Equal(t, 500, get("/identity/v3"))
	require.NoError(t, c.Fail(AllEndpoints, 0))
	require.NoError(t, c.Fail(ComputeServers, 0))
	require.Equal(t, 200, get("/compute/v2.1/servers/detail"))
	require.EqualError(t, c.Fail("GET /compute", 500), `openstack stand-in: no endpoint "GET /compute"`)
	require.Equal(t, map[string]int{IdentityTokens: 1, ComputeServers: 3, NetworkPorts: 2, IdentityV3: 1}, c.Requests())
}

func TestTheRequestLogNamesEachRequest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	c := start(t, Options{Listen: "127.0.0.1:0", Dir: dir})
	c.login()
	c.do("GET", "/compute/v2.1/servers/x?y=z", "", "")
	require.NoError(t, c.Close())
	data, err := os.ReadFile(filepath.Join(dir, "requests.log"))
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.Join(strings.Fields(line)[2:], " "))
	}
	require.Equal(t, []string{
		IdentityTokens + " /identity/v3/auth/tokens 201 password-1",
		ComputeServer + " /compute/v2.1/servers/x?y=z 401 -",
	}, lines)
	require.False(t, bytes.Contains(data, []byte(c.password)))
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	require.NoError(t, err)
	require.Equal(t, c.CABundle(), ca)
}

func TestTheCloudMayHaveAName(t *testing.T) {
	c := start(t, Options{Listen: "127.0.0.1:0", Host: "openstack.example.com"})
	require.Equal(t, "https://openstack.example.com:"+c.Port()+"/identity/v3", c.AuthURL())
	require.Equal(t, map[string]string{"openstack.example.com": "127.0.0.1"}, c.Hosts())
	c.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(c.Host(), c.Port()))
	}
	status, _, _ := c.do(http.MethodGet, "/identity/v3", "", "")
	require.Equal(t, http.StatusOK, status)
}

func TestAClientWithoutTheCAIsNotServed(t *testing.T) {
	c := startDefault(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.AuthURL(), http.NoBody)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(request) //nolint:bodyclose // there is no response
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

func TestStartRejectsAnAddressThatNoClientReaches(t *testing.T) {
	_, err := Start(t.Context(), Options{Listen: "0.0.0.0:0"})
	require.EqualError(t, err, `openstack stand-in: listen address "0.0.0.0:0": must be an IP that clients can reach`)
}

func TestTheRecordTellsAPasswordFromTheOneBefore(t *testing.T) {
	c := startDefault(t)
	former := c.CloudsYAML()
	c.login()
	require.Equal(t, "password-1", c.Credential())
	require.NoError(t, c.Rotate())
	require.Equal(t, "password-2", c.Credential())
	require.NotEqual(t, former, c.Credentials()["clouds.yaml"])
	c.login()
	c.do("GET", "/compute/v2.1/servers/detail", "unknown", "")
	var made []string
	for _, call := range c.Calls() {
		made = append(made, fmt.Sprint(call.Credential, " ", call.Status))
	}
	require.Equal(t, []string{"password-1 201", "password-2 201", " 401"}, made)
}

func TestASecondServerMayHaveTheName(t *testing.T) {
	c := startDefault(t)
	c.SetServers([]Instance{{Name: "a"}, {Name: "b"}})
	servers := func() string {
		var all []string
		for _, instance := range c.servers(func(Instance) bool { return true }) {
			all = append(all, instance.Name)
		}
		return strings.Join(all, ", ")
	}
	require.NoError(t, c.Duplicate("a", true))
	require.Equal(t, "a, b, a", servers())
	require.NoError(t, c.Duplicate("a", false))
	require.Equal(t, "a, b", servers())
	require.EqualError(t, c.Duplicate("c", true), `openstack stand-in: no server "c"`)
}

func TestAStoppedServerIsShutOff(t *testing.T) {
	c := startDefault(t)
	c.SetServers([]Instance{{Name: "a"}, {Name: "b"}})
	status := func() string {
		var all []string
		for _, instance := range c.servers(func(Instance) bool { return true }) {
			all = append(all, instance.Name+" "+instance.Status)
		}
		return strings.Join(all, ", ")
	}
	require.NoError(t, c.StopInstance("a"))
	require.Equal(t, "a SHUTOFF, b ACTIVE", status())
	c.SetServers([]Instance{{Name: "a"}})
	require.Equal(t, "a SHUTOFF", status())
	require.NoError(t, c.StartInstance("a"))
	require.Equal(t, "a ACTIVE", status())
	require.EqualError(t, c.StopInstance("c"), `openstack stand-in: no server "c"`)
}
