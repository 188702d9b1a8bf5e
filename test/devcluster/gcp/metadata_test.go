package gcp

import (
	"net"
	"net/http"
	"testing"

	"cloud.google.com/go/compute/metadata"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

func TestTheMetadataServerKnowsInstancesByTheirAddresses(t *testing.T) {
	c := start(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.ServeMetadata(t.Context(), listener)
	t.Setenv("GCE_METADATA_HOST", listener.Addr().String())
	client := metadata.NewClient(&http.Client{})
	for entry, want := range map[string]string{
		"project/project-id":                    "dev-project",
		"instance/zone":                         "projects/100000000000/zones/europe-west3-a",
		"instance/hostname":                     "master-0.europe-west3-a.c.dev-project.internal",
		"instance/network-interfaces/0/network": "projects/100000000000/networks/dev-x7k2p-network",
	} {
		found, err := client.GetWithContext(t.Context(), entry)
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	const account = "instance/service-accounts/default/token"
	_, err = client.GetWithContext(t.Context(), account)
	require.Equal(t, metadata.NotDefinedError(account), err)
	require.Equal(t, 1, c.Requests()[standin.Unserved])

	get := func() (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+listener.Addr().String()+metadataRoot+"instance/zone", http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode, response.Header.Get(flavorHeader)
	}
	status, header := get()
	require.Equal(t, http.StatusForbidden, status, "the header is missing")
	require.Equal(t, flavor, header)
	require.NoError(t, c.SetInstances(nil))
	_, err = client.GetWithContext(t.Context(), "instance/zone")
	require.Equal(t, metadata.NotDefinedError("instance/zone"), err)
}
