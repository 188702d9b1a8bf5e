package leadership

import (
	"maps"
	"slices"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// hear makes the leader deaf at the second.
func (w *world) hear(second int, nodes ...string) {
	w.nodeController.See(*w.Lease.Spec.HolderIdentity, nodes, controlplanetest.At(second))
}

// lead makes another process the leader, which has settled at the second.
func (w *world) lead(node, process string, second int) {
	w.Acquire(node, process, second-100)
	w.see(second - 90)
	w.Renew(second)
	w.see(second)
}

func (w *world) deafCondition(t *testing.T) *operatorv1.OperatorCondition {
	t.Helper()
	_, status, _, err := w.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	return v1helpers.FindOperatorCondition(status.Conditions, "DeafLeaderNotices")
}

func (w *world) requireNotice(t *testing.T, reason, message string) {
	t.Helper()
	condition := w.deafCondition(t)
	require.Equal(t, operatorv1.ConditionTrue, condition.Status)
	require.Equal(t, reason, condition.Reason)
	require.Equal(t, message, condition.Message)
}

func TestADeafLeaderIsReplacedOnce(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.hear(0, "a", "b")
	w.run(t, 1, time.Minute)
	require.Empty(t, w.moves(t), "it may be about to look")
	w.requireNotice(t, "LeaderDeaf", "the cloud-controller-manager on node/m0 leads and looks at no node, while node/a, "+
		"node/b wait; another process leads from 2026-11-21T09:02:00Z on")

	w.Renew(119)
	w.see(119)
	require.Equal(t, []time.Duration{0, time.Second}, w.run(t, 119, 10*time.Second))
	moves := w.moves(t)
	require.Equal(t, []string{"handover-end-m0", "handover-follow-m0"}, slices.Sorted(maps.Keys(moves)))
	require.Equal(t, "m0", moves["handover-end-m0"].Spec.NodeName)
	require.Equal(t, "m1", moves["handover-follow-m0"].Spec.NodeName)
	require.Contains(t, moves["handover-end-m0"].Spec.Containers[0].Args, "--successor=m1")
	require.Equal(t, []string{"DeafLeaderReplaced: the cloud-controller-manager on node/m0 leads and looks at no node, " +
		"while node/a, node/b wait: the one on node/m1 leads next"}, w.messages())
	require.Equal(t, 1, w.replaced)

	w.lead("m1", "second", 230)
	w.nodeController.See("", nil, controlplanetest.At(230))
	w.run(t, 230, time.Second)
	require.Equal(t, "AsExpected", w.deafCondition(t).Reason)
	calls := w.run(t, 230, time.Hour)
	require.Equal(t, time.Hour-110*time.Second, calls[len(calls)-1])
	require.Empty(t, w.moves(t), "the record of the hour")
	require.Equal(t, 1, w.replaced)
}

func TestTheNextDeafLeaderStaysForAnHour(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.hear(-120, "a")
	w.run(t, 1, time.Second)
	require.Equal(t, 1, w.replaced)
	w.requireNotice(t, "LeaderDeaf", "the cloud-controller-manager on node/m0 leads and looks at no node, while node/a waits; "+
		"another process leads from 2026-11-21T09:00:00Z on")
	w.run(t, 2, time.Second)
	require.Contains(t, w.deafCondition(t).Message, "another process leads in a moment")

	for _, step := range []struct {
		second  int
		restart bool
	}{{200, false}, {400, true}, {3590, false}} {
		if step.restart {
			w.restartOperator()
		}
		w.lead("m1", "second", step.second)
		w.hear(step.second-130, "a")
		w.run(t, step.second, time.Second)
		require.Equal(t, 1, w.replaced, step.second)
		require.Len(t, w.moves(t), 2, "the record")
		w.requireNotice(t, "LeaderDeafAgain", "the cloud-controller-manager on node/m1 leads and looks at no node, while node/a "+
			"waits; a leader was replaced for this at 2026-11-21T09:00:01Z, and the next one is at 2026-11-21T10:00:01Z; "+
			"check that the cloud's API answers the control plane, then end this process")
	}
	w.lead("m1", "second", 3601)
	w.hear(3601-3000, "a")
	w.run(t, 3601, 5*time.Second)
	require.Equal(t, 2, w.replaced)
	require.Equal(t, []string{"handover-end-m1", "handover-follow-m1"}, slices.Sorted(maps.Keys(w.moves(t))))
}

func TestADeafLeaderStaysIf(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"another process is deaf":             func(w *world) { w.nodeController.See("m1_former", []string{"a"}, controlplanetest.At(-300)) },
		"it looks at nodes meanwhile":         func(w *world) { w.nodeController.See("", nil, controlplanetest.At(-1)) },
		"no standby is Ready":                 func(w *world) { w.Ready("m1", false); w.Ready("m2", false) },
		"no standby's Node is Ready":          func(w *world) { w.setReady("m1", corev1.ConditionUnknown); w.setReady("m2", corev1.ConditionFalse) },
		"the standbys' Nodes are cordoned":    func(w *world) { w.cordon("m1", true); w.cordon("m2", true) },
		"its kubelet is silent":               func(w *world) { w.setReady("m0", corev1.ConditionUnknown) },
		"it has not settled":                  func(w *world) { w.Acquire("m0", "next", 0); w.see(0) },
		"it has ended":                        func(w *world) { w.Exit("m0", 1, "") },
		"a revision is rolled out":            func(w *world) { w.Status.LatestAvailableRevision = 4 },
		"a node's files are being repaired":   func(w *world) { w.Status.NodeStatuses[2].TargetRevision = 3 },
		"the predecessor is being taken over": condition("TakingOver", operatorv1.ConditionTrue, ""),
		"nobody was seen to write its lease":  func(w *world) { w.Seen = controlplane.Lease{}; w.restartOperator(); w.hear(-300, "a"); w.see(1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.hear(-300, "a")
			change(w)
			w.run(t, 1, 25*time.Second)
			require.Empty(t, w.moves(t))
			require.Zero(t, w.replaced)
		})
	}
}

// A rollout does not reach such a node, which may be away for days, or may wait for the deaf leader.
func TestTheLeadMovesBesideANodeThatCannotGetItsRevision(t *testing.T) {
	deaf := func(w *world) { w.hear(-300, "a") }
	reboots := func(w *world) { w.cordon("m0", true) }
	joins := func(w *world) { w.Status.NodeStatuses[2].CurrentRevision = 0 }
	waits := func(w *world) { w.Status.NodeStatuses[2].TargetRevision = 4 }
	for name, tc := range map[string]struct {
		node    func(w *world)
		kubelet corev1.ConditionStatus
		happens func(w *world)
		want    string
	}{
		"from a deaf leader, a silent one":         {func(*world) {}, corev1.ConditionUnknown, deaf, "handover-end-m0"},
		"from a deaf leader, one that is NotReady": {waits, corev1.ConditionFalse, deaf, "handover-end-m0"},
		"from a deaf leader, a machine that joins": {joins, corev1.ConditionFalse, deaf, "handover-end-m0"},
		"before a reboot, a silent one":            {func(*world) {}, corev1.ConditionUnknown, reboots, "handover-leave-m0"},
		"before a reboot, one that is NotReady":    {waits, corev1.ConditionFalse, reboots, "handover-leave-m0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.Status.LatestAvailableRevision = 4
			w.Status.NodeStatuses[0].CurrentRevision, w.Status.NodeStatuses[1].CurrentRevision = 4, 4
			tc.node(w)
			w.setReady("m2", tc.kubelet)
			tc.happens(w)
			w.run(t, 1, 25*time.Second)
			require.Contains(t, w.moves(t), tc.want)
		})
	}
}

func TestADeafLeaderSaysThatARolloutComesFirst(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.Status.LatestAvailableRevision = 4
	w.hear(-300, "a")
	w.run(t, 1, time.Second)
	w.requireNotice(t, "LeaderDeaf", "the cloud-controller-manager on node/m0 leads and looks at no node, while node/a "+
		"waits; another process leads once the rollout has ended")
}

// A process that begins may have no cloud, so a control plane with a standby keeps the one that serves Services.
func TestADeafLeaderSaysWhatKeepsEachOtherProcessFromLeading(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"the pods are not Ready": {
			func(w *world) { w.Ready("m1", false); w.Ready("m2", false) },
			"no other process can lead, because pod/cloud-controller-manager-m1 is not Ready and " +
				"pod/cloud-controller-manager-m2 is not Ready",
		},
		"the pods are Ready and their Nodes are not": {
			func(w *world) { w.setReady("m1", corev1.ConditionFalse); w.cordon("m2", true) },
			"no other process can lead, because node/m1 is not Ready and node/m2 is cordoned",
		},
		"the kubelet that has to end it does not work": {
			func(w *world) { w.setReady("m0", corev1.ConditionFalse) },
			"no other process leads before node/m0 is Ready: check its kubelet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			test.change(w)
			w.hear(-300, "a")
			w.run(t, 1, time.Second)
			w.requireNotice(t, "LeaderDeaf",
				"the cloud-controller-manager on node/m0 leads and looks at no node, while node/a waits; "+test.want)
		})
	}
}

func TestTheOnlyNodesDeafProcessIsRestarted(t *testing.T) {
	for name, cordoned := range map[string]bool{"the Node accepts pods": false, "the Node is cordoned": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0")
			w.cordon("m0", cordoned)
			w.hear(-300, "a")
			w.run(t, 1, 25*time.Second)
			requireRestart(t, w)
		})
	}
}

func requireRestart(t *testing.T, w *world) {
	t.Helper()
	moves := w.moves(t)
	require.Equal(t, []string{"handover-end-m0"}, slices.Collect(maps.Keys(moves)))
	require.Equal(t, []string{"--holder=m0_first", "--limit=15s", "--successor=m0", "--port=10258"},
		moves["handover-end-m0"].Spec.Containers[0].Args[3:])
	require.Equal(t, []string{"DeafLeaderReplaced: the cloud-controller-manager on node/m0 leads and looks at no node, " +
		"while node/a waits: it is restarted"}, w.messages())
}

// The two occasions have records of their own.
func TestADeafLeadersNodeIsLeftBeforeItReboots(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.hear(-300, "a")
	w.run(t, 1, time.Second)
	w.lead("m0", "third", 300)
	w.cordon("m0", true)
	w.run(t, 300, 15*time.Second)
	require.Equal(t, []string{"handover-end-m0", "handover-follow-m0", "handover-leave-m0", "handover-take-m0"},
		slices.Sorted(maps.Keys(w.moves(t))))
}

func TestALeaderMayBeDeafAfterAReboot(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	w.lead("m1", "second", 300)
	w.hear(0, "a")
	w.run(t, 300, time.Second)
	require.Equal(t, 1, w.replaced)
	require.Contains(t, w.moves(t), "handover-end-m1")
}

// The record of an hour outlasts the Node.
func TestADeletedNodeDoesNotEndTheHour(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.hear(-300, "a")
	w.run(t, 1, time.Second)
	w.Leave("m0")
	w.lead("m1", "second", 300)
	w.hear(0, "a")
	w.run(t, 300, time.Second)
	require.Len(t, w.moves(t), 2)
	require.Equal(t, 1, w.replaced)
}
