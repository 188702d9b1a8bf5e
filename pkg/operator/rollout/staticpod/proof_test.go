package staticpod

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// changed makes revision 2, which changes what the cloud-controller-manager starts with.
func (s *simulated) changed() {
	s.t.Helper()
	s.revision(2)
	store := s.caches.Core().V1().ConfigMaps().Informer().GetStore()
	object, _, err := store.GetByKey(target + "/" + operand.NameIn(operand.PodConfigMap, 2))
	require.NoError(s.t, err)
	next := object.(*corev1.ConfigMap).DeepCopy()
	next.Data["pod.yaml"] = `{"spec": {"containers": [{"name": "cloud-controller-manager", "image": "other"}]}}`
	require.NoError(s.t, store.Update(next))
}

// prove writes the record of a revision's proof.
func (s *simulated) prove(record trial.Proof) {
	secret, err := (&trial.Record{Proof: &record}).InSecret()
	require.NoError(s.t, err)
	require.NoError(s.t, s.caches.Core().V1().Secrets().Informer().GetStore().Add(secret))
}

// The others keep what works.
func TestTheNodeWhoseRevisionIsReplacedBeforeItsProofIsFirst(t *testing.T) {
	for state, want := range map[trial.ProofState]string{trial.ProofAwaited: "m2: 3", trial.Unproved: "m1: 3"} {
		t.Run(string(state), func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(controlplane.SettleTime)
			s.operator.status.NodeStatuses[2].CurrentRevision = 2
			s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m2", State: state})
			s.revision(3)
			s.run(time.Second)
			require.Equal(t, []string{want}, s.order)
		})
	}
}

func TestNoSecondNodeGetsARevisionBeforeItHasLedWell(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(2 * time.Minute)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions(), "nothing has proved it")
	record := trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.ProofLeads}
	s.prove(record)
	s.run(time.Minute)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions())
	require.Equal(t, "True: 2 nodes are at revision 1; 1 node is at revision 2; the cloud-controller-manager on node/m1 "+
		"leads with revision 2 to prove it", s.operator.condition(t, "NodeInstallerProgressing"))
	record.State = trial.Proven
	s.prove(record)
	s.run(time.Minute)
	require.Equal(t, "m0 2, m1 2, m2 2", s.revisions())
	require.Equal(t, "False: 3 nodes are at revision 2", s.operator.condition(t, "NodeInstallerProgressing"))
}

// A machine that joins has no revision, and gets none before its kubelet works: that may take for ever.
func TestAMachineThatJoinsEndsNoHold(t *testing.T) {
	for name, kubelet := range map[string]corev1.ConditionStatus{
		"whose network is not ready": corev1.ConditionFalse, "that dies": corev1.ConditionUnknown,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(time.Second)
			s.changed()
			s.run(time.Minute)
			s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.ProofHeld})
			s.join("m3")
			s.silence("m3", true)
			s.ready("m3", kubelet)
			s.run(2 * time.Minute)
			require.Equal(t, "m0 1, m1 2, m2 1, m3 0", s.revisions())
		})
	}
}

// A file of another node may be damaged meanwhile.
func TestARepairGivesNoSecondNodeARevisionBeforeItHasLedWell(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(time.Minute)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions())
	s.repair("m2")
	s.run(time.Minute)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions(), "it is repaired with what it has")
	require.Zero(t, s.operator.status.NodeStatuses[2].TargetRevision, "it is repaired")
	s.repair("m1")
	s.run(time.Minute)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions())
	s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.Proven})
	s.repair("m2")
	s.run(time.Minute)
	require.Equal(t, "m0 2, m1 2, m2 2", s.revisions())
}

func TestARolloutWaitsForAProofOnlyWhereThatShowsSomething(t *testing.T) {
	for name, tc := range map[string]struct {
		rollout func(s *simulated)
		waits   bool
	}{
		"a change of what the CCM starts with": {func(s *simulated) { s.changed() }, true},
		"no change of that":                    {func(s *simulated) { s.revision(2) }, false},
		"a change that goes back from one that has failed": {func(s *simulated) {
			s.prove(trial.Proof{Revision: 1, State: trial.ProofFailed})
			s.changed()
		}, false},
		"a change that nothing could prove": {func(s *simulated) {
			s.prove(trial.Proof{Revision: 2, State: trial.Unproved})
			s.changed()
		}, false},
		"a change that has failed, before it goes back": {func(s *simulated) {
			s.prove(trial.Proof{Revision: 2, State: trial.ProofFailed})
			s.changed()
		}, true},
		"a change after another that nothing could prove": {func(s *simulated) {
			s.prove(trial.Proof{Revision: 1, State: trial.Unproved})
			s.changed()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(time.Second)
			tc.rollout(s)
			s.run(2 * time.Minute)
			require.Len(t, s.order, map[bool]int{true: 1, false: 3}[tc.waits], s.revisions())
		})
	}
}

// A single node, and a first installation, have nothing to fall back on.
func TestARolloutToASingleNodeWaitsForNoProof(t *testing.T) {
	s := newSimulated(t, "m0")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(time.Minute)
	require.Equal(t, "m0 2", s.revisions())
}

// The record may be impossible to write.
func TestARolloutDoesNotWaitForAProofForever(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(time.Hour)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions(), "a second proof may last as long")
	s.run(time.Minute)
	require.Equal(t, "m0 2, m1 2, m2 2", s.revisions())
}

// What would go back may have been edited by hand.
func TestARevisionThatHasLedBadlyReachesNoSecondNode(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(time.Minute)
	s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.ProofFailed, Began: metav1.NewTime(s.clock.Now())})
	s.run(time.Hour)
	require.Equal(t, "m0 1, m1 2, m2 1", s.revisions())
}

func TestTheNodeWhoseRevisionHasLedBadlyGoesBackFirst(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.lead()
	s.run(time.Second)
	s.changed()
	s.run(time.Minute)
	s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.ProofFailed, Began: metav1.NewTime(s.clock.Now())})
	s.deleteMirror("m0") // Its process is just being started, to lead again.
	s.revision(3)
	s.run(time.Second)
	s.start("m0", 1)
	s.run(time.Minute)
	require.Equal(t, []string{"m1: 2", "m1: 3", "m2: 3", "m0: 3"}, s.order)
}

// The node that has yielded the lead may wait for its kubelet's back-off.
func TestTheNodeWhoseRevisionHasLedBadlyGoesBackWhileTheLeadMoves(t *testing.T) {
	for name, tc := range map[string]struct {
		state corev1.ContainerState
		ready bool
		want  []string
	}{
		"its next process stands by": {ready: true, want: []string{"m1: 2", "m1: 3"}},
		"its kubelet does not start the next process for now": {
			state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			want:  []string{"m1: 2", "m1: 3"},
		},
		"but not if its next process starts, which would take the lease": {want: []string{"m1: 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(time.Second)
			s.changed()
			s.run(time.Minute)
			s.prove(trial.Proof{Revision: 2, Former: 1, Node: "m1", State: trial.ProofFailed, Began: metav1.NewTime(s.clock.Now())})
			s.move(t, corev1.PodRunning, 0)
			s.changeMirror("m1", func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: operand.Name, Ready: tc.ready, State: tc.state}}
			})
			s.revision(3)
			s.run(time.Second)
			require.Equal(t, tc.want, s.order)
		})
	}
}

// Each move of the lead costs seconds, and a leader that has not settled is none.
func TestTheNodeOfALeaderWaitsUntilThatHasSettled(t *testing.T) {
	s := newSimulated(t, "m0", "m1")
	s.run(time.Second)
	s.lead()
	s.revision(2)
	s.run(30 * time.Second)
	require.Equal(t, []string{"m1: 2"}, s.order)
	s.run(2 * time.Second)
	require.Equal(t, []string{"m1: 2", "m0: 2"}, s.order)
}

// Another process took the lead after an earlier rollout had ended its predecessor, and has the oldest revision.
func TestTheNodeOfALeaderWaitsAlsoIfItIsTheFirstOne(t *testing.T) {
	s := newSimulated(t, "m0", "m1", "m2")
	s.run(time.Second)
	s.operator.status.NodeStatuses[1].CurrentRevision, s.operator.status.NodeStatuses[2].CurrentRevision = 2, 2
	s.lead()
	s.revision(3)
	s.run(30 * time.Second)
	require.Empty(t, s.order)
	s.run(2 * time.Second)
	require.Equal(t, []string{"m0: 3"}, s.order)
}
