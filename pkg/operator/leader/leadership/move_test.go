package leadership

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const namespace = "openshift-cloud-controller-manager"

// world is a simulated control plane of m0, which leads, m1 and m2, and the controller.
type world struct {
	*controlplanetest.Cluster
	*controller
	kube           *fake.Clientset
	t              *testing.T
	caches         informers.SharedInformerFactory
	clock          *clocktesting.FakePassiveClock
	recorder       events.InMemoryRecorder
	operator       v1helpers.StaticPodOperatorClient
	nodeController *controlplane.NodeController
	// replaced counts the deaf leaders that were replaced.
	replaced int
}

func newWorld(t *testing.T, nodes ...string) *world {
	t.Helper()
	w := &world{t: t, Cluster: controlplanetest.New(nodes...), kube: fake.NewClientset(),
		clock: clocktesting.NewFakePassiveClock(controlplanetest.Begin)}
	w.recorder = events.NewInMemoryRecorder("test", w.clock)
	w.caches = informers.NewSharedInformerFactory(w.kube, 0)
	for _, node := range nodes {
		w.setReady(node, corev1.ConditionTrue)
		w.Pods[node].Spec.Containers = []corev1.Container{{Name: "file-syncer"}, {
			Name: "cloud-controller-manager", LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(10258)},
			}},
		}}
	}
	w.kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.CreationTimestamp, pod.UID = metav1.NewTime(w.clock.Now()), types.UID(pod.Name)
		return false, nil, nil
	})
	w.restartOperator()
	// The holder is seen to write the lease.
	w.Acquire(nodes[0], "first", -100)
	w.see(-26)
	w.Renew(0)
	w.see(0)
	return w
}

// restartOperator begins another process of the operator.
func (w *world) restartOperator() {
	w.operator = v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(
			`{"platform": "openstack", "apiServerInternalURI": "https://api-int.example.com:6443"}`)}},
	}, w.Status, nil, nil)
	w.nodeController = &controlplane.NodeController{}
	w.controller = &controller{Deps: controllertest.Complete(w.t, dependencies.Deps{
		Operator: w.operator, Lease: &w.Seen, Kube: w.kube, Target: w.caches,
		Infrastructures: controlplanetest.Infrastructures(w.Topology), Clock: w.clock, Recorder: w.recorder,
	}), Options: Options{OperatorImage: "operator", NodeController: w.nodeController, Replaced: func() { w.replaced++ }}}
}

func (w *world) setReady(node string, ready corev1.ConditionStatus) {
	w.Nodes[node] = w.Nodes[node].DeepCopy()
	w.Nodes[node].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
}

func (w *world) cordon(node string, cordoned bool) {
	w.Nodes[node] = w.Nodes[node].DeepCopy()
	w.Nodes[node].Spec.Unschedulable = cordoned
}

// see makes the operator see the lease and its holder.
func (w *world) see(second int) {
	view := w.View(second)
	w.Seen.ObserveHolder(view, view.Record().Observed)
}

// run puts the cluster into the caches and calls the controller at the second, and then as often as it asks for it.
func (w *world) run(t *testing.T, second int, duration time.Duration) []time.Duration {
	t.Helper()
	w.fill(t, second)
	calls, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(), w.sync, duration)
	require.NoError(t, err)
	return calls
}

// fill puts the cluster into the caches at the second.
func (w *world) fill(t *testing.T, second int) {
	t.Helper()
	w.clock.SetTime(controlplanetest.At(second))
	var nodes, pods []any
	for _, node := range w.Nodes {
		nodes = append(nodes, node)
	}
	for _, pod := range w.Pods {
		pods = append(pods, pod)
	}
	for _, pod := range w.moves(t) {
		pods = append(pods, pod)
	}
	require.NoError(t, w.caches.Core().V1().Nodes().Informer().GetStore().Replace(nodes, ""))
	require.NoError(t, w.caches.Core().V1().Pods().Informer().GetStore().Replace(pods, ""))
}

// moves returns the pods that the controller created, by name.
func (w *world) moves(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	list, err := w.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	found := map[string]*corev1.Pod{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	return found
}

func (w *world) messages() []string {
	var found []string
	for _, event := range w.recorder.Events() {
		found = append(found, event.Reason+": "+event.Message)
	}
	return found
}

func TestTheLeadLeavesACordonedNode(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.run(t, 1, 20*time.Second)
	require.Empty(t, w.moves(t))
	w.cordon("m0", true)
	require.Equal(t, []time.Duration{0, 10 * time.Second}, w.run(t, 2, 20*time.Second))
	moves := w.moves(t)
	require.Equal(t, []string{"handover-leave-m0", "handover-take-m0"}, slices.Sorted(maps.Keys(moves)))
	for name, want := range map[string]struct {
		node string
		args []string
	}{
		"handover-leave-m0": {"m0", []string{"--holder=m0_first", "--limit=15s", "--successor=m1", "--port=10258"}},
		"handover-take-m0":  {"m1", []string{"--holder=m0_first", "--limit=20s"}},
	} {
		pod := moves[name]
		require.Equal(t, want.node, pod.Spec.NodeName)
		require.Equal(t, "handover", pod.Labels["app"])
		require.Equal(t, int64(90), *pod.Spec.TerminationGracePeriodSeconds)
		container := pod.Spec.Containers[0]
		require.Equal(t, "operator", container.Image)
		require.Equal(t, []string{"/usr/bin/cluster-cloud-controller-manager-operator", "handover"}, container.Command)
		require.Equal(t, append([]string{
			"-v=2", "--resource-dir=/etc/kubernetes/static-pod-resources", "--pod-manifest-dir=/etc/kubernetes/manifests",
		}, want.args...), container.Args)
	}
	require.Equal(t, []string{"LeadMoves: node/m0 is cordoned: its cloud-controller-manager hands the lead over to the " +
		"one on node/m1"}, w.messages())
}

// The successor is created first: its pod alone is harmless, and the record of the move.
func TestTheFormerLeaderEndsOnlyIfTheSuccessorsPodExists(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	var created []string
	for _, action := range w.kube.Actions() {
		if create, ok := action.(clienttesting.CreateAction); ok {
			created = append(created, create.GetObject().(*corev1.Pod).Name)
		}
	}
	require.Equal(t, []string{"handover-take-m0", "handover-leave-m0"}, created)
}

func TestTheSuccessorIsTheStandbyThatStartedLast(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.Restart("m2", -600)
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	require.Equal(t, "m2", w.moves(t)["handover-take-m0"].Spec.NodeName)
}

func TestTheLeadMovesOnce(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	creations := func() int {
		return len(slices.DeleteFunc(slices.Clone(w.kube.Actions()), func(a clienttesting.Action) bool {
			return a.GetVerb() != "create"
		}))
	}
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	require.Equal(t, 2, creations())
	for _, step := range []struct {
		what    string
		second  int
		cordon  bool
		restart bool
	}{
		{"the move failed, and the Node is still cordoned", 100, true, false},
		{"another process of the operator begins", 110, true, true},
		{"the Node is uncordoned", 120, false, false},
		{"it is cordoned again", 130, true, false},
		{"it has been cordoned for more than a quarter of an hour", 1000, true, false},
	} {
		if step.restart {
			w.restartOperator()
		}
		w.cordon("m0", step.cordon)
		w.Renew(step.second)
		w.see(step.second)
		w.run(t, step.second, 20*time.Second)
		require.Equal(t, 2, creations(), step.what)
		require.Len(t, w.moves(t), 2, step.what)
	}
	w.cordon("m0", false)
	w.Renew(1100)
	w.see(1100)
	w.run(t, 1100, time.Second)
	require.Empty(t, w.moves(t), "the record of a former reboot")
	w.cordon("m0", true)
	w.run(t, 1101, 20*time.Second)
	require.Equal(t, 4, creations(), "another reboot")
}

func TestATimerDeletesThePodsOfAMove(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	w.cordon("m0", false)
	calls := w.run(t, 20, time.Hour)
	require.Equal(t, 15*time.Minute-9*time.Second, calls[len(calls)-1])
	require.Empty(t, w.moves(t))
}

func TestThePodsOfADeletedNodeGoAtOnce(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	w.Leave("m0")
	w.run(t, 20, 0)
	require.Empty(t, w.moves(t))
}

func TestAMovesPodThatWasReplacedStays(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.cordon("m0", true)
	w.run(t, 1, 15*time.Second)
	w.cordon("m0", false)
	w.kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.DeleteAction).GetName()
		return true, nil, apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("the UID differs"))
	})
	w.run(t, 20, time.Hour)
}

func TestTheLeadStaysIf(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"no Node is cordoned":    func(w *world) { w.cordon("m0", false) },
		"a standby is cordoned":  func(w *world) { w.cordon("m0", false); w.cordon("m1", true) },
		"every Node is cordoned": func(w *world) { w.cordon("m1", true); w.cordon("m2", true) },
		"no standby is Ready":    func(w *world) { w.Ready("m1", false); w.Ready("m2", false) },
		"no standby's Node is Ready": func(w *world) {
			w.setReady("m1", corev1.ConditionUnknown)
			w.setReady("m2", corev1.ConditionFalse)
		},
		"the standbys have lost the label of the control plane": func(w *world) {
			w.LoseRole("m1")
			w.LoseRole("m2")
		},
		"the leader's kubelet is silent":                func(w *world) { w.setReady("m0", corev1.ConditionUnknown) },
		"the leader has not settled":                    func(w *world) { w.Acquire("m0", "next", 0); w.see(0) },
		"the leader has ended":                          func(w *world) { w.Exit("m0", 1, "") },
		"another process holds the lease":               func(w *world) { w.Edit("intruder", 137); w.see(1) },
		"nobody holds the lease":                        func(w *world) { w.Edit("", 137); w.see(1) },
		"a revision is rolled out":                      func(w *world) { w.Status.LatestAvailableRevision = 4 },
		"a node's files are being repaired":             func(w *world) { w.Status.NodeStatuses[2].TargetRevision = 3 },
		"a node has no revision yet":                    func(w *world) { w.Status.NodeStatuses[2].CurrentRevision = 0 },
		"the predecessor is being taken over":           condition("TakingOver", operatorv1.ConditionTrue, ""),
		"the cloud-controller-manager is being removed": condition("Removing", operatorv1.ConditionTrue, "RemovingStaticPods"),
		"another Node handed the lead over moments ago": func(w *world) {
			w.kube.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ //nolint:errcheck // it is the first one
				Namespace: namespace, Name: "handover-take-m2", Labels: map[string]string{"app": "handover"},
				CreationTimestamp: metav1.NewTime(controlplanetest.At(0)),
			}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.cordon("m0", true)
			change(w)
			w.run(t, 1, 25*time.Second)
			require.NotContains(t, w.moves(t), "handover-take-m0")
			require.NotContains(t, w.moves(t), "handover-leave-m0")
			require.Empty(t, w.messages())
		})
	}
}

func condition(name string, status operatorv1.ConditionStatus, reason string) func(w *world) {
	return func(w *world) {
		w.Status.Conditions = append(w.Status.Conditions,
			operatorv1.OperatorCondition{Type: name, Status: status, Reason: reason})
	}
}

// Nothing but the timer calls the controller: a Node is no clock.
func TestTheLeadLeavesACordonedNodeAsSoonAs(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world)
		want   time.Duration
	}{
		"the leader has settled": {
			func(w *world) { w.Acquire("m0", "next", 0); w.see(0) }, 29 * time.Second,
		},
		"a former move is over": {
			func(w *world) {
				w.kube.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ //nolint:errcheck // it is the first one
					Namespace: namespace, Name: "handover-take-m2", Labels: map[string]string{"app": "handover"},
					CreationTimestamp: metav1.NewTime(controlplanetest.At(0)),
				}})
			},
			controlplane.MoveTimeout - time.Second,
		},
		"the leader was seen to renew the lease": {
			func(w *world) {
				w.Seen = controlplane.Lease{}
				w.restartOperator()
				w.Observe(0)
				w.Renew(1)
				w.Observe(1)
			},
			10 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.cordon("m0", true)
			tc.change(w)
			w.fill(t, 1)
			_, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(),
				func(ctx context.Context, syncCtx factory.SyncContext) error {
					second := int(w.clock.Since(controlplanetest.Begin).Seconds())
					w.Renew(second)
					w.Observe(second)
					return w.sync(ctx, syncCtx)
				}, controlplane.MoveTimeout)
			require.NoError(t, err)
			moves := w.moves(t)
			require.Contains(t, moves, "handover-leave-m0")
			require.Equal(t, tc.want, moves["handover-leave-m0"].CreationTimestamp.Sub(controlplanetest.At(1)))
		})
	}
}

func TestTheOnlyNodeKeepsTheLead(t *testing.T) {
	w := newWorld(t, "m0")
	w.cordon("m0", true)
	w.run(t, 1, 25*time.Second)
	require.Empty(t, w.moves(t))
}

// The taint alone cordons a Node too.
func TestATaintedNodeIsCordoned(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.Nodes["m0"].Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}}
	w.run(t, 1, 15*time.Second)
	require.Len(t, w.moves(t), 2)
}

// In an etcd that was restored, the lease has a former holder, and another process may lead.
func TestALeaseThatNobodyWasSeenToWriteStays(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.Seen = controlplane.Lease{}
	w.restartOperator()
	w.cordon("m0", true)
	w.see(1)
	w.run(t, 1, 25*time.Second)
	require.Empty(t, w.moves(t))
	w.Renew(26)
	w.see(26)
	w.run(t, 26, 0)
	require.Len(t, w.moves(t), 2)
}

// A drain that begins with the cordon may evict the operator. A Node that is cordoned for a moment is not rebooted.
func TestACordonOfAMomentMovesNothing(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	for second := 0; second < 25; second += 5 {
		w.cordon("m0", second%10 == 0)
		w.run(t, second, time.Second)
	}
	require.Empty(t, w.moves(t))
}
