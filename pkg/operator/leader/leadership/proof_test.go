package leadership

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// proves makes m1 the first node of revision 4, with the record of its proof.
func (w *world) proves(t *testing.T, state trial.ProofState, edits ...func(*trial.Proof)) {
	t.Helper()
	w.Status.LatestAvailableRevision = 4
	w.Status.NodeStatuses[1].CurrentRevision = 4
	w.restartOperator()
	record := trial.Record{Proof: &trial.Proof{Revision: 4, Former: 3, Node: "m1", State: state}}
	for _, edit := range edits {
		edit(record.Proof)
	}
	secret, err := record.InSecret()
	require.NoError(t, err)
	require.NoError(t, w.caches.Core().V1().Secrets().Informer().GetStore().Add(secret))
}

// Somebody deletes the record, or makes it unreadable, while the API server creates one of two pods only.
func TestAMoveForAProofEndsWithItsRecord(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.proves(t, trial.ProofAwaited)
	w.breakOff(t, 1)
	store := w.caches.Core().V1().Secrets().Informer().GetStore()
	for _, secret := range store.List() {
		require.NoError(t, store.Delete(secret))
	}
	w.run(t, 3, time.Second)
	require.Equal(t, []string{"handover-prove-m0"}, slices.Collect(maps.Keys(w.moves(t))))
}

func TestTheLeadMovesToTheFirstNodeOfARollout(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.Restart("m2", -600) // It started last.
	w.proves(t, trial.ProofAwaited)
	w.run(t, 1, time.Second)
	moves := w.moves(t)
	require.Equal(t, []string{"handover-prove-m0", "handover-yield-m0"}, slices.Sorted(maps.Keys(moves)))
	require.Equal(t, "m1", moves["handover-prove-m0"].Spec.NodeName)
	require.Equal(t, "m0", moves["handover-yield-m0"].Spec.NodeName)
	require.Subset(t, moves["handover-yield-m0"].Spec.Containers[0].Args, []string{
		"--holder=m0_first", "--limit=15s", "--successor=m1", "--port=10258", "--stay-away=18s"})
	require.NotContains(t, moves["handover-prove-m0"].Spec.Containers[0].Args, "--stay-away=18s")
	require.Equal(t, []string{"LeadMoves: the cloud-controller-manager on node/m1 is to lead with revision 4, to prove it: " +
		"node/m0 hands the lead over"}, w.messages())
	w.Renew(60)
	w.see(60)
	w.run(t, 61, 2*time.Second)
	require.Len(t, w.moves(t), 2, "it has not moved, and is tried again")
}

// The API server lets each kubelet create such pods, which are of no use to it.
func TestAMirrorPodDoesNotKeepTheLeadFromMoving(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.proves(t, trial.ProofAwaited)
	for _, name := range []string{"handover-prove-m0", "handover-yield-m0"} {
		mirror := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "w0"}}
		mirror.Name, mirror.Namespace, mirror.UID = name, namespace, "mirror"
		mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
		require.NoError(t, w.kube.Tracker().Add(mirror))
	}
	w.run(t, 1, time.Second)
	for name, node := range map[string]string{"handover-prove-m0": "m1", "handover-yield-m0": "m0"} {
		require.Equal(t, node, w.moves(t)[name].Spec.NodeName)
	}
	require.Len(t, w.messages(), 1)
}

func TestTheLeadReturnsFromAProcessThatProvesNothing(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.proves(t, trial.ProofHeld)
	w.Acquire("m1", "second", 0)
	w.see(0)
	w.Renew(31)
	w.see(31)
	w.run(t, 31, 5*time.Second)
	moves := w.moves(t)
	require.Equal(t, []string{"handover-give-m1", "handover-return-m1"}, slices.Sorted(maps.Keys(moves)))
	require.Equal(t, "m0", moves["handover-return-m1"].Spec.NodeName, "it has the former revision")
	require.NotContains(t, moves["handover-give-m1"].Spec.Containers[0].Args, "--stay-away=18s")
}

// One of the former revision may not start again either.
func TestTheLeadStaysWithAProcessThatLeadsAgainWhileAnotherOneHasEnded(t *testing.T) {
	for hangs, want := range map[bool][]string{false: nil, true: {"handover-give-m1", "handover-return-m1"}} {
		w := newWorld(t, "m0", "m1", "m2")
		w.proves(t, trial.ProofHeld, func(p *trial.Proof) { p.Hangs = hangs })
		w.Exit("m2", 0, "the cloud rejects the credentials")
		w.Ready("m2", false)
		w.Acquire("m1", "second", 0)
		w.see(0)
		w.Renew(31)
		w.see(31)
		w.run(t, 31, 5*time.Second)
		require.Equal(t, want, slices.Sorted(maps.Keys(w.moves(t))), "hangs: %v", hangs)
	}
}

func TestTheLeadOfARolloutMovesOnlyWhereARecordAsksForIt(t *testing.T) {
	for name, change := range map[string]func(w *world, t *testing.T){
		"without a record":            func(w *world, _ *testing.T) { w.Status.LatestAvailableRevision = 4; w.restartOperator() },
		"the first node leads":        func(w *world, t *testing.T) { w.proves(t, trial.ProofLeads) },
		"it has led well":             func(w *world, t *testing.T) { w.proves(t, trial.Proven) },
		"it has led badly":            func(w *world, t *testing.T) { w.proves(t, trial.ProofFailed) },
		"the former one has it back":  func(w *world, t *testing.T) { w.proves(t, trial.ProofHeld) },
		"the first node is not Ready": func(w *world, t *testing.T) { w.proves(t, trial.ProofAwaited); w.Ready("m1", false) },
		"a standby is not Ready":      func(w *world, t *testing.T) { w.proves(t, trial.ProofAwaited); w.Ready("m2", false) },
		"the first node is cordoned":  func(w *world, t *testing.T) { w.proves(t, trial.ProofAwaited); w.cordon("m1", true) },
		"the kubelet of the first node would start it again later": func(w *world, t *testing.T) {
			w.proves(t, trial.ProofAwaited)
			for _, second := range []int{-60, -40} {
				w.Exit("m1", second, "the cloud does not answer")
				w.Start("m1", second+10)
			}
		},
		"the record is about a former": func(w *world, t *testing.T) {
			w.proves(t, trial.ProofAwaited)
			w.Status.LatestAvailableRevision = 5
			w.restartOperator()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			change(w, t)
			w.run(t, 1, 20*time.Second)
			require.Empty(t, w.moves(t))
		})
	}
}
