package nodeinitialization

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const sharedNotice = `node/a, node/b: they have the same providerID "openstack:///1"; ` +
	"find the machine with that ID, and drain and delete the Nodes whose kubelet does not run on it"

// withNodes puts Nodes behind the API server and into the watch.
func (c *cluster) withNodes(t *testing.T, nodes ...*corev1.Node) *fake.Clientset {
	t.Helper()
	kube := fake.NewClientset()
	c.controller.Nodes = kube.CoreV1().Nodes()
	var relevant []any
	for _, node := range nodes {
		require.NoError(t, kube.Tracker().Add(node))
		if c.controller.store.isRelevant(node) {
			relevant = append(relevant, stripped(node))
		}
	}
	require.NoError(t, c.controller.store.Replace(relevant, "1"))
	return kube
}

func TestTwoNodesOfOneMachineAreANotice(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	kube := c.withNodes(t, running("a", "openstack:///1"), running("b", "openstack:///1"), running("c", "openstack:///2"))
	require.NoError(t, c.controller.store.Update(running("c", "openstack:///2"))) // a heartbeat
	require.Empty(t, c.notice(t))
	c.pass(t, 29*time.Second)
	require.Empty(t, c.notice(t), "one of them may be about to go")
	require.Empty(t, kube.Actions())
	c.pass(t, time.Second)
	for range 3 {
		require.Equal(t, sharedNotice, c.notice(t))
	}
	require.Len(t, kube.Actions(), 2, "each is read once")

	require.NoError(t, c.controller.store.Update(running("b", "openstack:///1"))) // a heartbeat
	require.Equal(t, sharedNotice, c.notice(t))
	require.Len(t, kube.Actions(), 2)

	require.NoError(t, kube.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
	calls := 0
	c.controller.store.changed = func() { calls++ }
	require.NoError(t, c.controller.store.Delete(running("c", "openstack:///2")))
	require.Zero(t, calls, "it has no twin")
	require.NoError(t, c.controller.store.Delete(running("a", "openstack:///1")))
	require.Equal(t, 1, calls)
	require.Empty(t, c.notice(t))

	require.NoError(t, c.controller.store.Update(running("e", "openstack:///1")))
	require.NoError(t, kube.Tracker().Add(running("e", "openstack:///1")))
	c.pass(t, 30*time.Second)
	require.Contains(t, c.notice(t), "node/b, node/e: they have the same providerID", "b is still known")
}

// A template of kubelets with a fixed --provider-id gives it to all of them.
func TestManyTwinsCostFewRequests(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	var nodes []*corev1.Node
	for i := range 200 {
		nodes = append(nodes, running(fmt.Sprintf("worker-%03d", i), "openstack:///1"))
	}
	kube := c.withNodes(t, nodes...)
	c.pass(t, 30*time.Second)
	const notice = "node/worker-000, node/worker-001, node/worker-002, node/worker-003, node/worker-004 and 195 more: " +
		`they have the same providerID "openstack:///1"; find the machine with that ID, and drain and delete the Nodes whose kubelet does not run on it`
	require.Equal(t, notice, c.notice(t))
	require.Len(t, kube.Actions(), 10)
	require.NoError(t, c.controller.store.Replace(nil, "2"))
	require.Equal(t, notice, c.notice(t))
	require.Len(t, kube.Actions(), 20)
}

// A watch that began anew has not told of the Nodes that were deleted meanwhile.
func TestANodeThatIsGoneHasNoTwin(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, kube *fake.Clientset)
	}{
		"it was deleted": {func(t *testing.T, kube *fake.Clientset) {
			t.Helper()
			require.NoError(t, kube.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		}},
		"it is of another machine now": {func(t *testing.T, kube *fake.Clientset) {
			t.Helper()
			_, err := kube.CoreV1().Nodes().Update(t.Context(), running("b", "openstack:///3"), metav1.UpdateOptions{})
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, `{"platform":"openstack"}`)
			kube := c.withNodes(t, running("a", "openstack:///1"), running("b", "openstack:///1"))
			c.pass(t, 30*time.Second)
			require.Equal(t, sharedNotice, c.notice(t))
			tc.change(t, kube)
			require.Equal(t, sharedNotice, c.notice(t), "nobody has told it")
			require.NoError(t, c.controller.store.Replace(nil, "2"))
			require.Empty(t, c.notice(t))
		})
	}
}

func TestAReplacedNodeIsNoTwinOfItself(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	kube := c.withNodes(t, running("a", "openstack:///1"))
	require.NoError(t, c.controller.store.Delete(running("a", "openstack:///1")))
	require.NoError(t, c.controller.store.Update(running("b", "openstack:///1")))
	c.pass(t, time.Minute)
	require.Empty(t, c.notice(t))
	require.Empty(t, kube.Actions(), "it does not even suspect one")
}

func TestAnAddressThatFlapsIsANotice(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	c.withNodes(t, running("a", "openstack:///1"))
	lost := running("a", "openstack:///1")
	lost.Status.Addresses = lost.Status.Addresses[:1]
	flap := func() {
		require.NoError(t, c.controller.store.Update(lost))
		require.NoError(t, c.controller.store.Update(lost)) // a heartbeat
		c.pass(t, 10*time.Second)
		require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
		c.pass(t, 19*time.Minute+50*time.Second)
	}
	flap()
	flap()
	require.Empty(t, c.notice(t))
	require.NoError(t, c.controller.store.Update(lost))
	require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
	const notice = "node/a: lost its address of type InternalIP three times within an hour; check the addresses that the " +
		"cloud has for the instance, and what reports them to it, such as a guest agent"
	require.Equal(t, notice, c.notice(t))
	c.pass(t, 20*time.Minute-time.Second)
	require.Equal(t, notice, c.notice(t))
	c.pass(t, time.Second)
	require.Empty(t, c.notice(t), "the first loss is an hour ago")
	require.NoError(t, c.controller.store.Update(lost))
	require.NoError(t, c.controller.store.Update(running("a", "openstack:///1")))
	require.Equal(t, notice, c.notice(t), "two of three are within the hour, and this one")
	require.NoError(t, c.controller.store.Delete(running("a", "openstack:///1")))
	require.Empty(t, c.notice(t))
}
