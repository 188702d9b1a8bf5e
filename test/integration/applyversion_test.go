package integration_test

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// The installer controller applies the nodes that it was shown, with force. operatorclient.AtVersion adds their version,
// so that the target that node repair has set since is not lost.
func TestAnApplyToAFormerVersionIsAConflict(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	apply := func(manager, version string, node map[string]any) error {
		node["nodeName"] = "master-0"
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"nodeStatuses": []any{node}}}}
		object.SetGroupVersionKind(ccmv1.Kind)
		object.SetName(ccmv1.InstanceName)
		object.SetResourceVersion(version)
		_, err := c.dynamic.Resource(ccmv1.Resource).ApplyStatus(t.Context(), ccmv1.InstanceName, object,
			metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	}
	target := func(revision int64) map[string]any { return map[string]any{"targetRevision": revision} }
	current := func() (version string, target int32) {
		resource, err := c.resource(t.Context())
		require.NoError(t, err)
		require.Len(t, resource.Status.NodeStatuses, 1)
		return resource.ResourceVersion, resource.Status.NodeStatuses[0].TargetRevision
	}
	require.NoError(t, apply("node", "", map[string]any{}))

	shown, _ := current()
	require.NoError(t, apply("repair", "", target(7)))
	err := apply("installer", shown, target(0))
	require.True(t, apierrors.IsConflict(err), "%v", err)
	shown, got := current()
	require.EqualValues(t, 7, got, "the target of the repair")

	require.NoError(t, apply("installer", shown, target(0)))
	_, got = current()
	require.Zero(t, got)
}
