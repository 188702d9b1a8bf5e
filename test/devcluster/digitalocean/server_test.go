package digitalocean_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standintest"
)

// cloud is a running stand-in with DigitalOcean's own client.
type cloud struct {
	*digitalocean.Server
	api *godo.Client
}

// start starts a stand-in with two droplets, and a client with its current token.
func start(t *testing.T) cloud {
	t.Helper()
	s, err := digitalocean.Start(t.Context(), digitalocean.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetInstances([]digitalocean.Instance{
		{Name: "a", Addresses: []string{"10.0.0.1"}}, {Name: "b", Addresses: []string{"10.0.0.2"}},
	}))
	return cloud{Server: s, api: newClient(t, s)}
}

// newClient returns a client of the fixed endpoint, with the token of the Secret. It trusts the stand-in's CA.
func newClient(t *testing.T, s *digitalocean.Server) *godo.Client {
	t.Helper()
	token := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: string(s.Credentials()["access-token"])})
	return godo.NewClient(&http.Client{Transport: &oauth2.Transport{
		Base: standintest.NewClient(t, s).Transport, Source: token,
	}})
}

// requireFailure requires that the API rejected a request.
func requireFailure(t *testing.T, status int, message string, err error) {
	t.Helper()
	var failed *godo.ErrorResponse
	require.ErrorAs(t, err, &failed)
	require.Equal(t, status, failed.Response.StatusCode)
	require.Equal(t, message, failed.Message)
}

const notFound = "The resource you were accessing could not be found."

func TestADropletIsFoundByItsNameAndByItsIdentity(t *testing.T) {
	c := start(t)
	found, _, err := c.api.Droplets.ListByName(t.Context(), "B", nil)
	require.NoError(t, err)
	require.Len(t, found, 1)
	droplet, _, err := c.api.Droplets.Get(t.Context(), found[0].ID)
	require.NoError(t, err)
	require.Equal(t, found[0], *droplet)

	require.Equal(t, "digitalocean://"+strings.TrimPrefix(droplet.URN(), "do:droplet:"), c.ProviderID("b"))
	require.Equal(t, []string{"b", "active", c.Region()}, []string{droplet.Name, droplet.Status, droplet.Region.Slug})
	require.NotEmpty(t, droplet.SizeSlug)
	private, err := droplet.PrivateIPv4()
	require.NoError(t, err)
	public, err := droplet.PublicIPv4()
	require.NoError(t, err)
	require.Equal(t, []string{"10.0.0.2", digitalocean.PublicAddress("b")}, []string{private, public})
	require.NotEqual(t, digitalocean.PublicAddress("a"), public)
}

func TestADropletStopsAndGoesAndCanBeDenied(t *testing.T) {
	c := start(t)
	all, _, err := c.api.Droplets.List(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NoError(t, c.StopInstance("a"))
	stopped, _, err := c.api.Droplets.Get(t.Context(), all[0].ID)
	require.NoError(t, err)
	require.Equal(t, "off", stopped.Status)
	require.NoError(t, c.StartInstance("a"))
	started, _, err := c.api.Droplets.Get(t.Context(), all[0].ID)
	require.NoError(t, err)
	require.Equal(t, all[0], *started)

	require.NoError(t, c.DenyInstances(true))
	_, _, err = c.api.Droplets.Get(t.Context(), all[0].ID)
	requireFailure(t, http.StatusNotFound, notFound, err)
	denied, _, err := c.api.Droplets.List(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, denied)
	require.NoError(t, c.DenyInstances(false))

	require.NoError(t, c.SetInstances([]digitalocean.Instance{{Name: "b", Addresses: []string{"10.0.0.2"}}}))
	_, _, err = c.api.Droplets.Get(t.Context(), all[0].ID)
	requireFailure(t, http.StatusNotFound, notFound, err)
	require.EqualError(t, c.StopInstance("a"), `digitalocean stand-in: no droplet "a"`)
}

func TestAListHasPages(t *testing.T) {
	c := start(t)
	var names []string
	options := &godo.ListOptions{PerPage: 1}
	for {
		droplets, response, err := c.api.Droplets.List(t.Context(), options)
		require.NoError(t, err)
		require.Equal(t, 2, response.Meta.Total)
		for _, droplet := range droplets {
			names = append(names, droplet.Name)
		}
		if response.Links.IsLastPage() {
			break
		}
		current, err := response.Links.CurrentPage()
		require.NoError(t, err)
		options.Page = current + 1
	}
	require.Equal(t, []string{"a", "b"}, names)
	require.Equal(t, map[string]int{digitalocean.ListDroplets: 2}, c.Requests())
	beyond, response, err := c.api.Droplets.List(t.Context(), &godo.ListOptions{Page: 9, PerPage: 1})
	require.NoError(t, err)
	require.Empty(t, beyond)
	require.True(t, response.Links.IsLastPage())
}

func TestTheRegionOfTheSecretExists(t *testing.T) {
	c := start(t)
	regions, _, err := c.api.Regions.List(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, regions, 2)
	require.Equal(t, c.Region(), regions[0].Slug)
	require.Equal(t, c.Region(), string(c.Credentials()["region"]))
	require.Empty(t, c.Zone("a"))
}

func TestARotatedTokenIsRejectedAndTheRecordHasIt(t *testing.T) {
	c := start(t)
	_, _, err := c.api.Droplets.List(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, c.Rotate())
	_, _, err = c.api.Droplets.List(t.Context(), nil)
	requireFailure(t, http.StatusUnauthorized, "Unable to authenticate you", err)
	_, _, err = newClient(t, c.Server).Droplets.List(t.Context(), nil)
	require.NoError(t, err)

	require.Equal(t, []string{
		"GET /v2/droplets token-1 200", "GET /v2/droplets token-1 401", "GET /v2/droplets token-2 200",
	}, standintest.Made(c.Calls()))
	require.True(t, bytes.HasPrefix(c.Credentials()["access-token"], []byte("dop_v1_correct-horse-")))
}

func TestARequestWithoutATokenIsRejected(t *testing.T) {
	c := start(t)
	request, err := c.api.NewRequest(t.Context(), http.MethodGet, "v2/droplets", nil)
	require.NoError(t, err)
	bare := c.api.HTTPClient.Transport.(*oauth2.Transport).Base
	response, err := (&http.Client{Transport: bare}).Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Empty(t, c.Calls()[0].Credential)
}

func TestAnOutageFailsEveryRequest(t *testing.T) {
	c := start(t)
	require.NoError(t, c.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	_, _, err := c.api.Droplets.List(t.Context(), nil)
	requireFailure(t, http.StatusServiceUnavailable, "Service Unavailable", err)
	_, _, err = c.api.Regions.List(t.Context(), nil)
	requireFailure(t, http.StatusServiceUnavailable, "Service Unavailable", err)
	require.NoError(t, c.Fail(standin.AllEndpoints, 0))
	_, _, err = c.api.Droplets.List(t.Context(), nil)
	require.NoError(t, err)
}

func TestWhatIsNotServedIsCounted(t *testing.T) {
	c := start(t)
	_, _, err := c.api.Account.Get(t.Context())
	requireFailure(t, http.StatusNotImplemented, "Not Implemented", err)
	require.Equal(t, map[string]int{standin.Unserved: 1}, c.Requests())
}

func TestAnInstallationIsExternalWithTheStandInsCA(t *testing.T) {
	c := start(t)
	installed := c.Installation()
	require.Equal(t, "DigitalOcean", installed.Spec.External.PlatformName)
	require.EqualValues(t, "External", installed.Status.External.CloudControllerManager.State)
	require.EqualValues(t, "DigitalOcean", installed.Custom.Platform)
	require.Equal(t, string(c.CABundle()), installed.TrustedCA)
	require.Nil(t, installed.CloudConfig)
	require.Equal(t, c.Credentials(), installed.Credentials)
}
