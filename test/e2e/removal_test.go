package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestRemoval removes the cloud-controller-manager from three nodes and installs it again.
func TestRemoval(t *testing.T) {
	s := startSuite(t, devcluster.Options{
		Name: "e2e-removal", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
		WithoutWatchList: true,
	}, monitor.Rollout("the first revision"))
	revision := s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)

	s.requireBlocked(t)
	s.monitor.Expect(monitor.NoneReady("it is removed"), monitor.NodeDeleted(ghost, "the test deletes it"))
	began := time.Now()
	require.NoError(t, s.kube.CoreV1().Nodes().Delete(t.Context(), ghost, metav1.DeleteOptions{}))
	s.await(t, "the end of the removal", briefly, s.removed)
	s.figure("the last node initialized to everything removed from %d nodes: %s", nodes, rounded(began))
	s.requireNothingLeft(t)
	s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)

	s.monitor.Expect(monitor.Unavailable("", "it is not yet back").Times(3), monitor.Rollout("it is back"),
		monitor.NewLeader("it is back"))
	began = time.Now()
	s.setManagement(t, operatorv1.Managed)
	s.awaitSettled(t, revision+1, rolloutLimit)
	s.figure("Managed to Available on %d nodes at one revision: %s", nodes, rounded(began))
	s.requireOneLeader(t)
	resource, err := s.resource(t.Context())
	require.NoError(t, err)
	for _, condition := range resource.Status.Conditions {
		require.NotContains(t, []string{"Removing", "RemovalDegraded"}, condition.Type)
	}
	s.requireRights(t, "openstack")
}

// ghost is a Node without a machine, so the cloud-controller-manager cannot initialize it.
const ghost = "ghost"

// requireBlocked requests the removal while a node is uninitialized, and requires that nothing is removed.
func (s *suite) requireBlocked(t *testing.T) {
	t.Helper()
	_, err := s.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: ghost, Labels: map[string]string{"node-role.kubernetes.io/worker": ""}},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	containers := s.operands.containers()
	s.setManagement(t, operatorv1.Removed)
	s.awaitCondition(t, "Removing", operatorv1.ConditionFalse, namedLimit, "node/"+ghost, "set spec.removalPolicy to Force")
	s.awaitCondition(t, "RemovalDegraded", operatorv1.ConditionTrue, namedLimit, "node/"+ghost)
	require.Equal(t, containers, s.operands.containers())
}

// setManagement sets spec.managementState. It confirms a removal, which then begins at once.
func (s *suite) setManagement(t *testing.T, state operatorv1.ManagementState) {
	t.Helper()
	client := s.dynamic.Resource(ccmv1.Resource)
	patched, err := client.Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"managementState": %q}}`, state), metav1.PatchOptions{})
	require.NoError(t, err)
	if state != operatorv1.Removed {
		return
	}
	_, err = client.Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType, fmt.Appendf(nil,
		`{"metadata": {"annotations": {"cloudcontrollermanager.operator.openshift.io/confirmed-removal": "%d"}}}`,
		patched.GetGeneration()), metav1.PatchOptions{})
	require.NoError(t, err)
}

// removed returns nil once everything is removed.
func (s *suite) removed(ctx context.Context) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	for _, condition := range resource.Status.Conditions {
		if condition.Type == "Removing" {
			return contains(fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message), "True Removed")
		}
	}
	return errors.New("there is no condition Removing")
}

// requireNothingLeft looks at the nodes and at the operand's namespace.
func (s *suite) requireNothingLeft(t *testing.T) {
	t.Helper()
	s.requireNoProcess(t)
	for _, n := range s.Nodes() {
		for _, pattern := range []string{"manifests/*", "manifests/.*", "static-pod-resources/*", "static-pod-resources/.*"} {
			found, err := filepath.Glob(filepath.Join(n.Root(), "etc/kubernetes", pattern))
			require.NoError(t, err)
			require.Empty(t, found, n.Name())
		}
	}
	core := s.kube.CoreV1()
	pods, err := core.Pods(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, pods.Items)
	configMaps, err := core.ConfigMaps(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, configMaps.Items, 1, "kube-root-ca.crt")
	secrets, err := core.Secrets(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, secrets.Items, 1, "the credentials")
	accounts, err := core.ServiceAccounts(targetNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, accounts.Items, 1, "default")
	lease, err := s.kube.CoordinationV1().Leases(targetNamespace).Get(t.Context(), operand, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
}
