package nodekeeper_test

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/nodekeeper"
)

const limit = 10 * time.Second

func uninitialized(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{
			Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
		}}},
	}
}

func TestANodeGetsItsRoleAtOnceAndItsNetworkOnceInitialized(t *testing.T) {
	client := fake.NewClientset(uninitialized("master-0"), uninitialized("stranger"))
	var calls atomic.Int32
	enable := func() error {
		if calls.Add(1) == 1 {
			return errors.New("disk full")
		}
		return nil
	}
	keeper := nodekeeper.Start(client, map[string]func() error{"master-0": enable}, io.Discard)
	t.Cleanup(keeper.Stop)
	nodes := client.CoreV1().Nodes()

	require.Eventually(t, func() bool { return keeper.Prepared() == 1 }, limit, 10*time.Millisecond)
	node, err := nodes.Get(t.Context(), "master-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"node-role.kubernetes.io/master": "",
		"node-role.kubernetes.io/control-plane": ""}, node.Labels)
	require.Equal(t, []corev1.Taint{
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/master", Effect: corev1.TaintEffectNoSchedule},
	}, node.Spec.Taints)
	require.Zero(t, calls.Load(), "the network came before the node was initialized")

	node.Spec.Taints = node.Spec.Taints[1:]
	_, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return calls.Load() == 2 }, limit, 10*time.Millisecond,
		"a failure is tried again")

	require.NoError(t, nodes.Delete(t.Context(), "master-0", metav1.DeleteOptions{}))
	_, err = nodes.Create(t.Context(), uninitialized("master-0"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		node, err := nodes.Get(t.Context(), "master-0", metav1.GetOptions{})
		return err == nil && len(node.Labels) == 2
	}, limit, 10*time.Millisecond, "a node that registers again gets its role again")
	require.Equal(t, int32(2), calls.Load())

	stranger, err := nodes.Get(t.Context(), "stranger", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, stranger.Labels)
}
