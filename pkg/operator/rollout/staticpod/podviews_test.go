package staticpod

import (
	"slices"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/staticpodstate"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// staticPod is a mirror pod with the operand's container of this ID.
func staticPod(id string, ready bool) *corev1.Pod {
	p := pod("cloud-controller-manager-master-0", map[string]string{"app": "cloud-controller-manager", "revision": "1"})
	p.Spec.NodeName = "master-0"
	status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]
	p.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}},
		ContainerStatuses: []corev1.ContainerStatus{
			{Name: "file-syncer", Ready: true}, {Name: "cloud-controller-manager", ContainerID: id, Ready: ready},
		},
	}
	return p
}

func TestAStaticPodIsReadyAfterItHasStayedReady(t *testing.T) {
	for name, tc := range map[string]struct {
		// seen are the pod's states, one per second.
		seen []*corev1.Pod
		want []bool
		left time.Duration
		// elsewhere says that this node is not being installed.
		elsewhere bool
	}{
		"its node is not being installed": {
			seen: repeated(staticPod("1", true), 1), want: []bool{true}, left: 5 * time.Second, elsewhere: true,
		},
		"it stays Ready": {
			seen: repeated(staticPod("1", true), 6), want: []bool{false, false, false, false, false, true},
		},
		"it stays Ready, and the operand's container is the first of it": {
			seen: repeated(operandFirst(staticPod("1", true)), 6), want: []bool{false, false, false, false, false, true},
		},
		"it has just become Ready": {
			seen: repeated(staticPod("1", true), 2), want: []bool{false, false}, left: 4 * time.Second,
		},
		"its container is another one after two seconds": {
			seen: append(repeated(staticPod("1", true), 2), repeated(staticPod("2", true), 6)...),
			want: []bool{false, false, false, false, false, false, false, true},
		},
		"it is not Ready for a second": {
			seen: append(append(repeated(staticPod("1", true), 6), staticPod("1", false)), staticPod("1", true)),
			want: []bool{false, false, false, false, false, true, false, false}, left: 5 * time.Second,
		},
		"it is not Ready": {seen: repeated(staticPod("1", false), 7), want: make([]bool, 7)},
		"the kubelet reports no container": {
			seen: []*corev1.Pod{
				pod("cloud-controller-manager-master-0", map[string]string{"app": "cloud-controller-manager"}),
			}, want: []bool{false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
			operator := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{
				NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", TargetRevision: map[bool]int32{false: 4}[tc.elsewhere]}},
			}, nil, nil)
			pods := &settling{Deps: dependencies.Deps{Clock: clock, Operator: operator}, ready: patience.Each[string, string]{}}
			for second, seen := range tc.seen {
				if second > 0 {
					clock.SetTime(clock.Now().Add(time.Second))
				}
				got, err := pods.view(seen)
				require.NoError(t, err)
				ready := len(got.Status.Conditions) == 1 && got.Status.Conditions[0].Status == corev1.ConditionTrue
				require.Equal(t, tc.want[second], ready, "second %d", second)
			}
			require.Equal(t, tc.left, pods.remaining())
		})
	}
}

func repeated(p *corev1.Pod, times int) []*corev1.Pod {
	var all []*corev1.Pod
	for range times {
		all = append(all, p)
	}
	return all
}

// operandFirst reverses the containers: the kubelet sorts them by name.
func operandFirst(p *corev1.Pod) *corev1.Pod {
	slices.Reverse(p.Status.ContainerStatuses)
	return p
}

func TestARolloutAsPlannedIsNoFailureOfStaticPods(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "lost the lease"}}
	creating := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	crashing := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
	for name, tc := range map[string]struct {
		state    corev1.ContainerState
		revision string
		target   int32
		age      time.Duration
		degraded operatorv1.ConditionStatus
	}{
		"the former pod ends for the next revision":      {ended, "1", 2, time.Hour, operatorv1.ConditionFalse},
		"the former pod crashes before it is replaced":   {crashing, "1", 2, time.Hour, operatorv1.ConditionTrue},
		"the next pod is created":                        {creating, "2", 2, 29 * time.Second, operatorv1.ConditionFalse},
		"the next pod is created for half a minute":      {creating, "2", 2, 30 * time.Second, operatorv1.ConditionTrue},
		"the operator's clock is a little behind":        {creating, "2", 2, -time.Second, operatorv1.ConditionFalse},
		"the operator's clock is an hour behind":         {creating, "2", 2, -time.Hour, operatorv1.ConditionTrue},
		"the next pod crashes":                           {crashing, "2", 2, time.Second, operatorv1.ConditionTrue},
		"the next pod ends":                              {ended, "2", 2, time.Second, operatorv1.ConditionTrue},
		"a pod ends that nothing replaces":               {ended, "1", 0, time.Hour, operatorv1.ConditionTrue},
		"a pod is created again that nothing replaces":   {creating, "1", 0, time.Second, operatorv1.ConditionTrue},
		"the same revision is installed again and fails": {crashing, "1", 1, time.Hour, operatorv1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.degraded, staticPodsDegraded(t, now, nil,
				rolledPod{tc.state, tc.revision, tc.target, now.Add(-tc.age)}))
		})
	}
}

func TestAMoveOfTheLeadIsNoFailureOfStaticPods(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(now.Add(time.Duration(seconds) * time.Second)) }
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", Message: "an unrelated line", FinishedAt: at(-10),
	}}
	creating := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	moved := func(node string, from, to int) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "openshift-cloud-controller-manager", Name: "handover-leave-master-0", Labels: map[string]string{"app": "handover"},
			},
			Spec: corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{StartedAt: at(from), FinishedAt: at(to)},
			}}}},
		}
	}
	for name, tc := range map[string]struct {
		state    corev1.ContainerState
		move     *corev1.Pod
		degraded operatorv1.ConditionStatus
	}{
		"its container ended while the lead moved":          {ended, moved("master-0", -20, -5), operatorv1.ConditionFalse},
		"its container ended before the lead moved":         {ended, moved("master-0", -9, -5), operatorv1.ConditionTrue},
		"the lead moved on another node":                    {ended, moved("master-1", -20, -5), operatorv1.ConditionTrue},
		"its container is created after the lead has moved": {creating, moved("master-0", -20, -5), operatorv1.ConditionFalse},
		"nothing moved": {ended, nil, operatorv1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.degraded, staticPodsDegraded(t, now, tc.move,
				rolledPod{tc.state, "1", 0, now.Add(-5 * time.Second)}))
		})
	}
}

// rolledPod is the static pod of a node with a target revision.
type rolledPod struct {
	state    corev1.ContainerState
	revision string
	target   int32
	created  time.Time
}

// staticPodsDegraded returns what library-go's static-pod-state controller reports during a rollout, and a move of the
// lead if there is one. It sees the static pod as it is if there is no time.
func staticPodsDegraded(t *testing.T, now time.Time, move *corev1.Pod, r rolledPod) operatorv1.ConditionStatus {
	t.Helper()
	pod := staticPod("1", false)
	pod.Labels["revision"], pod.CreationTimestamp = r.revision, metav1.NewTime(r.created)
	pod.Spec.Containers = []corev1.Container{{Name: "cloud-controller-manager", Image: "a"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "cloud-controller-manager", State: r.state}}
	kube, cached := fake.NewClientset(), []*corev1.Pod{pod}
	if move != nil {
		cached = append(cached, move)
	}
	caches := informers.NewSharedInformerFactory(kube, 0)
	for _, p := range cached {
		require.NoError(t, caches.Core().V1().Pods().Informer().GetStore().Add(p))
	}
	operator := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{
		NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1, TargetRevision: r.target}},
	}, nil, nil)
	deps := controllertest.Complete(t, dependencies.Deps{
		Kube: kube, Target: caches, Operator: operator, Clock: clocktesting.NewFakePassiveClock(now),
	})
	pods := nodePodsOf(options{Deps: deps}, nil)
	if !now.IsZero() {
		pods = pods.seenAs(rolling{deps}.view)
	}
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	controller := staticpodstate.NewStaticPodStateController("a", target, "cloud-controller-manager",
		"cloud-controller-manager", informers.NewSharedInformerFactory(kube, 0), operator, pods,
		status.NewVersionGetter(), recorder)
	require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
	_, got, _, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	return v1helpers.FindOperatorCondition(got.Conditions, condition.StaticPodsDegradedConditionType).Status
}
