package takeover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// The predecessor would stop with nothing in its place.
func TestWhatDoesNotStandBy(t *testing.T) {
	pulled := []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod := func(name, app string, status corev1.PodStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: "m1"}, Status: status,
		}
	}
	deleted := pod("installer-1-m1", "installer", corev1.PodStatus{InitContainerStatuses: pulled})
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(begin))
	for name, there := range map[string]*corev1.Pod{
		"no pod":                             nil,
		"a Ready pod of another application": pod("other", "other", corev1.PodStatus{Conditions: ready}),
		"a static pod that has started and is not Ready": pod("cloud-controller-manager-m1", "cloud-controller-manager",
			corev1.PodStatus{InitContainerStatuses: pulled, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
			}}),
		"an installer pod that is being deleted": deleted,
		"an installer pod without a status":      pod("installer-1-m1", "installer", corev1.PodStatus{}),
		"an installer pod of another revision": pod(
			"installer-2-m1", "installer", corev1.PodStatus{InitContainerStatuses: pulled},
		),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, servesNone, []string{"m0", "m1", "m2"}, "m0")
			c.standBy(t, "m0", "m2")
			c.status.NodeStatuses[1].CurrentRevision = 1
			if there != nil {
				c.add(t, there)
			}
			require.Equal(t, keeps+": waiting for node/m1"+cause, c.sync(t))
			require.Empty(t, c.changes())
		})
	}
	t.Run("a static pod of no revision", func(t *testing.T) {
		c := newCluster(t, servesNone, []string{"m0", "m1", "m2"}, "m0")
		c.standBy(t, "m0", "m1", "m2")
		c.status.NodeStatuses[1].CurrentRevision = 0
		require.Equal(t, keeps+": waiting for node/m1"+cause, c.sync(t))
		require.Empty(t, c.changes())
	})
}

// Nothing else calls the controller when kube-controller-manager's operator writes its condition, or a lease expires.
func TestATimerCallsTheControllerWhereNoEventDoes(t *testing.T) {
	calls := func(t *testing.T, c *cluster, duration time.Duration) []time.Duration {
		t.Helper()
		clock, ok := c.Clock.(controllertest.Clock)
		require.True(t, ok)
		offsets, err := controllertest.NewTimer(clock, c.recorder).Run(t.Context(), c.controller.sync, duration)
		require.NoError(t, err)
		return offsets
	}
	t.Run("while kube-controller-manager runs the cloud controllers", func(t *testing.T) {
		c := newCluster(t, servesNone, []string{"m0"}, "m0")
		c.inTree = true
		require.Equal(t, []time.Duration{0, 30 * time.Second, time.Minute}, calls(t, c, time.Minute))
	})
	t.Run("when the lease of a node that does not report expires", func(t *testing.T) {
		c := newCluster(t, servesNone, []string{"m0", "m1"}, "m0")
		c.sync(t)
		c.standBy(t, "m0", "m1")
		c.end(t)
		silent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m0"}}
		require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Update(silent))
		require.Equal(t, []time.Duration{0, 127 * time.Second}, calls(t, c, time.Hour))
	})
	t.Run("not after the end", func(t *testing.T) {
		c := newCluster(t, "", []string{"m0"})
		require.Equal(t, []time.Duration{0}, calls(t, c, time.Hour))
	})
}
