package aws

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	standin "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
)

// EC2 describes a terminated instance for about an hour. The provider deletes its Node, and yet answers the operator's
// question about it: k8s.io/cloud-provider removes the taint once InstanceMetadata returns no error.
func TestTheProviderInitializesATerminatedInstance(t *testing.T) {
	cloud, err := standin.Start(t.Context(), standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cloud.Close()) })
	require.NoError(t, cloud.SetInstances([]standin.Instance{{Name: "master-0", Addresses: []string{"10.200.0.10"}}}))
	instances := startInstances(t, cloud, "/tokens")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "master-0"}}
	node.Spec.ProviderID = cloud.ProviderID("master-0")

	require.NoError(t, cloud.SetInstances(nil))
	exists, err := instances.InstanceExists(t.Context(), node)
	require.NoError(t, err)
	require.False(t, exists, "the CCM wants to delete the Node")
	metadata, err := instances.InstanceMetadata(t.Context(), node)
	require.NoError(t, err, "the CCM removes the taint of the question")
	require.Equal(t, node.Spec.ProviderID, metadata.ProviderID)
	require.Empty(t, metadata.NodeAddresses)
}
