package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// installing makes the installer work on a node.
func (c *cluster) installing(name string) {
	for i, status := range c.operator.revisions.NodeStatuses {
		if status.NodeName == name {
			c.operator.revisions.NodeStatuses[i].TargetRevision = c.operator.revisions.LatestAvailableRevision
		}
	}
}

// A rollout may wait for a machine that is dead, and nodes wait behind it.
func TestNodesThatWaitBehindADeadMachineHoldNoDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(c *cluster)
		dead string
		want []string
	}{
		"the machine that the rollout waits for": {
			do: func(c *cluster) { c.rollOut(5, 4); c.installing("master-1") }, dead: "master-1",
			want: []string{"master-1 after 25s"},
		},
		"a Node that is gone, and whose status is not yet": {
			do: func(c *cluster) {
				c.rollOut(4, 4, "master-2")
				require.NoError(c.t, c.nodes.Delete(c.node("master-2")))
			}, dead: "worker-1",
			want: []string{"worker-1 after 25s"},
		},
		"a node gets the revision": {
			do: func(c *cluster) { c.rollOut(5, 4); c.installing("master-0") }, dead: "master-1",
		},
		"nodes wait, and a worker is dead": {
			do: func(c *cluster) { c.rollOut(5, 4) }, dead: "worker-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			tc.do(c)
			c.silence(tc.dead)
			c.run(4 * time.Minute)
			require.Equal(t, tc.want, c.deleted)
		})
	}
}

// The former leader's cloud did not know the machine. The next one knows no machine.
func TestTheProofOfAFormerLeaderDoesNotCount(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.rollOut(5, 4) // The proof has to wait.
	c.silence("worker-1")
	c.run(40 * time.Second)
	require.Empty(t, c.marks())
	c.lead("master-1_2")
	c.forgetMachines()
	c.rollOut(5, 5)
	c.run(10 * time.Minute)
	require.Empty(t, c.deleted)
	for _, event := range c.recorder.Events() {
		require.NotEqual(t, "NodeDeletionConfirmed", event.Reason)
	}
}

// Its answers prove nothing any more, and there is no probe.
func TestADeadLeaderIsNeitherBelievedNorAsked(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.run(time.Minute)
	c.rollOut(5, 4)
	c.silence("worker-1")
	c.dead = true
	require.NoError(t, c.controller.sync(t.Context(), c.timer))
	c.announce(c.node("worker-1"))
	c.run(leaderSilence)
	c.rollOut(5, 5)
	for range 120 {
		c.run(time.Second)
		require.Empty(t, c.marks())
		require.Empty(t, reasonOf(c))
	}
	require.Equal(t, undecided, c.controller.memory.records["uid-worker-1"].state)
}

// A Node without the taint is no answer as long as the cache has the Node of before the probe.
func TestACacheFromBeforeTheQuestionIsNoAnswer(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.lag = 3 * time.Second
	c.unknown["worker-1"] = true
	c.fails = true // The CCM does not look anything up.
	c.announce(c.node("worker-1"))
	c.run(2 * time.Second)
	require.NotNil(t, c.controller.memory.probe)
	require.Empty(t, c.controller.memory.probe.found)
}

// The cloud finds no machine, and the cache shows long afterwards that the operator has taken its taints back.
func TestATaintThatTheOperatorTookBackIsNoAnswer(t *testing.T) {
	c := newCluster(t, "openstack", "master-0", "master-1", "worker-0", "worker-1")
	c.report("worker-0", corev1.ConditionUnknown)
	c.forgetMachines()
	c.lag = 12 * time.Second
	c.run(20 * time.Second)
	c.report("worker-1", corev1.ConditionUnknown)
	c.run(3 * time.Minute)
	require.Empty(t, c.deleted)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
	for _, event := range c.recorder.Events() {
		require.NotEqual(t, "NodeDeletionConfirmed", event.Reason)
	}
}

// With another effect, the taint would keep pods from the node.
func TestTheQuestionKeepsNoPodFromANode(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(5 * time.Second)
	asked := 0
	for _, name := range five {
		for _, taint := range c.node(name).Spec.Taints {
			asked++
			require.Equal(t, corev1.Taint{
				Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "known-to-the-cloud",
				Effect: corev1.TaintEffectPreferNoSchedule,
			}, taint)
		}
	}
	require.Equal(t, 4, asked)
}
