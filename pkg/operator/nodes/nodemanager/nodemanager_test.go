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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

const namespace = "openshift-cloud-controller-manager"

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func daemonSet(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "azure-cloud-node-manager", Generation: 2},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2,
		},
	}
	d.Spec.Template.Annotations = map[string]string{"cloud-controller-manager.openshift.io/candidate": "new"}
	change(d)
	return d
}

// pod returns a pod that has been running for an hour.
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

// waiting makes the container of a pod wait since the pod's creation at the given time.
func waiting(reason string, since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(since)
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
			Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(last.Add(-time.Second)), FinishedAt: metav1.NewTime(last),
			},
		}
	}
}

// recordedQueue records the delays that are added to it.
type recordedQueue struct {
	workqueue.TypedRateLimitingInterface[any]
	after []time.Duration
}

func (q *recordedQueue) AddAfter(_ any, d time.Duration) { q.after = append(q.after, d) }

type syncContext struct {
	factory.SyncContext
	queue *recordedQueue
}

// Queue implements factory.SyncContext. library-go still requires the deprecated type.
func (s syncContext) Queue() workqueue.RateLimitingInterface { //nolint:staticcheck // The interface is not ours.
	return s.queue
}

// node returns a node that has been Ready for a day.
func node(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour))},
		}},
	}
	change(n)
	return n
}

// ready changes the condition Ready of a node.
func ready(status corev1.ConditionStatus, since time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = status, metav1.NewTime(since)
	}
}

// unavailable returns a DaemonSet with the given numbers of unavailable and desired pods.
func unavailable(pods, all int32) *appsv1.DaemonSet {
	return daemonSet(func(d *appsv1.DaemonSet) {
		d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled = all, all, all
		d.Status.NumberUnavailable = pods
	})
}

type fixture struct {
	platform   string
	daemonSet  *appsv1.DaemonSet
	pods       []*corev1.Pod
	nodes      []*corev1.Node
	unsynced   bool
	conditions []operatorv1.OperatorCondition
	shortSince time.Time
}

// world is a cluster and its controller.
type world struct {
	*controller
	kube     *fake.Clientset
	store    cache.Store
	operator v1helpers.OperatorClient
	clock    *clocktesting.FakePassiveClock
}

func (f fixture) start(t *testing.T) *world {
	t.Helper()
	w := &world{kube: fake.NewClientset(), clock: clocktesting.NewFakePassiveClock(now)}
	shared := informers.NewSharedInformerFactory(w.kube, 0)
	w.store = shared.Apps().V1().DaemonSets().Informer().GetStore()
	w.operator = v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"` + f.platform + `"}`)},
	}, &operatorv1.OperatorStatus{Conditions: f.conditions}, nil)
	w.controller = newController(dependencies.Deps{
		Operator: controllertest.StaticPods(w.operator), Kube: w.kube, Clock: w.clock,
	}, shared.Apps().V1().DaemonSets())
	w.synced = func() bool { return !f.unsynced }
	w.short.See(true, f.shortSince)
	w.set(t, f.daemonSet, f.pods, f.nodes)
	return w
}

// set replaces the cluster's objects.
func (w *world) set(t *testing.T, daemonSet *appsv1.DaemonSet, pods []*corev1.Pod, nodes []*corev1.Node) {
	t.Helper()
	var stored []any
	if daemonSet != nil {
		stored = append(stored, daemonSet)
	}
	require.NoError(t, w.store.Replace(stored, ""))
	tracker := w.kube.Tracker()
	for _, old := range w.list(t) {
		require.NoError(t, tracker.Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, old.Name))
	}
	for _, p := range pods {
		p = p.DeepCopy()
		p.UID = types.UID(p.Name)
		require.NoError(t, tracker.Add(p))
	}
	for _, n := range nodes {
		if err := tracker.Add(n); apierrors.IsAlreadyExists(err) {
			require.NoError(t, tracker.Update(corev1.SchemeGroupVersion.WithResource("nodes"), n, ""))
		}
	}
	w.kube.ClearActions()
}

func (w *world) list(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := w.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// sync runs one sync. It returns the conditions as "<type>=<status> <reason>: <message>", and the requested delays.
func (w *world) sync(t *testing.T) (conditions []string, after []time.Duration) {
	t.Helper()
	queue := &recordedQueue{}
	require.NoError(t, w.controller.sync(t.Context(), syncContext{factory.NewSyncContext("test", events.NewInMemoryRecorder("test", w.clock)), queue}))
	_, status, _, err := w.operator.GetOperatorState()
	require.NoError(t, err)
	for _, condition := range status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return conditions, queue.after
}

// lists returns the number of lists of Pods.
func (w *world) lists() int {
	lists := 0
	for _, action := range w.kube.Actions() {
		if action.Matches("list", "pods") {
			lists++
		}
	}
	return lists
}

const (
	prefix      = "daemonset/azure-cloud-node-manager in openshift-cloud-controller-manager "
	healthy     = "NodeManagerDegraded=False AsExpected: "
	noNotices   = "NodeManagerNotices=False AsExpected: "
	settled     = "NodeManagerProgressing=False AsExpected: "
	rollingOut  = "NodeManagerProgressing=True RollingOut: " + prefix + "is being rolled out to the Linux nodes"
	degraded    = "NodeManagerDegraded=True NotRunning: " + prefix + "fails on "
	withNotices = "NodeManagerNotices=True NotRunning: " + prefix + "fails on "
	effect      = ", which stay uninitialized if they join now; "
)

func TestConditions(t *testing.T) {
	progressing := []operatorv1.OperatorCondition{{Type: ProgressingCondition, Status: operatorv1.ConditionTrue}}
	hour := now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		fixture
		want  []string
		after []time.Duration
	}{
		"every node has one": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("a", same), pod("b", same)}},
			want:    []string{settled, healthy, noNotices},
		},
		"there is no daemonset yet": {
			want: []string{"NodeManagerProgressing=True Missing: " + prefix + "does not exist yet; check the Degraded conditions for the cause", healthy, noNotices},
		},
		"the daemonset controller has not seen a change": {
			fixture: fixture{daemonSet: daemonSet(func(d *appsv1.DaemonSet) { d.Generation = 3 })},
			want:    []string{rollingOut, healthy, noNotices},
		},
		"a pod is of an earlier candidate": {
			fixture: fixture{daemonSet: daemonSet(func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 1 }), pods: []*corev1.Pod{
				pod("a", same), pod("b", func(p *corev1.Pod) { p.Annotations = nil }),
			}},
			want:  []string{rollingOut, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"the last pod of a rollout starts": {
			fixture: fixture{
				conditions: progressing, daemonSet: unavailable(1, 2),
				pods: []*corev1.Pod{pod("a", same), pod("b", waiting("ContainerCreating", now.Add(-time.Minute)))},
			},
			want:  []string{rollingOut, healthy, noNotices},
			after: []time.Duration{4 * time.Minute},
		},
		"a rollout waits for its last pod to be created": {
			fixture: fixture{
				conditions: progressing, daemonSet: daemonSet(func(d *appsv1.DaemonSet) { d.Status.CurrentNumberScheduled = 1 }),
				pods: []*corev1.Pod{pod("a", same)},
			},
			want:  []string{rollingOut, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"a rollout names the node that it waits for": {
			fixture: fixture{
				conditions: progressing, daemonSet: daemonSet(func(d *appsv1.DaemonSet) {
					d.Status.UpdatedNumberScheduled, d.Status.NumberUnavailable, d.Status.DesiredNumberScheduled = 1, 1, 20
					d.Status.CurrentNumberScheduled = 20
				}),
				pods:  []*corev1.Pod{pod("a", waiting("ErrImagePull", hour)), pod("b", func(p *corev1.Pod) { p.Annotations = nil })},
				nodes: []*corev1.Node{node("a", same)},
			},
			want: []string{
				rollingOut + "; it may be waiting for node/a (ErrImagePull)", healthy,
				withNotices + "1 of 20 nodes" + effect + "it does not run on node/a (ErrImagePull): check that the nodes can reach the image registry",
			},
			after: []time.Duration{5 * time.Minute},
		},
		"a pod on a node that joins is no rollout": {
			fixture: fixture{daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", same), pod("b", waiting("ContainerCreating", now))}},
			want:    []string{settled, healthy, noNotices},
			after:   []time.Duration{5 * time.Minute},
		},
		"an image cannot be pulled for a while": {
			fixture: fixture{daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ImagePullBackOff", now.Add(-4*time.Minute)))}},
			want:    []string{settled, healthy, noNotices},
			after:   []time.Duration{time.Minute},
		},
		"one node of a few cannot pull the image": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ImagePullBackOff", now.Add(-5*time.Minute)))},
				nodes: []*corev1.Node{node("a", same)},
			},
			want: []string{settled, healthy, withNotices + "1 of 2 nodes" + effect +
				"it does not run on node/a (ImagePullBackOff): check that the nodes can reach the image registry"},
			after: []time.Duration{5 * time.Minute},
		},
		"the only node cannot pull the image": {
			fixture: fixture{
				daemonSet: unavailable(1, 1), pods: []*corev1.Pod{pod("a", waiting("ImagePullBackOff", hour))}, nodes: []*corev1.Node{node("a", same)},
			},
			want: []string{settled, noNotices, degraded + "1 of 1 nodes" + effect +
				"it does not run on node/a (ImagePullBackOff): check that the nodes can reach the image registry"},
			after: []time.Duration{5 * time.Minute},
		},
		"a tenth of the nodes cannot pull the image": {
			fixture: fixture{
				daemonSet: unavailable(2, 20), pods: []*corev1.Pod{pod("a", waiting("ErrImagePull", hour)), pod("b", waiting("ErrImagePull", hour))},
				nodes: []*corev1.Node{node("a", same), node("b", same)},
			},
			want: []string{settled, noNotices, degraded + "2 of 20 nodes" + effect +
				"it does not run on node/a (ErrImagePull), node/b (ErrImagePull): check that the nodes can reach the image registry"},
			after: []time.Duration{5 * time.Minute},
		},
		"less than a tenth of the nodes cannot pull the image": {
			fixture: fixture{
				daemonSet: unavailable(2, 21), pods: []*corev1.Pod{pod("a", waiting("ErrImagePull", hour)), pod("b", waiting("ErrImagePull", hour))},
				nodes: []*corev1.Node{node("a", same), node("b", same)},
			},
			want: []string{settled, healthy, withNotices + "2 of 21 nodes" + effect +
				"it does not run on node/a (ErrImagePull), node/b (ErrImagePull): check that the nodes can reach the image registry"},
			after: []time.Duration{5 * time.Minute},
		},
		"one crashes and happens to run": {
			fixture: fixture{
				daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(3, now.Add(-7*time.Minute)))}, nodes: []*corev1.Node{node("b", same)},
			},
			want: []string{settled, healthy, withNotices + "1 of 2 nodes" + effect +
				"it does not run on node/b (crashes with exit code 1): read the log of the container cloud-node-manager"},
			after: []time.Duration{3 * time.Minute},
		},
		"one crashed when its node started": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(2, now.Add(-time.Minute)))}},
			want:    []string{settled, healthy, noNotices},
		},
		"one crashed some time ago": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(30, now.Add(-10*time.Minute)))}},
			want:    []string{settled, healthy, noNotices},
		},
		"one crashed once more after a month": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", func(p *corev1.Pod) {
				crashed(3, now.Add(-time.Minute))(p)
				p.Status.ContainerStatuses[0].LastTerminationState.Terminated.StartedAt = metav1.NewTime(now.Add(-720 * time.Hour))
			})}},
			want: []string{settled, healthy, noNotices},
		},
		"a node reboots again": {
			fixture: fixture{daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", func(p *corev1.Pod) {
				crashed(3, now.Add(-time.Minute))(p)
				p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
			})}},
			want: []string{settled, healthy, noNotices},
		},
		"one crashed with its node": {
			fixture: fixture{
				daemonSet: daemonSet(same), pods: []*corev1.Pod{pod("b", crashed(3, now.Add(-2*time.Minute)))},
				nodes: []*corev1.Node{node("b", ready(corev1.ConditionTrue, now.Add(-time.Minute)))},
			},
			want: []string{settled, healthy, noNotices},
		},
		"a node is away": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })},
			},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"a node went away while it pulled the image": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ContainerCreating", hour))},
				nodes: []*corev1.Node{node("a", ready(corev1.ConditionUnknown, hour))},
			},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"a node whose runtime fails is not the node manager's failure": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ContainerCreating", hour))},
				nodes: []*corev1.Node{node("a", ready(corev1.ConditionFalse, hour))},
			},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"a node that joins has no network without it": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ErrImagePull", hour))},
				nodes: []*corev1.Node{node("a", func(n *corev1.Node) {
					ready(corev1.ConditionFalse, hour)(n)
					n.Spec.Taints = []corev1.Taint{{Key: controlplane.UninitializedTaint}}
				})},
			},
			want: []string{settled, healthy, withNotices + "1 of 2 nodes" + effect +
				"it does not run on node/a (ErrImagePull): check that the nodes can reach the image registry"},
			after: []time.Duration{5 * time.Minute},
		},
		"a node was deleted before its pod": {
			fixture: fixture{daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", waiting("ContainerCreating", hour))}},
			want:    []string{settled, healthy, noNotices},
			after:   []time.Duration{5 * time.Minute},
		},
		"a pod that is being deleted is not asked": {
			fixture: fixture{daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				waiting("ImagePullBackOff", hour)(p)
				p.DeletionTimestamp, p.Annotations = &metav1.Time{Time: now}, nil
			})}},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"a pod has no place": {
			fixture: fixture{
				daemonSet: unavailable(1, 2), nodes: []*corev1.Node{node("c", same)},
				pods: []*corev1.Pod{pod("", func(p *corev1.Pod) {
					p.Status = corev1.PodStatus{Phase: corev1.PodPending}
					p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{"c"}}}}},
					}}}
				})},
			},
			want:  []string{settled, healthy, withNotices + "1 of 2 nodes" + effect + "it does not run on node/c (Pending): read the events of the pods"},
			after: []time.Duration{5 * time.Minute},
		},
		"a node throws its pod out": {
			fixture: fixture{daemonSet: unavailable(1, 2), nodes: []*corev1.Node{node("a", same)}, pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}
			})}},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
		},
		"many nodes have many reasons": {
			fixture: fixture{daemonSet: unavailable(7, 8), pods: []*corev1.Pod{
				pod("7", waiting("CreateContainerConfigError", hour)), pod("1", waiting("ErrImagePull", hour)),
				pod("2", waiting("CrashLoopBackOff", hour)), pod("3", waiting("ErrImagePull", hour)),
				pod("4", waiting("ErrImagePull", hour)), pod("5", waiting("ErrImagePull", hour)),
				pod("6", waiting("ErrImagePull", hour)),
			}, nodes: []*corev1.Node{
				node("1", same), node("2", same), node("3", same), node("4", same), node("5", same), node("6", same), node("7", same),
			}},
			want: []string{settled, noNotices, degraded + "7 of 8 nodes" + effect +
				"it does not run on node/1 (ErrImagePull), node/2 (CrashLoopBackOff), node/3 (ErrImagePull), node/4 (ErrImagePull), node/5 (ErrImagePull) " +
				"and 2 more: check that the nodes can reach the image registry, read the events of the pods, " +
				"read the log of the container cloud-node-manager"},
			after: []time.Duration{5 * time.Minute},
		},
		"pods cannot be created": {
			fixture: fixture{
				daemonSet: daemonSet(func(d *appsv1.DaemonSet) {
					d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled = 0, 0
				}),
				shortSince: now.Add(-5 * time.Minute),
			},
			want: []string{settled, noNotices, degraded + "2 of 2 nodes" + effect + "2 nodes have no pod: read the events of the DaemonSet"},
		},
		"the numbers of an earlier generation say nothing about pods that are missing": {
			fixture: fixture{
				daemonSet: daemonSet(func(d *appsv1.DaemonSet) {
					d.Status.ObservedGeneration = 1
					d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled = 0, 0
				}),
				shortSince: now.Add(-5 * time.Minute),
			},
			want: []string{rollingOut, healthy, noNotices},
		},
		"pods of others are not asked": {
			fixture: fixture{daemonSet: unavailable(1, 2), pods: []*corev1.Pod{pod("a", func(p *corev1.Pod) {
				waiting("ImagePullBackOff", hour)(p)
				p.Labels = map[string]string{"app": "cloud-controller-manager"}
			})}},
			want:  []string{settled, healthy, noNotices},
			after: []time.Duration{5 * time.Minute},
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
			got, after := f.start(t).sync(t)
			require.ElementsMatch(t, tc.want, got)
			require.Equal(t, tc.after, after)
		})
	}
}
