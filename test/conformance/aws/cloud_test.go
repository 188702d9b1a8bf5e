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
	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
)

// startProvider starts the provider with the rewritten installation of a stand-in for its cloud.
func startProvider(t *testing.T, cloud *standin.Server) cloudprovider.InstancesV2 {
	t.Helper()
	dir := t.TempDir()
	installed := cloud.Installation()
	src := clouds.Source{
		Config: []byte(installed.CloudConfig["config"]), Credentials: installed.Credentials,
		Paths: clouds.Paths{Credentials: dir, Tokens: "/tokens"},
	}
	src.Cluster.Spec, src.Cluster.Status = installed.Spec, installed.Status
	result := awscloud.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	for name, content := range result.Credentials {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	ca := filepath.Join(dir, "ca-bundle.crt")
	require.NoError(t, os.WriteFile(ca, cloud.CABundle(), 0o600))
	// The static pod has SSL_CERT_FILE, which this process has read already.
	t.Setenv("AWS_CA_BUNDLE", ca)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	provider, err := cloudprovider.GetCloudProvider("aws", bytes.NewReader(result.Config))
	require.NoError(t, err)
	instances, supported := provider.InstancesV2()
	require.True(t, supported)
	return instances
}

func TestTheProviderFindsTheInstancesOfTheStandIn(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	machine := standin.Instance{Name: "master-0", Addresses: []string{"10.200.0.10"}}
	require.NoError(t, cloud.SetInstances([]standin.Instance{machine, {Name: "master-1"}}))
	instances := startProvider(t, cloud)

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
	require.Zero(t, cloud.Requests()[standin.Unserved])
	for _, call := range cloud.Calls() {
		require.Equal(t, cloud.Credential(), call.Credential)
	}
	require.NoError(t, cloud.Rotate())
	_, err = instances.InstanceExists(t.Context(), node)
	require.ErrorContains(t, err, "AuthFailure")
}
