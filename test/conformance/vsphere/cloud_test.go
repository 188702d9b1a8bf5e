package vsphere

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	_ "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	vspherecloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/vsphere"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

// clientBuilder gives the provider a client of a cluster with the nodes.
type clientBuilder struct{ client kubernetes.Interface }

func (b clientBuilder) Config(string) (*rest.Config, error)         { return &rest.Config{}, nil }
func (b clientBuilder) ConfigOrDie(string) *rest.Config             { return &rest.Config{} }
func (b clientBuilder) Client(string) (kubernetes.Interface, error) { return b.client, nil }
func (b clientBuilder) ClientOrDie(string) kubernetes.Interface     { return b.client }

// startProvider starts the provider with the rewritten installation of a stand-in for its cloud.
func startProvider(t *testing.T, cloud *standin.Server, nodes ...*corev1.Node) cloudprovider.InstancesV2 {
	t.Helper()
	dir := t.TempDir()
	installed := cloud.Installation()
	src := clouds.Source{
		Config: []byte(installed.CloudConfig["config"]), Credentials: installed.Credentials,
		Paths: clouds.Paths{Credentials: dir},
	}
	src.Cluster.Spec, src.Cluster.Status = installed.Spec, installed.Status
	result := vspherecloud.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	for name, content := range result.Credentials {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	ca := filepath.Join(t.TempDir(), "ca-bundle.crt")
	require.NoError(t, os.WriteFile(ca, cloud.CABundle(), 0o600))
	// The trust store is read once in a process, so a test cannot do this a second time.
	t.Setenv("SSL_CERT_FILE", ca)
	provider, err := cloudprovider.GetCloudProvider("vsphere", bytes.NewReader(result.Config))
	require.NoError(t, err)
	client := fake.NewClientset()
	for _, node := range nodes {
		_, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	provider.Initialize(clientBuilder{client}, t.Context().Done())
	instances, supported := provider.InstancesV2()
	require.True(t, supported)
	return instances
}

func TestTheProviderFindsTheVirtualMachinesOfTheStandIn(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	require.NoError(t, cloud.SetInstances([]standin.Instance{
		{Name: "master-0", Addresses: []string{"127.0.0.9"}}, {Name: "master-1", Addresses: []string{"10.200.0.11"}},
	}))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-1"}}
	node.Status.NodeInfo.SystemUUID = cloud.SystemUUID("master-1")
	instances := startProvider(t, cloud, node)

	metadata, err := instances.InstanceMetadata(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, &cloudprovider.InstanceMetadata{
		ProviderID: cloud.ProviderID("master-1"), InstanceType: standin.InstanceType, Zone: "zone-b",
		Region: "region-a",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "master-1"},
			{Type: corev1.NodeInternalIP, Address: "10.200.0.11"},
			{Type: corev1.NodeExternalIP, Address: "10.200.0.11"},
		},
	}, metadata)

	node.Spec.ProviderID = metadata.ProviderID
	requireState := func(exists, shutdown bool) {
		t.Helper()
		is, err := instances.InstanceExists(t.Context(), node)
		require.NoError(t, err)
		require.Equal(t, exists, is)
		if exists {
			is, err = instances.InstanceShutdown(t.Context(), node)
			require.NoError(t, err)
			require.Equal(t, shutdown, is)
		}
	}
	requireState(true, false)
	require.NoError(t, cloud.StopInstance("master-1"))
	requireState(true, true)
	require.NoError(t, cloud.StartInstance("master-1"))
	requireState(true, false)
	require.NoError(t, cloud.SetInstances(nil))
	requireState(false, false)
	used := map[string]int{}
	for _, call := range cloud.Calls() {
		used[call.Credential]++
	}
	require.NotContains(t, used, "unknown")
	require.Greater(t, used[cloud.Credential()], 10)
	require.NoError(t, cloud.Rotate())
	_, err = instances.InstanceExists(t.Context(), node)
	require.ErrorContains(t, err, "Cannot complete login due to an incorrect user name or password.")
}
