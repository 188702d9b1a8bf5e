package staticpod

import (
	"errors"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestTheNextNodeOfARollout(t *testing.T) {
	installerOf := func(s *simulated, name, node string, change func(*corev1.Pod)) {
		p := pod(name, map[string]string{"app": "installer"})
		p.Spec.NodeName = node
		if change != nil {
			change(p)
		}
		require.NoError(s.t, s.kube.Tracker().Add(p))
	}
	for name, tc := range map[string]struct {
		happens func(s *simulated)
		want    string
	}{
		"the first one that does not lead": {func(*simulated) {}, "m1"},
		"the one without a static pod":     {func(s *simulated) { s.deleteManifest("m2") }, "m2"},
		"the one whose CCM is not Ready":   {func(s *simulated) { s.machines["m2"].fails = 1; s.start("m2", 1) }, "m2"},
		"not one whose pods the node controller called not Ready": {
			func(s *simulated) {
				s.ready("m2", corev1.ConditionUnknown)
				s.ready("m2", corev1.ConditionTrue) // the kubelet has not reported its pods yet
			}, "m1",
		},
		"the leader's, if nothing works there": {func(s *simulated) { s.deleteManifest("m0") }, "m0"},
		"the one that is further behind": {
			func(s *simulated) { s.operator.status.NodeStatuses[2].CurrentRevision = 0 }, "m2",
		},
		"the one where the revision was started": {func(s *simulated) { installerOf(s, "installer-2-m2", "m2", nil) }, "m2"},
		"the one where the revision has failed": {
			func(s *simulated) { s.operator.status.NodeStatuses[2].LastFailedRevision = 2 }, "m2",
		},
		"the one where it was started before one without a static pod": {
			func(s *simulated) { installerOf(s, "installer-2-retry-1-m2", "m2", nil); s.deleteManifest("m1") }, "m2",
		},
		"not one where another revision was started": {
			func(s *simulated) { installerOf(s, "installer-20-m2", "m2", nil) }, "m1",
		},
		"not one whose installer is deleted": {
			func(s *simulated) {
				installerOf(s, "installer-2-m2", "m2", func(p *corev1.Pod) {
					p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: s.clock.Now()}, []string{"a/b"}
				})
			}, "m1",
		},
		"none whose kubelet is silent": {func(s *simulated) { s.unknown("m1") }, "m2"},
		"one that is not Ready after the others, also the leader's": {
			func(s *simulated) { s.ready("m1", corev1.ConditionFalse); s.ready("m2", corev1.ConditionFalse) }, "m0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(controlplane.SettleTime)
			s.revision(2)
			tc.happens(s)
			s.run(time.Second)
			require.Equal(t, []string{tc.want + ": 2"}, s.order)
		})
	}
}

// Its kubelet would start it when it works again, perhaps while another node is being installed.
func TestAnInstallerThatHasNotStartedIsDeletedWhenTheRolloutPassesBy(t *testing.T) {
	for name, tc := range map[string]struct {
		phase  corev1.PodPhase
		status corev1.ContainerStatus
		want   bool
	}{
		"the kubelet has not seen it": {phase: corev1.PodPending},
		"it waits for its first container": {
			phase:  corev1.PodPending,
			status: corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
		},
		"a container of it runs": {
			phase:  corev1.PodPending,
			status: corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, want: true,
		},
		"a container of it has ended": {
			phase:  corev1.PodPending,
			status: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			want:   true,
		},
		"it may have removed the manifest": {phase: corev1.PodRunning, want: true},
		"it has installed the revision":    {phase: corev1.PodSucceeded, want: true},
	} {
		for _, list := range []string{"init container", "container"} {
			t.Run(name+", "+list, func(t *testing.T) {
				s := newSimulated(t, "m0", "m1")
				s.silence("m0", false)
				s.revision(2)
				s.run(2 * time.Second)
				require.Equal(t, "m0 1 to 2, m1 1", s.revisions())
				p, err := s.kube.CoreV1().Pods(target).Get(t.Context(), "installer-2-m0", metav1.GetOptions{})
				require.NoError(t, err)
				p.Status = corev1.PodStatus{Phase: tc.phase}
				if list == "container" {
					p.Status.ContainerStatuses = []corev1.ContainerStatus{tc.status}
				} else {
					p.Status.InitContainerStatuses = []corev1.ContainerStatus{tc.status}
				}
				_, err = s.kube.CoreV1().Pods(target).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
				require.NoError(t, err)
				s.unknown("m0")
				s.run(time.Second)
				require.Equal(t, "m0 1, m1 1 to 2", s.revisions())
				_, err = s.kube.CoreV1().Pods(target).Get(t.Context(), "installer-2-m0", metav1.GetOptions{})
				require.Equal(t, tc.want, err == nil)
			})
		}
	}
}

// Another node would be installed beside it.
func TestTheRolloutDoesNotPassByANodeWhoseInstallerCannotBeDeleted(t *testing.T) {
	s := newSimulated(t, "m0", "m1")
	s.silence("m0", false)
	s.revision(2)
	s.run(2 * time.Second)
	require.Equal(t, "m0 1 to 2, m1 1", s.revisions())
	p, err := s.kube.CoreV1().Pods(target).Get(t.Context(), "installer-2-m0", metav1.GetOptions{})
	require.NoError(t, err)
	p.Status.Phase = corev1.PodPending
	_, err = s.kube.CoreV1().Pods(target).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	s.kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcdserver: request timed out")
	})
	s.unknown("m0")
	s.cacheInstallers()
	require.EqualError(t, s.controller.Sync(t.Context(), s.syncContext()),
		"deleting pod/installer-2-m0 in openshift-cloud-controller-manager: etcdserver: request timed out")
	require.Equal(t, "m0 1 to 2, m1 1", s.revisions())
}

// Nothing else happens meanwhile.
func TestTheRolloutGoesOnByItselfWhenTheKubeletStaysNotReady(t *testing.T) {
	s := newSimulated(t, "m0", "m1")
	s.silence("m0", false)
	s.revision(2)
	s.run(2 * time.Second)
	s.ready("m0", corev1.ConditionFalse)
	_, err := controllertest.NewTimer(s.clock, s.recorder).Run(t.Context(), s.controller.Sync, notReadyTimeout-time.Second)
	require.NoError(t, err)
	require.Equal(t, "m0 1 to 2, m1 1", s.revisions())
	calls, err := controllertest.NewTimer(s.clock, s.recorder).Run(t.Context(), s.controller.Sync, time.Second)
	require.NoError(t, err)
	require.Len(t, calls, 2)
	require.Equal(t, "m0 1, m1 1 to 2", s.revisions())
}

func TestAKubeletThatFallsSilentIsAnEvent(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "m0"},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	first := map[string]string{
		"Installer": "InstallerControllerDegraded", "RolloutProgressController": "NodeInstallerProgressing",
	}
	for controller, reacts := range map[string]func(*operatorv1.StaticPodOperatorStatus) bool{
		"Installer": func(status *operatorv1.StaticPodOperatorStatus) bool {
			return status.NodeStatuses[0].TargetRevision == 0
		},
		"RolloutProgressController": func(status *operatorv1.StaticPodOperatorStatus) bool {
			found := v1helpers.FindOperatorCondition(status.Conditions, "NodeInstallerProgressing")
			return found != nil && strings.HasSuffix(found.Message, "its kubelet is silent")
		},
	} {
		t.Run(controller, func(t *testing.T) {
			a := assemble(t, node)
			a.operator.status.NodeStatuses = []operatorv1.NodeStatus{{NodeName: "m0", CurrentRevision: 1, TargetRevision: 2}}
			a.operator.status.LatestAvailableRevision = 2
			a.run(t, controller, first[controller], func() {
				silent := node.DeepCopy()
				silent.Status.Conditions[0].Status = corev1.ConditionUnknown
				_, err := a.kube.CoreV1().Nodes().UpdateStatus(t.Context(), silent, metav1.UpdateOptions{})
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					_, status, _, err := a.operator.GetStaticPodOperatorState()
					return err == nil && reacts(status)
				}, time.Minute, 10*time.Millisecond)
			})
		})
	}
}

// client-go counts the duration of the lease from each process's own first look, so the standby that has waited for the
// longest time is not restarted before somebody renews the lease, or it is released.
func TestARolloutLeavesTheStandbyThatWaitsForTheLease(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *simulated)
		want    string
	}{
		"the leader renews the lease": {happens: func(*simulated) {}, want: "m0 2, m1 2, m2 2"},
		"the leader has ended, and nobody renews the lease": {
			happens: func(s *simulated) { s.leads = false; s.unknown("m0"); s.run(30 * time.Second) },
			want:    "m0 1, m1 1, m2 2",
		},
		"the operator was replaced, and has seen no renewal": {
			happens: func(s *simulated) {
				s.leads, s.lease = false, controlplane.Lease{}
				s.renew()
			},
			want: "m0 1, m1 1, m2 2",
		},
		"it was replaced, and the leader renews the lease": {
			happens: func(s *simulated) { s.lease = controlplane.Lease{} },
			want:    "m0 2, m1 2, m2 2",
		},
		"the lease was released": {
			happens: func(s *simulated) {
				s.leads = false
				released := s.lease.Record().Lease.DeepCopy()
				*released.Spec.HolderIdentity = ""
				s.lease.See(released, s.clock.Now())
			},
			want: "m0 2, m1 2, m2 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.run(10 * time.Second)
			s.start("m2", 1) // m1 runs for longer
			s.lead()
			s.run(time.Second)
			tc.happens(s)
			s.revision(2)
			s.run(3 * time.Minute)
			require.Equal(t, tc.want, s.revisions())
		})
	}
}

func TestNoNodeIsChosenWhileTheLeadMoves(t *testing.T) {
	for name, tc := range map[string]struct {
		phase corev1.PodPhase
		age   time.Duration
		want  []string
	}{
		"a move that has not started": {corev1.PodPending, 0, nil},
		"a move at work":              {corev1.PodRunning, 30 * time.Second, nil},
		"a move that has ended":       {corev1.PodSucceeded, 30 * time.Second, []string{"m1: 2"}},
		"a move that has failed":      {corev1.PodFailed, 30 * time.Second, []string{"m1: 2"}},
		"a move whose kubelet hangs":  {corev1.PodRunning, controlplane.MoveTimeout, []string{"m1: 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(time.Second)
			s.revision(2)
			s.move(t, tc.phase, tc.age)
			s.run(time.Second)
			require.Equal(t, tc.want, s.order)
		})
	}
}

// move adds the pod that takes the lead from m0.
func (s *simulated) move(t *testing.T, phase corev1.PodPhase, age time.Duration) {
	t.Helper()
	move := pod("handover-yield-m0", map[string]string{"app": "handover"})
	move.Spec.NodeName, move.Status.Phase = "m0", phase
	move.CreationTimestamp = metav1.Time{Time: s.clock.Now().Add(-age)}
	require.NoError(t, s.caches.Core().V1().Pods().Informer().GetStore().Add(move))
}
