package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const namespace = "openshift-cloud-controller-manager"

// world is a control plane on which a candidate is tried. The log of a pod is "fake logs".
type world struct {
	*controlplanetest.Cluster
	*controller
	kube     *fake.Clientset
	caches   informers.SharedInformerFactory
	clock    *clocktesting.FakePassiveClock
	recorder events.InMemoryRecorder
	operator v1helpers.StaticPodOperatorClient
	masked   string
	exited   time.Time
	// begin is the beginning of the log of the first node of a rollout.
	begin string
	// quiet is whether nothing was logged of late, and since how many seconds ago the controller has read logs.
	quiet bool
	since []int64
	// started are the controllers that a process has started.
	started func(pod *corev1.Pod) ([]string, error)
	// latest is the latest revision in a rollout, 0 without one, and accepts whether an administrator accepts it.
	latest  int32
	accepts bool
}

// resource is the operator's resource, with the status of the cluster in a rollout: the fake client forgets it when it
// applies conditions.
type resource struct {
	v1helpers.StaticPodOperatorClient
	*world
}

func (r resource) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, version, err := r.StaticPodOperatorClient.GetStaticPodOperatorState()
	if r.latest != 0 {
		status = status.DeepCopy()
		status.LatestAvailableRevision, status.NodeStatuses = r.latest, r.Status.NodeStatuses
	}
	return spec, status, version, err
}

func (r resource) GetObjectMeta() (*metav1.ObjectMeta, error) {
	if !r.accepts {
		return &metav1.ObjectMeta{}, nil
	}
	return &metav1.ObjectMeta{Annotations: map[string]string{
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight": r.changed().Value(),
	}}, nil
}

// changed returns what the revision of a rollout changes.
func (w *world) changed() operand.StartDigests {
	core := w.caches.Core().V1()
	objects, err := operatorclient.Objects(core.ConfigMaps().Lister().ConfigMaps(namespace), core.Secrets().Lister().Secrets(namespace))
	if err != nil {
		panic(err)
	}
	return objects.Changes(4, 3)
}

func newWorld(t *testing.T, nodes ...string) *world {
	t.Helper()
	w := &world{Cluster: controlplanetest.New(nodes...), kube: fake.NewClientset(), begin: "FLAG: --v=2\n",
		clock: clocktesting.NewFakePassiveClock(controlplanetest.Begin)}
	w.started = func(*corev1.Pod) ([]string, error) { return all, nil }
	w.recorder = events.NewInMemoryRecorder("test", w.clock)
	w.caches = informers.NewSharedInformerFactory(w.kube, 0)
	w.operator = resource{v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)}},
	}, w.Status, nil, nil), w}
	for _, node := range w.Nodes {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	uids := 0
	w.kube.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		uids++
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.UID = types.UID(fmt.Sprintf("pod-%d", uids))
		return false, nil, nil
	})
	w.kube.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		log, isLog := action.(clienttesting.GenericActionImpl)
		if isLog && log.Value.(*corev1.PodLogOptions).TailLines == nil {
			return true, &runtime.Unknown{Raw: []byte(w.begin)}, nil
		}
		if !isLog || log.Value.(*corev1.PodLogOptions).SinceSeconds == nil {
			return false, nil, nil
		}
		w.since = append(w.since, *log.Value.(*corev1.PodLogOptions).SinceSeconds)
		return true, &runtime.Unknown{Raw: []byte(map[bool]string{false: w.masked}[w.quiet])}, nil
	})
	w.Seen.See(w.Lease, controlplanetest.At(-26))
	w.Renew(0)
	w.Seen.See(w.Lease, controlplanetest.At(0))
	w.observeLeader()
	w.restartOperator()
	return w
}

// observeLeader records the leader, as availability does.
func (w *world) observeLeader() {
	w.Seen.ObserveHolder(w.ViewOf(w.Seen.Record(), w.clock.Now()), true)
}

// restartOperator begins another process of the operator.
func (w *world) restartOperator() {
	w.controller = &controller{
		Deps: dependencies.Deps{
			Operator: w.operator, Kube: w.kube, Target: w.caches, Nodes: w.caches.Core().V1().Nodes(), Lease: &w.Seen,
			Infrastructures: controlplanetest.Infrastructures(w.Topology), Clock: w.clock, Recorder: w.recorder,
		},
		leases:        w.caches.Coordination().V1().Leases(),
		controllersOf: func(_ context.Context, pod *corev1.Pod) ([]string, error) { return w.started(pod) },
		mask:          func(string) (string, error) { return w.dated(w.masked), nil },
	}
}

// Exit lets the container on a node end, with a message of that second.
func (w *world) Exit(node string, second int, message string) {
	w.exited = controlplanetest.At(second)
	w.Cluster.Exit(node, second, w.dated(message))
}

// dated returns a log whose lines are of the second in which a container ended last.
func (w *world) dated(log string) string {
	if w.exited.IsZero() {
		return log
	}
	return strings.ReplaceAll(log, "1125 19:00:00", w.exited.Format("0102 15:04:05"))
}

// submitted is the pod of a candidate.
const submitted = "metadata: {name: preflight, namespace: " + namespace + ", annotations: {a: b}}\n" +
	"spec: {containers: [{name: cloud-controller-manager}]}\n"

// submit writes a candidate, as target configuration does.
func (w *world) submit(t *testing.T, digest string) {
	t.Helper()
	record := &trial.Record{Digest: digest, Files: map[string][]byte{"pod.yaml": []byte(submitted)}}
	secret, err := record.InSecret()
	require.NoError(t, err)
	secret.UID = "secret"
	_, err = w.kube.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = w.kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	}
	require.NoError(t, err)
}

// pass lets the controller work for a time.
func (w *world) pass(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(), func(ctx context.Context, s factory.SyncContext) error {
		w.fillCaches(t)
		return w.sync(ctx, s)
	}, d)
	require.NoError(t, err)
	w.fillCaches(t)
}

func (w *world) fillCaches(t *testing.T) {
	t.Helper()
	core := w.caches.Core().V1()
	for _, object := range core.Pods().Informer().GetStore().List() {
		require.NoError(t, core.Pods().Informer().GetStore().Delete(object))
	}
	pods, err := w.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range pods.Items {
		require.NoError(t, core.Pods().Informer().GetStore().Add(&pods.Items[i]))
	}
	secrets, err := w.kube.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range secrets.Items {
		require.NoError(t, core.Secrets().Informer().GetStore().Add(&secrets.Items[i]))
	}
	for _, object := range w.caches.Coordination().V1().Leases().Informer().GetStore().List() {
		require.NoError(t, w.caches.Coordination().V1().Leases().Informer().GetStore().Delete(object))
	}
	leases, err := w.kube.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range leases.Items {
		require.NoError(t, w.caches.Coordination().V1().Leases().Informer().GetStore().Add(&leases.Items[i]))
	}
	for _, pod := range w.Pods {
		require.NoError(t, core.Pods().Informer().GetStore().Add(pod))
	}
	for _, node := range w.Nodes {
		require.NoError(t, core.Nodes().Informer().GetStore().Add(node))
	}
}

// found returns the pod of the preflight, nil if there is none.
func (w *world) found(t *testing.T) *corev1.Pod {
	t.Helper()
	pod, err := w.kube.CoreV1().Pods(namespace).Get(t.Context(), "preflight", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return pod
}

// start lets the kubelet start the container and the process take the lease.
func (w *world) start(t *testing.T) {
	t.Helper()
	pod := w.found(t)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "cloud-controller-manager", State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: controlplanetest.Stamp(w.clock.Now())},
	}}}
	_, err := w.kube.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = w.kube.CoordinationV1().Leases(namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: operand.PreflightName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("m1_1"), AcquireTime: ptr.To(metav1.NewMicroTime(w.clock.Now())),
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// ends lets the container end.
func (w *world) ends(t *testing.T, message string) {
	t.Helper()
	pod := w.found(t)
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "cloud-controller-manager", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message},
	}}}
	_, err := w.kube.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (w *world) condition(t *testing.T) operatorv1.OperatorCondition {
	t.Helper()
	_, status, _, err := w.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	found := v1helpers.FindOperatorCondition(status.Conditions, "PreflightNotices")
	require.NotNil(t, found)
	found.LastTransitionTime = metav1.Time{}
	return *found
}

func (w *world) events() []string {
	var texts []string
	for _, event := range w.recorder.Events() {
		texts = append(texts, event.Type+" "+event.Reason+": "+event.Message)
	}
	return texts
}

// requireEnded requires that nothing is left of a preflight but its verdict.
func (w *world) requireEnded(t *testing.T) *trial.Verdict {
	t.Helper()
	require.Nil(t, w.found(t))
	leases, err := w.kube.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, leases.Items)
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, secret.Data)
	return trial.Of(secret).Verdict
}

var asExpected = operatorv1.OperatorCondition{Type: "PreflightNotices", Status: operatorv1.ConditionFalse, Reason: "AsExpected"}

const lookedUp = "I1125 19:00:00.000000       1 node_controller.go:292] Update 3 nodes status took 12ms.\n"

func TestACandidateSucceedsOnceItsProcessLeadsAndHasLookedUpTheNodes(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.pass(t, 0)
	require.Equal(t, asExpected, w.condition(t), "nothing is to be tried")
	w.submit(t, "sha256:1")
	w.pass(t, 2*time.Second)
	pod := w.found(t)
	require.Equal(t, "m1", pod.Spec.NodeName, "not the leader's")
	require.Equal(t, "sha256:1", pod.Annotations[operand.PreflightDigestAnnotation])
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: operand.PreflightName, UID: "secret"}},
		pod.OwnerReferences)
	w.start(t)
	w.pass(t, 30*time.Second)
	require.NotNil(t, w.found(t), "it has not looked up the nodes")
	w.masked = lookedUp
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	verdict := w.requireEnded(t)
	require.Equal(t, trial.Successful, verdict.Result)
	require.Equal(t, "it led and looked up 3 of 3 nodes", verdict.Message)
	require.Equal(t, asExpected, w.condition(t))
	require.Equal(t, []string{"Normal PreflightSuccessful: a cloud-controller-manager with the changed inputs, on node/m1 for 32s " +
		"at 2026-11-21T09:00:32Z: it led and looked up 3 of 3 nodes"}, w.events())
}

func TestACandidateFailsWithTheLastWordsOfItsProcess(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "F1125 19:00:00.000000       1 controllermanager.go:222] error running controllers: Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	verdict := w.requireEnded(t)
	require.Equal(t, trial.Failed, verdict.Result)
	require.Equal(t, "Unauthenticated", verdict.Class)
	const message = `a cloud-controller-manager with the changed inputs, on node/m1 for 1s at 2026-11-21T09:00:01Z: the cloud ` +
		`rejects the credentials: "error running controllers: Authentication failed"; ` + login
	require.Equal(t, operatorv1.OperatorCondition{
		Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Reason: "PreflightFailed", Message: message,
	}, w.condition(t))
	require.Equal(t, []string{"Warning PreflightFailed: " + message}, w.events())
	w.restartOperator()
	w.pass(t, 20*time.Minute)
	require.Nil(t, w.found(t), "one login for each candidate")
}

func TestTheErrorBeforeAUsageIsReadFromTheLog(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.masked = "Error: unknown flag: --regoin\nUsage:\n"
	w.ends(t, "  --vmodule moduleSpec   comma-separated list of pattern=N settings\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	require.Contains(t, w.requireEnded(t).Message, `it failed: "Error: unknown flag: --regoin"`)
}

func TestAnotherCandidateWaitsForTheEndOfTheFormerPod(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	first := w.found(t).UID
	w.start(t)
	w.masked = lookedUp
	w.submit(t, "sha256:2")
	w.pass(t, 0)
	require.Nil(t, w.found(t), "deleted before the next one is created")
	w.pass(t, 0)
	require.NotEqual(t, first, w.found(t).UID)
	require.Equal(t, "sha256:2", w.found(t).Annotations[operand.PreflightDigestAnnotation])
	require.Empty(t, w.events())
}

// NodeRestriction lets any kubelet create a mirror pod of any name on its own node, and the kubelet serves its log.
func TestAMirrorPodIsNoPreflight(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	_, err := w.kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "preflight", UID: "forged", Annotations: map[string]string{
			corev1.MirrorPodAnnotationKey: "hash", operand.PreflightDigestAnnotation: "sha256:1",
		}},
		Spec: corev1.PodSpec{NodeName: "worker"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.start(t)
	w.masked = "E1125 19:00:00.000000       1 node_controller.go:229] 401 Unauthorized\n"
	w.submit(t, "sha256:1")
	w.pass(t, time.Minute)
	require.Equal(t, "m1", w.found(t).Spec.NodeName, "the operator's own pod")
	require.Empty(t, w.events())
}

func TestARestartedOperatorGoesOnWithThePreflight(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	former := w.found(t).UID
	w.start(t)
	w.restartOperator()
	w.masked = lookedUp
	w.pass(t, 4*time.Second)
	require.Equal(t, former, w.found(t).UID)
	w.pass(t, 2*time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	require.Equal(t, trial.Successful, w.requireEnded(t).Result)
}

// deadline lets the kubelet end the pod at its deadline.
func (w *world) deadline(t *testing.T) {
	t.Helper()
	pod := w.found(t)
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
	pod.Status.Message = "Pod was active on node longer than the specified deadline"
	_, err := w.kube.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func TestAPreflightThatEndedWhileNoOperatorWatchedItIsRunAgain(t *testing.T) {
	failed := func(t *testing.T, w *world) {
		w.ends(t, "E1125 19:00:00.000000       1 a.go:1] Authentication failed\n")
	}
	for name, tc := range map[string]struct {
		ends func(*testing.T, *world)
		// seen is how long the next operator has seen the pod before it ends.
		seen time.Duration
	}{
		"its process had ended":             {ends: failed},
		"its deadline had passed":           {ends: func(t *testing.T, w *world) { w.deadline(t) }},
		"its deadline passes seconds later": {ends: func(t *testing.T, w *world) { w.deadline(t) }, seen: 5 * time.Second},
		"the API server refuses to delete it first": {ends: func(t *testing.T, w *world) {
			failed(t, w)
			refusals := 1
			w.kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				refusals--
				return refusals >= 0, nil, errors.New("etcdserver: leader changed")
			})
			w.fillCaches(t)
			require.ErrorContains(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)), "leader changed")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.submit(t, "sha256:1")
			w.pass(t, time.Second)
			former := w.found(t).UID
			w.start(t)
			w.restartOperator()
			if tc.seen > 0 {
				w.pass(t, tc.seen)
			}
			tc.ends(t, w)
			w.pass(t, 5*time.Second)
			require.NotNil(t, w.found(t), "nobody knows what it had to wait for")
			require.NotEqual(t, former, w.found(t).UID)
			require.Empty(t, w.events())
			w.start(t)
			w.masked = lookedUp
			w.pass(t, 6*time.Second)
			w.pass(t, 0)
			w.pass(t, 0)
			require.Equal(t, trial.Successful, w.requireEnded(t).Result)
		})
	}
}

func TestAPreflightThatNoOperatorWatchesTwiceShowsNothing(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	for range 2 {
		w.start(t)
		w.ends(t, "E1125 19:00:00.000000       1 a.go:1] Authentication failed\n")
		w.restartOperator()
		w.pass(t, 5*time.Second)
	}
	w.pass(t, 0)
	w.pass(t, 0)
	verdict := w.requireEnded(t)
	require.Equal(t, trial.Inconclusive, verdict.Result)
	require.Equal(t, "NotStarted", verdict.Class)
	require.Equal(t, "pod/preflight ended twice while no operator watched it; check the pods of the operator",
		verdict.Message)
}

func TestAPreflightWithoutANodeWaitsAndSaysSoAfterAMinute(t *testing.T) {
	w := newWorld(t, "m0")
	w.Nodes["m0"].Spec.Unschedulable = true
	w.submit(t, "sha256:1")
	w.pass(t, 59*time.Second)
	require.Equal(t, asExpected, w.condition(t))
	w.pass(t, 2*time.Second)
	require.Equal(t, operatorv1.OperatorCondition{
		Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Reason: "PreflightWaiting",
		Message: "the preflight of the changed inputs waits for a Ready control-plane node that is not cordoned; " +
			"the change rolls out, although nothing has proved it",
	}, w.condition(t))
	w.Nodes["m0"].Spec.Unschedulable = false
	w.pass(t, time.Second)
	require.Equal(t, "m0", w.found(t).Spec.NodeName, "the only node is the leader's")
}

func TestACandidateThatIsTriedAgainLaterHasNotWaitedMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *world){
		"it was withdrawn": func(t *testing.T, w *world) { w.withdraw(t) },
		"it succeeded": func(t *testing.T, w *world) {
			w.start(t)
			w.masked = lookedUp
			w.pass(t, 6*time.Second)
			w.pass(t, 0)
			w.pass(t, 0)
			require.Equal(t, trial.Successful, w.requireEnded(t).Result)
			w.masked = ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.submit(t, "sha256:1")
			w.pass(t, 2*time.Second)
			meanwhile(t, w)
			w.pass(t, time.Second)
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.submit(t, "sha256:1")
			w.pass(t, 30*time.Second)
			require.NotNil(t, w.found(t))
			require.Equal(t, asExpected, w.condition(t))
		})
	}
}

// withdraw deletes the candidate.
func (w *world) withdraw(t *testing.T) {
	t.Helper()
	require.NoError(t, w.kube.CoreV1().Secrets(namespace).Delete(t.Context(), operand.PreflightName, metav1.DeleteOptions{}))
	w.fillCaches(t)
	require.NoError(t, w.caches.Core().V1().Secrets().Informer().GetStore().Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: operand.PreflightName,
	}}))
}

func TestAWithdrawnCandidateLeavesNothing(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.withdraw(t)
	w.pass(t, 0)
	w.pass(t, 0)
	require.Nil(t, w.found(t))
	require.Equal(t, asExpected, w.condition(t))
}

func TestAFailedPreflightIsForgottenOnceTheChangeWorks(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, time.Minute)
	require.Equal(t, operatorv1.ConditionTrue, w.condition(t).Status, "the former leader works, not the change")
	// The leader's node rolls last.
	w.Install("m0", 60)
	w.Acquire("m0", "second", 61)
	w.Seen.See(w.Lease, w.clock.Now())
	w.pass(t, 29*time.Second)
	require.Equal(t, operatorv1.ConditionTrue, w.condition(t).Status, "it has not settled")
	w.pass(t, 10*time.Second)
	w.Renew(int(w.clock.Now().Sub(controlplanetest.Begin).Seconds()))
	w.Seen.See(w.Lease, w.clock.Now())
	w.runs(t, "m1", 2)
	w.pass(t, 0)
	require.Equal(t, operatorv1.ConditionTrue, w.condition(t).Status, "a node is behind")
	w.runs(t, "m1", 3)
	w.pass(t, 0)
	require.Equal(t, asExpected, w.condition(t))
}

func TestTheNoticeStaysWhileNoRevisionHasTheRejectedChange(t *testing.T) {
	w := newRollout(t, "m0", "m1", "m2")
	w.latest = 3
	w.submit(t, "sha256:1")
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	rejected := w.changed()
	record := trial.Of(secret)
	record.Inputs = rejected
	record.Conclude(&trial.Verdict{
		Result: trial.Failed, Message: "the cloud says no", Ended: metav1.NewTime(controlplanetest.At(-60)),
	})
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.leads(t, "m2")
	require.Equal(t, "PreflightFailed", w.condition(t).Reason, "the next leader has the former inputs, too")

	w.latest = 4
	for i := range w.Status.NodeStatuses {
		w.Status.NodeStatuses[i].CurrentRevision = 4
	}
	w.leads(t, "m0")
	require.Equal(t, asExpected, w.condition(t))
}

// leads makes another process the leader, and lets a minute pass.
func (w *world) leads(t *testing.T, node string) {
	t.Helper()
	second := int(w.clock.Since(controlplanetest.Begin).Seconds())
	w.Restart(node, second)
	w.Acquire(node, "next", second+1)
	w.Seen.See(w.Lease, w.clock.Now())
	w.renews(t, time.Minute)
	w.pass(t, 0)
}

func TestAPreflightNoticeEndsWithinAMinuteOnceAProcessWithTheChangeLeads(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, 59*time.Second)
	w.runs(t, "m1", 3)
	w.Install("m0", 60)
	w.Acquire("m0", "second", 61)
	w.clock.SetTime(controlplanetest.At(61))
	// Only the controller's own timer brings it back.
	_, err := controllertest.NewTimer(w.clock, w.recorder).Run(t.Context(), func(ctx context.Context, s factory.SyncContext) error {
		w.Renew(int(w.clock.Now().Sub(controlplanetest.Begin).Seconds()))
		w.Seen.See(w.Lease, w.clock.Now())
		w.fillCaches(t)
		return w.sync(ctx, s)
	}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, asExpected, w.condition(t))
}

func TestAPreflightNoticeEndsWithTheSuccessOfACorrectedCandidate(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	require.Equal(t, "PreflightFailed", w.condition(t).Reason)
	w.submit(t, "sha256:2")
	w.masked = lookedUp
	w.pass(t, 2*time.Second)
	require.Equal(t, asExpected, w.condition(t), "it is about the former one")
}

// runs sets the revision that a node runs. The fake client forgets it when it applies conditions.
func (w *world) runs(t *testing.T, node string, revision int32) {
	t.Helper()
	_, status, version, err := w.operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	status = status.DeepCopy()
	status.LatestAvailableRevision = 3
	status.NodeStatuses = []operatorv1.NodeStatus{{NodeName: node, CurrentRevision: revision}}
	_, err = w.operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
}

func TestARepeatedPreflightCountsItsTriesAndReportsTheFormerVerdictMeanwhile(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	former := w.requireEnded(t)
	require.Equal(t, 1, former.Tries)
	failed := w.condition(t)

	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Files = map[string][]byte{"pod.yaml": []byte(submitted)}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.pass(t, time.Minute)
	require.NotNil(t, w.found(t))
	require.Equal(t, failed, w.condition(t))
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	require.Equal(t, 2, w.requireEnded(t).Tries)
}

func TestARepeatedPreflightThatShowsNothingDoesNotRefuteAFailure(t *testing.T) {
	ended := controlplanetest.At(60)
	failed := &trial.Verdict{Result: trial.Failed, Message: "it failed", Tries: 2}
	nothing := &trial.Verdict{Result: trial.Inconclusive, Ended: metav1.NewTime(ended), Tries: 1}
	works := &trial.Verdict{Result: trial.Successful, Ended: metav1.NewTime(ended), Tries: 1}
	require.Equal(t, &trial.Verdict{
		Result: trial.Failed, Message: "it failed", Ended: metav1.NewTime(ended), Tries: 3,
	}, nothing.After(failed))
	require.Equal(t, trial.Successful, works.After(failed).Result)
	require.Equal(t, nothing, nothing.After(nil))
}

func TestAPodThatDoesNotEndIsDeletedWithoutItsKubelet(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	var grace []*int64
	w.kube.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		grace = append(grace, action.(clienttesting.DeleteActionImpl).DeleteOptions.GracePeriodSeconds)
		return false, nil, nil
	})
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	first := w.found(t)
	first.DeletionTimestamp = ptr.To(metav1.NewTime(w.clock.Now()))
	require.NoError(t, w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), first, namespace))
	w.Nodes["m1"].Status.Conditions[0].Status = corev1.ConditionUnknown
	w.submit(t, "sha256:2")
	w.pass(t, 29*time.Second)
	require.Equal(t, first.UID, w.found(t).UID)
	require.Empty(t, grace, "the kubelet may need its time")
	w.pass(t, 3*time.Second)
	require.Equal(t, []*int64{ptr.To[int64](0)}, grace)
	require.NotEqual(t, first.UID, w.found(t).UID)
	require.Equal(t, "m2", w.found(t).Spec.NodeName)
	require.Equal(t, []string{"Warning PreflightPodForced: deleted pod/preflight without the kubelet of node/m1, which has not " +
		"ended it for 30s; check the node"}, w.events())
}

// Nothing else happens in the cluster: only the controller's own timer brings it back.
func TestThePodOfAWithdrawnCandidateIsDeletedWithoutItsKubelet(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.withdraw(t)
	pod := w.found(t)
	pod.DeletionTimestamp = ptr.To(controlplanetest.Stamp(w.clock.Now()))
	_, err := w.kube.CoreV1().Pods(namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.pass(t, 29*time.Second)
	require.NotNil(t, w.found(t), "its kubelet may be slow")
	w.pass(t, time.Second)
	require.Nil(t, w.found(t))
	require.Equal(t, []string{"Warning PreflightPodForced: deleted pod/preflight without the kubelet of node/m1, which has not " +
		"ended it for 30s; check the node"}, w.events())
}

func TestAPodThatSomebodyHasGivenAFinalizerIsDeletedOnce(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	deleted := 0
	failure := apierrors.NewTimeoutError("the API server is slow", 1)
	w.kube.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		deleted++
		if deleted == 1 {
			return true, nil, failure
		}
		return true, nil, nil // It waits for the finalizer.
	})
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	pod := w.found(t)
	pod.Finalizers, pod.DeletionTimestamp = []string{"example.com/kept"}, ptr.To(metav1.NewTime(w.clock.Now()))
	require.NoError(t, w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, namespace))
	w.submit(t, "sha256:2")
	w.pass(t, 29*time.Second)
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.fillCaches(t)
	require.ErrorContains(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)), "the API server is slow")
	require.Empty(t, w.events(), "it is not deleted")
	w.pass(t, time.Minute)
	require.Equal(t, 2, deleted)
	require.Len(t, w.events(), 1)
}

// unreached is the verdict about a candidate that does not reach the cloud, while the leader's last look-ups have all
// succeeded.
func (w *world) unreached(t *testing.T) *trial.Verdict {
	t.Helper()
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "F1125 19:00:00.000000       1 controllermanager.go:222] dial tcp 192.0.2.1:5000: i/o timeout\n")
	w.masked = lookedUp // the leader's log
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	return w.requireEnded(t)
}

const unreachable = `the cloud's API cannot be reached from the control plane: "dial tcp 192.0.2.1:5000: i/o timeout"; check ` +
	`name resolution, routes, firewalls and the cluster's proxy`

// The leader's last round may have ended before an outage began.
func TestACandidateThatDoesNotReachTheCloudShowsNothingAlthoughTheLeaderHas(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the leader reached it of late":   func(*world) {},
		"the leader hangs in its cloud":   func(w *world) { w.quiet = true },
		"the leader's lease has run out":  func(w *world) { w.clock.SetTime(controlplanetest.At(140)) },
		"the leader's log cannot be read": func(w *world) { w.masked = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			change(w)
			verdict := w.unreached(t)
			require.Equal(t, trial.Inconclusive, verdict.Result)
			require.Equal(t, unreachable, verdict.Message)
		})
	}
}

// A tenant may have written that the leader reaches the cloud.
func TestACandidateThatTwiceDoesNotReachTheCloudStillShowsNothingWhateverTheLeaderLogs(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.unreached(t)
	w.renews(t, time.Minute)
	w.again(t)
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "F1125 19:00:00.000000       1 controllermanager.go:222] dial tcp 192.0.2.1:5000: i/o timeout\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	verdict := w.requireEnded(t)
	require.Equal(t, trial.Inconclusive, verdict.Result)
	require.Equal(t, unreachable, verdict.Message)
	require.Equal(t, 2, verdict.Tries)
}

// A webhook or a quota may deny each pod.
func TestThePodOfAPreflightThatIsDeniedEndsWithACommand(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("admission webhook denied the request")
	})
	w.submit(t, "sha256:1")
	secrets := w.kube.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	inputs := operand.StartDigests{diagnostic.CloudConfig: "new"}
	record := trial.Of(secret)
	record.Inputs = inputs
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.fillCaches(t)
	require.EqualError(t, w.sync(t.Context(), factory.NewSyncContext("test", w.recorder)), "creating pod/preflight in "+
		"openshift-cloud-controller-manager: admission webhook denied the request; what ran before stays in use; to roll the "+
		"change out unproved, run: "+accepts+inputs.Value())
}

// again submits the candidate again, with its verdict.
func (w *world) again(t *testing.T) {
	t.Helper()
	secrets := w.kube.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Files = map[string][]byte{"pod.yaml": []byte(submitted)}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
}

// changing submits a candidate that changes an input which no revision has.
func (w *world) changing(t *testing.T, cause diagnostic.Cause) {
	t.Helper()
	w.submit(t, "sha256:1")
	secrets := w.kube.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Inputs = operand.StartDigests{cause: "new"}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.pass(t, time.Second)
	w.start(t)
}

const accepts = "oc annotate --overwrite cloudcontrollermanager cluster " +
	"cloudcontrollermanager.operator.openshift.io/accepted-preflight="

func TestTheNoticeSaysWhatAWaitingChangeWaitsForAndWhatEndsIt(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.changing(t, diagnostic.CloudConfig)
	w.ends(t, "F1125 19:00:00.000000       1 controllermanager.go:222] dial tcp 192.0.2.1:5000: i/o timeout\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	value := operand.StartDigests{diagnostic.CloudConfig: "new"}.Value()
	want := operatorv1.OperatorCondition{
		Type: "PreflightNotices", Status: operatorv1.ConditionTrue, Reason: "PreflightInconclusive",
		Message: "a cloud-controller-manager with the changed inputs, on node/m1 for 1s at 2026-11-21T09:00:01Z: " + unreachable +
			"; what ran before stays in use; it is tried again at 2026-11-21T09:01:01Z; to roll the change out unproved, run: " +
			accepts + value,
	}
	require.Equal(t, want, w.condition(t))

	// It stays while something else is tried, and after that has succeeded.
	secrets := w.kube.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	waiting := trial.Of(secret).Rejected
	w.submit(t, "sha256:2")
	secret, err = secrets.Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Inputs, record.Rejected = operand.StartDigests{diagnostic.Credentials: "new"}, waiting
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.pass(t, 2*time.Second)
	require.Equal(t, want, w.condition(t))
	w.start(t)
	w.masked = lookedUp
	w.pass(t, 6*time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	require.Equal(t, trial.Successful, w.requireEnded(t).Result)
	require.Equal(t, want, w.condition(t))
}

// The cloud makes new credentials valid seconds after they were written, and the former ones are revoked.
func TestARejectedLoginIsTriedAgainAtOnceWhenTheLeadersIsRejectedToo(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.changing(t, diagnostic.Credentials)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	verdict := w.requireEnded(t)
	require.Equal(t, 5*time.Minute, verdict.RepeatIn(verdict.Ended.Time))
	w.renews(t, time.Minute)
	require.Equal(t, 5*time.Minute, w.requireEnded(t).RepeatIn(verdict.Ended.Time), "the leader's login works")
	w.masked = strings.Repeat(lookup+"Authentication failed\n", 3) + lookedUp
	w.renews(t, 10*time.Second)
	require.Zero(t, w.requireEnded(t).RepeatIn(w.clock.Now()))

	w.again(t)
	w.pass(t, time.Second)
	w.start(t)
	w.ends(t, "Authentication failed\n")
	w.pass(t, time.Second)
	w.pass(t, 0)
	w.pass(t, 0)
	verdict = w.requireEnded(t)
	require.Equal(t, trial.Failed, verdict.Result)
	require.Equal(t, `the cloud rejects the credentials: "Authentication failed"; `+login, verdict.Message)
	require.Equal(t, "; the login of the running one is rejected too, so leave these credentials if they were just created: a "+
		"cloud may take minutes to know them; it is tried again at "+
		verdict.Ended.Add(time.Minute).UTC().Format(time.RFC3339), verdict.NextTry())
	require.Equal(t, time.Minute, verdict.RepeatIn(verdict.Ended.Time))
}

// The leader had logged in before, and looks at no node: its log tells nothing. Each process that starts ends.
func TestARejectedLoginIsTriedAgainAtOnceWhenNoOtherProcessCanLogIn(t *testing.T) {
	const (
		own    = "F1125 19:00:00.000000       1 a.go:1] no route to host\n"
		forged = "F1125 19:00:00.000000       1 a.go:1] Authentication failed\n"
		// It is the last error, because a kernel without memory has ended the process.
		byOwner = `W1125 19:00:00.000000       1 loadbalancer.go:445] Could not parse int value from "Authentication failed"` + "\n"
	)
	for name, tc := range map[string]struct {
		message, password string
		want              time.Duration
		log               string
	}{
		"the login of a process that ended is rejected": {"could not init cloud provider: Authentication failed\n", "its", 0, ""},
		"a tenant wrote that the login is rejected": {
			own + forged, "its", 5 * time.Minute, own,
		},
		"the owner of a Service wrote that the login is rejected": {byOwner, "its", 5 * time.Minute, byOwner},
		"its credentials are not the leader's":                    {"could not init cloud provider: Authentication failed\n", "another", 5 * time.Minute, ""},
		"a process ended for another reason":                      {"could not init cloud provider: no route to host\n", "its", 5 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			for revision, password := range map[string]string{"3": "its", "4": tc.password} {
				require.NoError(t, w.caches.Core().V1().Secrets().Informer().GetStore().Add(&corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-credentials-" + revision},
					Data:       map[string][]byte{"password": []byte(password)},
				}))
			}
			w.label("m0", "3")
			w.label("m2", "4")
			w.changing(t, diagnostic.Credentials)
			w.ends(t, "Authentication failed\n")
			w.pass(t, time.Second)
			w.pass(t, 0)
			w.pass(t, 0)
			verdict := w.requireEnded(t)
			require.Equal(t, 5*time.Minute, verdict.RepeatIn(verdict.Ended.Time))
			w.crashes("m2", tc.message)
			w.masked = tc.log
			w.renews(t, 10*time.Second)
			require.Equal(t, tc.want, w.requireEnded(t).RepeatIn(verdict.Ended.Time))
		})
	}
}

func TestARepeatedPreflightRunsOnAnotherNode(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	w.submit(t, "sha256:1")
	secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
	require.NoError(t, err)
	record := trial.Of(secret)
	record.Verdict = &trial.Verdict{Result: trial.Failed, Node: "m1", Tries: 1}
	require.NoError(t, record.Save(t.Context(), w.kube.CoreV1()))
	w.pass(t, 2*time.Second)
	require.Equal(t, "m2", w.found(t).Spec.NodeName, "the network of m1 may be to blame")
}

func TestACandidateWhoseLogCannotBeReadMustHaveRenewedItsLease(t *testing.T) {
	for renewed, want := range map[time.Duration]trial.Result{
		2 * time.Second: trial.Inconclusive, 20 * time.Second: trial.Successful,
	} {
		t.Run(string(want), func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.kube.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				return action.GetSubresource() == "log", nil, errors.New("no route to host")
			})
			w.submit(t, "sha256:1")
			w.pass(t, time.Second)
			w.start(t)
			lease, err := w.kube.CoordinationV1().Leases(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
			require.NoError(t, err)
			lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(lease.Spec.AcquireTime.Add(renewed)))
			_, err = w.kube.CoordinationV1().Leases(namespace).Update(t.Context(), lease, metav1.UpdateOptions{})
			require.NoError(t, err)
			w.pass(t, time.Minute)
			w.pass(t, 0)
			w.pass(t, 0)
			require.Equal(t, want, w.requireEnded(t).Result)
		})
	}
}

// A kubelet that hangs ends no process, also if its pod was deleted without it.
func TestAProcessOfAFormerPreflightThatGoesOnSaysNothingAboutTheChange(t *testing.T) {
	for name, acquired := range map[string]time.Duration{
		"it holds the lease":                     -time.Hour,
		"it has taken the deleted lease again":   time.Second,
		"it has done so, and no log can be read": 2 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "m0", "m1", "m2")
			w.masked = "I1125 19:00:00.000000       1 leaderelection.go:258] Attempting to acquire leader lease...\n"
			if acquired > time.Second {
				w.kube.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return action.GetSubresource() == "log", nil, errors.New("no route to host")
				})
			}
			w.submit(t, "sha256:1")
			w.pass(t, time.Second)
			w.start(t)
			lease, err := w.kube.CoordinationV1().Leases(namespace).Get(t.Context(), operand.PreflightName, metav1.GetOptions{})
			require.NoError(t, err)
			at := w.clock.Now().Add(acquired)
			lease.Spec.HolderIdentity, lease.Spec.AcquireTime = ptr.To("m2_former"), ptr.To(metav1.NewMicroTime(at))
			lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(at.Add(2 * time.Hour)))
			_, err = w.kube.CoordinationV1().Leases(namespace).Update(t.Context(), lease, metav1.UpdateOptions{})
			require.NoError(t, err)
			w.pass(t, time.Minute)
			w.pass(t, 0)
			w.pass(t, 0)
			verdict := w.requireEnded(t)
			require.Equal(t, `it did not lead: "m2_former" holds lease/cloud-controller-manager-preflight in `+
				`openshift-cloud-controller-manager, the process of a former preflight that its kubelet has not ended; check the `+
				`kubelet of that node`, verdict.Message)
			require.Equal(t, trial.Inconclusive, compare(verdict, nodecause.Lookups{Ended: true, Nodes: 3}).Result)
		})
	}
}

func TestAPreflightWaitsForTheLookUpsOfEachNode(t *testing.T) {
	w := newWorld(t, "m0", "m1", "m2")
	for i := range 100 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w%d", i)}}
		require.NoError(t, w.kube.Tracker().Add(node))
	}
	w.submit(t, "sha256:1")
	w.pass(t, time.Second)
	w.start(t)
	w.masked = begins
	for range 90 {
		w.pass(t, time.Second)
	}
	require.NotNil(t, w.found(t), "45 s, and 0.6 s for each Node")
	for range 20 {
		w.pass(t, time.Second)
	}
	require.Contains(t, w.requireEnded(t).Message, "it looked up no node")
}
