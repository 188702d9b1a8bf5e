package availability

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// answers sets what the kubelet reports of a container that runs.
func (c *cluster) answers(node string, started, ready bool) {
	container := c.Container(node)
	container.Started, container.Ready = ptr.To(started), ready
	c.Ready(node, ready)
}

func TestAContainerThatHangsIsReported(t *testing.T) {
	for _, c := range []struct{ node, message string }{
		{"m1", "container cloud-controller-manager of the static pod on node/m1 runs, but does not answer its readiness " +
			"probe; " +
			"the kubelet restarts it if it does not answer soon; if it recurs, read the log of the container and check the load of the node"},
		{"m0", "container cloud-controller-manager of the static pod on node/m0 runs, but does not answer its readiness " +
			"probe; " +
			"it holds lease/cloud-controller-manager in openshift-cloud-controller-manager, so no other " +
			"cloud-controller-manager may act until it has ended; " +
			"the kubelet restarts it if it does not answer soon; if it recurs, read the log of the container and check the load of the node"},
	} {
		t.Run("on "+c.node, func(t *testing.T) {
			events := timeline{}
			events.renews(26, 200)
			events.at(40, func(cluster *cluster, _ int) { cluster.answers(c.node, true, false) })
			events.at(60, func(cluster *cluster, _ int) { require.Equal(t, c.message, cluster.message(UnresponsiveCondition)) })
			events.at(100, func(cluster *cluster, second int) {
				cluster.Exit(c.node, second, "")
				cluster.Start(c.node, second)
				cluster.answers(c.node, false, false)
			})
			require.Equal(t, []string{
				"55s UnresponsiveDegraded=True NotResponding",
				"100s UnresponsiveDegraded=False AsExpected",
			}, of(events.run(t, threeMasters, 200), UnresponsiveCondition))
		})
	}
}

func TestAContainerThatIsNotReadyForAMomentIsNotReported(t *testing.T) {
	for name, events := range map[string]func(timeline){
		"it starts": func(l timeline) {
			l.at(40, func(c *cluster, second int) { c.Start("m1", second); c.answers("m1", false, false) })
		},
		"its kubelet has restarted": func(l timeline) {
			l.at(40, func(c *cluster, _ int) { c.answers("m1", true, false) })
			l.at(50, func(c *cluster, _ int) { c.answers("m1", true, true) })
			l.at(60, func(c *cluster, _ int) { c.answers("m1", true, false) })
			l.at(74, func(c *cluster, _ int) { c.answers("m1", true, true) })
		},
		"its pod is being deleted": func(l timeline) {
			l.at(40, func(c *cluster, second int) {
				c.answers("m1", true, false)
				c.Pods["m1"].DeletionTimestamp = &metav1.Time{Time: at(second)}
			})
		},
		"its Node is deleted": func(l timeline) {
			l.at(40, func(c *cluster, _ int) { c.answers("m1", true, false); c.Leave("m1") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := timeline{}
			l.renews(26, 200)
			events(l)
			require.Empty(t, of(l.run(t, threeMasters, 200), UnresponsiveCondition))
		})
	}
}
