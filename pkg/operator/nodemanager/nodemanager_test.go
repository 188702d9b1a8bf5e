package nodemanager

import (
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
)

const namespace = "openshift-cloud-controller-manager"

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func daemonSet(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "azure-cloud-node-manager", Generation: 2},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2},
	}
	d.Spec.Template.Annotations = map[string]string{"cloud-controller-manager.openshift.io/candidate": "new"}
	change(d)
	return d
}

// pod is one that has run for an hour.
func pod(node string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "azure-cloud-node-manager-" + node, Labels: operand.NodeManagerLabels(),
			Annotations:       map[string]string{"cloud-controller-manager.openshift.io/candidate": "new"},
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "cloud-node-manager", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	change(p)
	return p
}

func same[T any](*T) {}

// waiting makes a pod's container wait since the given time.
func waiting(reason string, since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(since)
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off 40s"}}
	}
}

// crashed makes a pod's container run again after a crash.
func crashed(times int32, last time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].RestartCount = times
		p.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(last)},
		}
	}
}

// recordedQueue remembers what was added with a delay.
type recordedQueue struct {
	workqueue.TypedRateLimitingInterface[any]
	after []time.Duration
}

func (q *recordedQueue) AddAfter(_ any, d time.Duration) { q.after = append(q.after, d) }

type syncContext struct {
	factory.SyncContext
	queue *recordedQueue
}

// Queue has the type that library-go still asks for.
func (s syncContext) Queue() workqueue.RateLimitingInterface { //nolint:staticcheck // The interface is not ours.
	return s.queue
}

type fixture struct {
	platform   string
	daemonSet  *appsv1.DaemonSet
	pods       []*corev1.Pod
	unsynced   bool
	conditions []operatorv1.OperatorCondition
	shortSince time.Time
}

// run returns the conditions after one sync as "<type>=<status> <reason>: <message>", and after what times it looks again.
func (f fixture) run(t *testing.T) (conditions []string, after []time.Duration) {
	t.Helper()
	kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	if f.daemonSet != nil {
		require.NoError(t, kube.Apps().V1().DaemonSets().Informer().GetStore().Add(f.daemonSet))
	}
	for _, p := range f.pods {
		require.NoError(t, kube.Core().V1().Pods().Informer().GetStore().Add(p))
	}
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"` + f.platform + `"}`)},
	}, &operatorv1.OperatorStatus{Conditions: f.conditions}, nil)
	clock := clocktesting.NewFakePassiveClock(now)
	c := &controller{
		operator: operator, daemonSets: kube.Apps().V1().DaemonSets().Lister(), pods: kube.Core().V1().Pods().Lister(),
		synced: func() bool { return !f.unsynced }, clock: clock, shortSince: f.shortSince,
	}
	queue := &recordedQueue{}
	require.NoError(t, c.sync(t.Context(), syncContext{factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock)), queue}))
	_, status, _, err := operator.GetOperatorState()
	require.NoError(t, err)
	for _, condition := range status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return conditions, queue.after
}

const (
	healthy     = "NodeManagerDegraded=False AsExpected: "
	settled     = "NodeManagerProgressing=False AsExpected: "
	rollingOut  = "NodeManagerProgressing=True RollingOut: daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager is being rolled out to the Linux nodes"
	doNotRun    = "NodeManagerDegraded=True NotRunning: The pods of daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager do not run on "
	consequence = ". Nodes that join the cluster stay uninitialized without it"
)

func TestConditions(t *testing.T) {
	progressing := []operatorv1.OperatorCondition{{Type: ProgressingCondition, Status: operatorv1.ConditionTrue}}
	for name, tc := range map[string]struct {
		fixture
		want  []string
		after []time.Duration
	}{
		"every node has one": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", same), pod("b", same)}},
			want:    []string{settled, healthy},
		},
		"there is no daemonset yet": {
			want: []string{"NodeManagerProgressing=True Missing: daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager does not exist yet; " +
				"conditions that are Degraded tell what holds it up", healthy},
		},
		"a change has not been seen by the daemonset controller": {
			fixture: fixture{daemonSet: daemonSet(func(d *appsv1.DaemonSet) { d.Generation = 3 })},
			want:    []string{rollingOut, healthy},
		},
		"a pod is of an earlier candidate": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{
				pod("a", same), pod("b", func(p *corev1.Pod) { p.Annotations = nil }),
			}},
			want: []string{rollingOut, healthy},
		},
		"the last pod of a rollout starts": {
			fixture: fixture{
				conditions: progressing, daemonSet: daemonSet(same),
				pods: []*corev1.Pod{pod("a", same), pod("b", waiting("ContainerCreating", now.Add(-time.Minute)))},
			},
			want:  []string{rollingOut, healthy},
			after: []time.Duration{4 * time.Minute},
		},
		"a rollout waits for its last pod to be made": {
			fixture: fixture{
				conditions: progressing, daemonSet: daemonSet(func(d *appsv1.DaemonSet) { d.Status.CurrentNumberScheduled = 1 }),
				pods: []*corev1.Pod{pod("a", same)},
			},
			want:  []string{rollingOut, healthy},
			after: []time.Duration{5 * time.Minute},
		},
		"a pod on a node that joins is no rollout": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", same), pod("b", waiting("ContainerCreating", now))}},
			want:    []string{settled, healthy},
			after:   []time.Duration{5 * time.Minute},
		},
		"an image cannot be pulled for a while": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", waiting("ImagePullBackOff", now.Add(-4*time.Minute)))}},
			want:    []string{settled, healthy},
			after:   []time.Duration{time.Minute},
		},
		"an image cannot be pulled": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", waiting("ImagePullBackOff", now.Add(-5*time.Minute)))}},
			want:    []string{settled, doNotRun + "node/a (ImagePullBackOff); check that the nodes reach the registry of the image" + consequence},
		},
		"one crashes and happens to run": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(3, now.Add(-time.Minute)))}},
			want:    []string{settled, doNotRun + "node/b (crashes with exit code 1); look at the log of the container cloud-node-manager" + consequence},
			after:   []time.Duration{9 * time.Minute},
		},
		"one crashed when its node started": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(2, now.Add(-time.Minute)))}},
			want:    []string{settled, healthy},
		},
		"one crashed some time ago": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(30, now.Add(-10*time.Minute)))}},
			want:    []string{settled, healthy},
		},
		"a node is away": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })}},
			want:    []string{settled, healthy},
		},
		"a pod on its way out is not asked": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				waiting("ImagePullBackOff", now.Add(-time.Hour))(p)
				p.DeletionTimestamp, p.Annotations = &metav1.Time{Time: now}, nil
			})}},
			want: []string{settled, healthy},
		},
		"a pod has no place": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("", func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodPending}
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{"c"}}}}},
				}}}
			})}},
			want: []string{settled, doNotRun + "node/c (Pending); look at the events of the pods" + consequence},
		},
		"a node throws its pod out": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}
			})}},
			want: []string{settled, doNotRun + "node/a (OutOfcpu); look at the events of the pods" + consequence},
		},
		"many nodes have many reasons": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{
				pod("7", waiting("CreateContainerConfigError", now.Add(-time.Hour))), pod("1", waiting("ErrImagePull", now.Add(-time.Hour))),
				pod("2", waiting("CrashLoopBackOff", now.Add(-time.Hour))), pod("3", waiting("ErrImagePull", now.Add(-time.Hour))),
				pod("4", waiting("ErrImagePull", now.Add(-time.Hour))), pod("5", waiting("ErrImagePull", now.Add(-time.Hour))),
				pod("6", waiting("ErrImagePull", now.Add(-time.Hour))),
			}},
			want: []string{settled, doNotRun + "node/1 (ErrImagePull), node/2 (CrashLoopBackOff), node/3 (ErrImagePull), node/4 (ErrImagePull), node/5 (ErrImagePull) " +
				"and 2 more; check that the nodes reach the registry of the image and look at the events of the pods and " +
				"look at the log of the container cloud-node-manager" + consequence},
		},
		"pods cannot be made": {
			fixture: fixture{
				daemonSet:  daemonSet(func(d *appsv1.DaemonSet) { d.Status.CurrentNumberScheduled = 0 }),
				shortSince: now.Add(-5 * time.Minute),
			},
			want: []string{settled, "NodeManagerDegraded=True NotRunning: 2 nodes have no pod of daemonset/azure-cloud-node-manager in " +
				"openshift-cloud-controller-manager; look at its events for why none can be made" + consequence},
		},
		"pods of others are not asked": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				waiting("ImagePullBackOff", now.Add(-time.Hour))(p)
				p.Labels = map[string]string{"app": "cloud-controller-manager"}
			})}},
			want: []string{settled, healthy},
		},
		"the watch has only just begun": {
			fixture: fixture{unsynced: true},
			after:   []time.Duration{5 * time.Second},
		},
		"a platform without one":        {fixture: fixture{platform: "openstack", daemonSet: daemonSet(same)}},
		"a platform that runs nothing":  {fixture: fixture{platform: "none"}},
		"a platform that is not chosen": {fixture: fixture{platform: " "}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.fixture
			switch f.platform {
			case "":
				f.platform = "azure"
			case " ":
				f.platform = ""
			}
			got, after := f.run(t)
			require.ElementsMatch(t, tc.want, got)
			require.Equal(t, tc.after, after)
		})
	}
}

func TestOnlyItsOwnPodsWakeIt(t *testing.T) {
	require.True(t, isNodeManager(pod("a", same)))
	require.False(t, isNodeManager(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "installer"}}}))
	require.False(t, isNodeManager("something else"))
}
