package aws

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	awscloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
)

// rewrite returns our rewriting of what the installer writes for the stand-in. The tokens are in a directory.
func rewrite(t *testing.T, cloud *standin.Server, tokens string, gates ...string) clouds.Result {
	t.Helper()
	installed := cloud.Installation()
	src := clouds.Source{
		Config: []byte(installed.CloudConfig["config"]), Credentials: installed.Credentials,
		Paths: clouds.Paths{Credentials: "/credentials", Tokens: tokens},
	}
	src.Cluster.Spec, src.Cluster.Status, src.Cluster.FeatureGates = installed.Spec, installed.Status, gates
	result := awscloud.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	return result
}

// startProvider starts the real provider with its files, as the static pod does.
func startProvider(t *testing.T, cloud *standin.Server, result clouds.Result) cloudprovider.Interface {
	t.Helper()
	// The static pod has SSL_CERT_FILE, which this process has read already.
	for variable, content := range map[string][]byte{
		"AWS_SHARED_CREDENTIALS_FILE": result.Credentials["credentials"], "AWS_CA_BUNDLE": cloud.CABundle(),
	} {
		path := filepath.Join(t.TempDir(), variable)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		t.Setenv(variable, path)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	provider, err := cloudprovider.GetCloudProvider("aws", bytes.NewReader(result.Config))
	require.NoError(t, err)
	return provider
}

// startInstances starts the real provider and returns its instances.
func startInstances(t *testing.T, cloud *standin.Server, tokens string) cloudprovider.InstancesV2 {
	t.Helper()
	instances, has := startProvider(t, cloud, rewrite(t, cloud, tokens)).InstancesV2()
	require.True(t, has)
	return instances
}

func TestTheProviderFindsTheInstancesOfTheStandIn(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	machine := standin.Instance{Name: "master-0", Addresses: []string{"10.200.0.10"}}
	require.NoError(t, cloud.SetInstances([]standin.Instance{machine, {Name: "master-1"}}))
	instances := startInstances(t, cloud, "/tokens")

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}}
	metadata, err := instances.InstanceMetadata(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, &cloudprovider.InstanceMetadata{
		ProviderID: cloud.ProviderID("master-0"), InstanceType: "m6i.xlarge", Zone: "eu-central-1a",
		Region: "eu-central-1", AdditionalLabels: map[string]string{"topology.k8s.aws/zone-id": "euc1-az1"},
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "10.200.0.10"},
			{Type: corev1.NodeInternalDNS, Address: "master-0"},
			{Type: corev1.NodeHostName, Address: "master-0"},
		},
	}, metadata)

	node.Spec.ProviderID = metadata.ProviderID
	requireState := func(exists, shutdown bool) {
		t.Helper()
		for _, state := range []struct {
			get  func(context.Context, *corev1.Node) (bool, error)
			want bool
		}{{instances.InstanceExists, exists}, {instances.InstanceShutdown, shutdown}} {
			is, err := state.get(t.Context(), node)
			require.NoError(t, err)
			require.Equal(t, state.want, is)
		}
	}
	requireState(true, false)
	require.NoError(t, cloud.StopInstance("master-0"))
	requireState(true, true)
	require.NoError(t, cloud.SetInstances(nil))
	requireState(false, false)
	require.Zero(t, cloud.Requests()[devcluster.Unserved])
	for _, call := range cloud.Calls() {
		require.Equal(t, cloud.Credential(), call.Credential)
	}
	require.NoError(t, cloud.Rotate())
	_, err = instances.InstanceExists(t.Context(), node)
	require.ErrorContains(t, err, "AuthFailure")
}
