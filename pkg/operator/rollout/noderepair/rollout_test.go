package noderepair

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
)

// A rollout may be stuck on its node for hours. Meanwhile, another node is repaired if its static pod does not run.
func TestARolloutThatIsStuckDoesNotSwitchOffRepairs(t *testing.T) {
	stuck := func(t *testing.T, c *cluster) {
		t.Helper()
		c.addInstaller(t, "installer-8-m0", "m0", corev1.PodRunning)
		c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) {
			status.LatestAvailableRevision, status.NodeStatuses[0].TargetRevision = 8, 8
		})
	}
	deleted := func(t *testing.T, c *cluster) {
		t.Helper()
		require.NoError(t, c.caches.Core().V1().Pods().Informer().GetStore().Delete(mirrorPod("m1")))
	}
	edited := func(t *testing.T, c *cluster) {
		t.Helper()
		c.report(t, "m1", filesyncer.Report{Directory: c.sound.Directory, Manifest: "sha256:1"})
	}
	const (
		expected = "NodeFilesDegraded False AsExpected: "
		waits    = "NodeFilesDegraded True RepairWaits: node/m1: the manifest of the static pod differs from revision 7; " +
			"its revision is installed again after the rollout of revision 8"
		repaired = "Warning NodeFilesRepaired Installing revision 7 on node/m1 again: the static pod does not exist"
	)
	different := []string{"Warning NodeFilesRepaired Installing revision 7 on node/m1 again: " +
		"the manifest of the static pod differs from revision 7"}
	type happening = func(t *testing.T, c *cluster)
	withKubelet := func(ready corev1.ConditionStatus) happening {
		return func(t *testing.T, c *cluster) {
			t.Helper()
			require.NoError(t, c.caches.Core().V1().Nodes().Informer().GetStore().Add(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "m0"},
				Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
			}))
		}
	}
	behind := func(t *testing.T, c *cluster) {
		t.Helper()
		c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[0].CurrentRevision = 6 })
	}
	for name, tc := range map[string]struct {
		happens   []happening
		targets   []string
		messages  []string
		condition string
	}{
		"the manifest of another node was deleted": {
			[]happening{stuck, deleted}, []string{"m1: 7 to 7"}, []string{repaired}, expected,
		},
		"the manifest of another node was edited, and its static pod runs": {
			[]happening{stuck, edited}, []string{"m0: 7 to 8"}, nil, waits,
		},
		"the rollout has started on that node": {
			[]happening{stuck, deleted, func(t *testing.T, c *cluster) {
				t.Helper()
				c.addInstaller(t, "installer-8-m1", "m1", corev1.PodPending)
			}}, []string{"m0: 7 to 8"}, nil, expected,
		},
		"the manifest of a node that has the revision already was deleted": {
			[]happening{stuck, deleted, func(t *testing.T, c *cluster) {
				t.Helper()
				c.addInstaller(t, "installer-8-m1", "m1", corev1.PodSucceeded)
				c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[1].CurrentRevision = 8 })
			}}, []string{"m1: 8 to 8"},
			[]string{
				"Warning NodeFilesRepaired Installing revision 8 on node/m1 again: the static pod does not exist",
			}, expected,
		},
		"another node is being repaired": {
			[]happening{deleted, func(t *testing.T, c *cluster) {
				t.Helper()
				c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) {
					status.LatestAvailableRevision, status.NodeStatuses[0].TargetRevision = 8, 7
				})
			}}, []string{"m0: 7 to 7"}, nil, expected,
		},
		"another node, which has the latest revision, is being repaired": {
			[]happening{edited, func(t *testing.T, c *cluster) {
				t.Helper()
				c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[0].TargetRevision = 7 })
			}}, []string{"m0: 7 to 7"}, nil,
			"NodeFilesDegraded True RepairWaits: node/m1: the manifest of the static pod differs from revision 7; " +
				"its revision is installed again after the repair of another node",
		},
		"the container runtime of the node that is being repaired does not work any more": {
			[]happening{deleted, withKubelet(corev1.ConditionFalse), func(t *testing.T, c *cluster) {
				t.Helper()
				c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[0].TargetRevision = 7 })
			}}, []string{"m1: 7 to 7"}, []string{repaired}, expected,
		},
		"the node has no revision yet": {
			[]happening{stuck, deleted, func(t *testing.T, c *cluster) {
				t.Helper()
				c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[1].CurrentRevision = 0 })
			}}, []string{"m0: 7 to 8"}, nil, expected,
		},
		"the rollout abandons a silent node, and is over": {
			[]happening{edited, withKubelet(corev1.ConditionUnknown), behind}, []string{"m1: 7 to 7"}, different, expected,
		},
		"the rollout goes on without a node whose container runtime does not work": {
			[]happening{edited, withKubelet(corev1.ConditionFalse), behind}, []string{"m1: 7 to 7"}, different, expected,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			for _, happens := range tc.happens {
				happens(t, c)
			}
			before := c.targets(t)
			c.run(t, filesPatience-time.Second)
			require.Equal(t, before, c.targets(t))
			c.run(t, waitingPatience-filesPatience)
			require.Equal(t, tc.targets, c.targets(t))
			require.Equal(t, tc.messages, c.messages())
			require.Equal(t, expected, c.condition(t))
			c.run(t, time.Second)
			require.Equal(t, tc.condition, c.condition(t))
		})
	}
}

func TestARepairThatWaitedForARolloutFollowsIt(t *testing.T) {
	c := newCluster(t)
	c.report(t, "m1", filesyncer.Report{})
	c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[0].CurrentRevision = 6 })
	c.run(t, 10*time.Minute)
	require.Empty(t, c.targets(t))
	c.setStatus(t, func(status *operatorv1.StaticPodOperatorStatus) { status.NodeStatuses[0].CurrentRevision = 7 })
	c.run(t, time.Second)
	require.Equal(t, []string{"m1: 7 to 7"}, c.targets(t))
	require.Equal(t, "NodeFilesDegraded False AsExpected: ", c.condition(t))
}
