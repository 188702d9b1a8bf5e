package conformance

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-openstack/pkg/openstack"

	oscloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
)

// startProvider starts the real provider on our rewriting of what the installer writes for the stand-in.
func startProvider(t *testing.T, cloud *standin.Server, clouds []byte) (*openstack.OpenStack, error) {
	t.Helper()
	t.Setenv("OS_CLIENT_CONFIG_FILE", "") // set by ReadConfig; put back at the end
	dir := newFolder(t, string(clouds))
	src := dir.source(shapes["what the installer writes for a cloud with a private CA"].text, string(clouds), true)
	src.CABundle = cloud.CABundle()
	src.Paths.CABundle = string(dir) + "/ca-bundle.pem"
	require.NoError(t, os.WriteFile(src.Paths.CABundle, src.CABundle, 0o600))
	result := oscloud.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	config, err := openstack.ReadConfig(bytes.NewReader(result.Config))
	require.NoError(t, err)
	return openstack.NewOpenStack(config)
}

func startCloud(t *testing.T) *standin.Server {
	t.Helper()
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	return cloud
}

func TestTheProviderFindsTheServersOfTheStandIn(t *testing.T) {
	cloud := startCloud(t)
	cloud.SetServers([]standin.Instance{{
		Name: "master-0", ID: "11111111-2222-3333-4444-555555555555", Addresses: []string{"10.200.0.10", "fd00::10"},
		FloatingAddresses: []string{"203.0.113.10"}, Flavor: "c1.small", Zone: "az-2",
	}})
	for name, clouds := range map[string][]byte{
		"with a password":                   cloud.CloudsYAML(),
		"with an application credential":    cloud.ApplicationCredentialCloudsYAML(),
		"with the version left to be found": bytes.Replace(cloud.CloudsYAML(), []byte("/identity/v3"), []byte("/identity"), 1),
	} {
		t.Run(name, func(t *testing.T) {
			provider, err := startProvider(t, cloud, clouds)
			require.NoError(t, err)
			instances, ok := provider.InstancesV2()
			require.True(t, ok)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}}
			got, err := instances.InstanceMetadata(t.Context(), node)
			require.NoError(t, err)
			require.Equal(t, &cloudprovider.InstanceMetadata{
				ProviderID:   "openstack:///11111111-2222-3333-4444-555555555555",
				InstanceType: "c1.small",
				NodeAddresses: []corev1.NodeAddress{
					{Type: corev1.NodeInternalIP, Address: "10.200.0.10"},
					{Type: corev1.NodeInternalIP, Address: "fd00::10"},
					{Type: corev1.NodeExternalIP, Address: "203.0.113.10"},
				},
				Zone:   "az-2",
				Region: "RegionOne",
			}, got)
			_, ok = provider.LoadBalancer()
			require.True(t, ok)
		})
	}
	require.Zero(t, cloud.Requests()[devcluster.Unserved])
}

func TestTheProviderSeesWhatBecomesOfAServer(t *testing.T) {
	cloud := startCloud(t)
	provider, err := startProvider(t, cloud, cloud.CloudsYAML())
	require.NoError(t, err)
	instances, ok := provider.InstancesV2()
	require.True(t, ok)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "master-0"},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + standin.InstanceID("master-0")},
	}
	for _, step := range []struct {
		servers          []standin.Instance
		exists, shutdown bool
	}{
		{[]standin.Instance{{Name: "master-0"}}, true, false},
		{[]standin.Instance{{Name: "master-0", Status: "SHUTOFF"}}, true, true},
		{nil, false, false},
	} {
		cloud.SetServers(step.servers)
		exists, err := instances.InstanceExists(t.Context(), node)
		require.NoError(t, err)
		require.Equal(t, step.exists, exists)
		if exists {
			shutdown, err := instances.InstanceShutdown(t.Context(), node)
			require.NoError(t, err)
			require.Equal(t, step.shutdown, shutdown)
		}
	}
	_, err = instances.InstanceMetadata(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}})
	require.EqualError(t, err, "failed to find object")
}

func TestTheProviderIsKeptOutAfterARotation(t *testing.T) {
	cloud := startCloud(t)
	cloud.SetServers([]standin.Instance{{Name: "master-0"}})
	old := cloud.CloudsYAML()
	running, err := startProvider(t, cloud, old)
	require.NoError(t, err)
	instances, ok := running.InstancesV2()
	require.True(t, ok)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}}
	_, err = instances.InstanceMetadata(t.Context(), node)
	require.NoError(t, err)

	require.NoError(t, cloud.SetPassword("rotated"))

	_, err = instances.InstanceMetadata(t.Context(), node)
	require.ErrorContains(t, err, "Unable to re-authenticate")
	_, err = startProvider(t, cloud, old)
	require.ErrorContains(t, err, "but got 401 instead")
	_, err = startProvider(t, cloud, cloud.CloudsYAML())
	require.NoError(t, err)
}

// What no health check of the provider shows: it lives on, with a controller that never starts.
func TestTheProviderHasNoInstancesWhileDiscoveryFails(t *testing.T) {
	cloud := startCloud(t)
	provider, err := startProvider(t, cloud, cloud.CloudsYAML())
	require.NoError(t, err)
	require.NoError(t, cloud.Fail(standin.NetworkVersions, 503))
	_, ok := provider.InstancesV2()
	require.False(t, ok)
	require.NoError(t, cloud.Fail(standin.NetworkVersions, 0))
	_, ok = provider.InstancesV2()
	require.True(t, ok)
}
