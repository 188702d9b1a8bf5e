package staticpod

import (
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
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

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
			require.Equal(t, tc.degraded, staticPodsDegraded(t, rollout{tc.state, tc.revision, tc.target, now.Add(-tc.age)},
				func(pods corev1client.PodsGetter, operator v1helpers.StaticPodOperatorClient) corev1client.PodsGetter {
					return rollingPods{PodsGetter: pods, clock: clocktesting.NewFakePassiveClock(now), target: targetOf(operator),
						moves: informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Pods().Lister()}
				}))
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
			target := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			if tc.move != nil {
				require.NoError(t, target.Core().V1().Pods().Informer().GetStore().Add(tc.move))
			}
			require.Equal(t, tc.degraded, staticPodsDegraded(t, rollout{tc.state, "1", 0, now.Add(-5 * time.Second)},
				func(pods corev1client.PodsGetter, operator v1helpers.StaticPodOperatorClient) corev1client.PodsGetter {
					return rollingPods{PodsGetter: pods, clock: clocktesting.NewFakePassiveClock(now), target: targetOf(operator),
						moves: target.Core().V1().Pods().Lister()}
				}))
		})
	}
}

// rollout is the static pod of a node with a target revision.
type rollout struct {
	state    corev1.ContainerState
	revision string
	target   int32
	created  time.Time
}

// staticPodsDegraded returns what library-go's static-pod-state controller reports with these pods.
func staticPodsDegraded(
	t *testing.T, r rollout, pods func(corev1client.PodsGetter, v1helpers.StaticPodOperatorClient) corev1client.PodsGetter,
) operatorv1.ConditionStatus {
	t.Helper()
	pod := staticPod("1", false)
	pod.Labels["revision"], pod.CreationTimestamp = r.revision, metav1.NewTime(r.created)
	pod.Spec.Containers = []corev1.Container{{Name: "cloud-controller-manager", Image: "a"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "cloud-controller-manager", State: r.state}}
	kube := fake.NewClientset(pod)
	operator := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{}, &operatorv1.StaticPodOperatorStatus{
		NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1, TargetRevision: r.target}},
	}, nil, nil)
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	controller := staticpodstate.NewStaticPodStateController("a", target, "cloud-controller-manager",
		"cloud-controller-manager", informers.NewSharedInformerFactory(kube, 0), operator, pods(kube.CoreV1(), operator),
		status.NewVersionGetter(), recorder)
	require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
	_, got, _, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	return v1helpers.FindOperatorCondition(got.Conditions, condition.StaticPodsDegradedConditionType).Status
}
