package nodedeletion

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
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
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// cluster is a cluster over simulated time: kubelets, a cloud, and a CCM that acts like k8s.io/cloud-provider's, whose
// deletions the admission policy admits or rejects. test/integration has the real policy, and test/e2e real CCMs.
type cluster struct {
	t          testing.TB
	clock      *clocktesting.FakePassiveClock
	kube       *fake.Clientset
	operator   *operatorClient
	recorder   events.InMemoryRecorder
	controller *controller
	timer      *controllertest.Timer

	version int
	// nodes are the API server's, from which the controller's cache has what StripNode keeps.
	nodes serverNodes
	logs  serverEvents
	lease *coordinationv1.Lease

	// unknown are the machines that the cloud does not know. While it fails, the CCM neither finds nor deletes any.
	unknown map[string]bool
	// described are machines that the cloud does not know, and yet describes, as EC2 does for an hour after their end.
	described map[string]bool
	fails     bool
	// dead is true once the leader has ended and its lease has not.
	dead bool
	// duration is that of the lease in seconds, and period is how often the leader renews it.
	duration int32
	period   int64
	// pass is how many seconds a CCM takes to look up all silent nodes.
	pass int64
	// skew is how far the clock of the CCM's node is off, and monitorSkew that of kube-controller-manager.
	skew, monitorSkew time.Duration
	// lookup is how long the CCM takes to look up a machine with its one worker, 0 for no time. worker is its queue.
	lookup time.Duration
	worker worker
	// lag is how long the caches are behind the API server.
	lag     time.Duration
	delayed []delayed
	// silent makes the CCM announce nothing.
	silent bool
	// stale makes each write fail, as with a cache that is behind.
	stale bool
	// refused is the Node that cannot be written, and slow is how long a write takes.
	refused string
	slow    time.Duration
	deleted []string
	// every is what happens again and again.
	every []recurrence
}

// recurrence is something that happens once in a period.
type recurrence struct {
	period time.Duration
	do     func()
}

// serverNodes are Nodes, and a cache that follows them.
type serverNodes struct {
	cache.Store
	cached cache.Store
	follow func(change func() error)
}

func (s serverNodes) Update(node *corev1.Node) error {
	facts, err := StripNode(node)
	s.follow(func() error { return s.cached.Update(facts) })
	return errors.Join(err, s.Store.Update(node))
}

func (s serverNodes) Delete(node *corev1.Node) error {
	s.follow(func() error { return s.cached.Delete(node) })
	return s.Store.Delete(node)
}

// serverEvents are Events, and a watch that follows them.
type serverEvents struct {
	cache.Store
	watch *Announcements
}

func (s serverEvents) Update(event *corev1.Event) error {
	return errors.Join(s.Store.Update(event), s.watch.Update(stripEvent(event)))
}

// delayed is a change that a cache sees later.
type delayed struct {
	change func() error
	at     time.Time
}

func newCluster(t testing.TB, platform string, names ...string) *cluster {
	t.Helper()
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(start), kube: fake.NewClientset(),
		unknown: map[string]bool{}, described: map[string]bool{}, duration: 137, period: 26, pass: 5,
	}
	c.recorder = events.NewInMemoryRecorder("test", c.clock)
	spec := &operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"platform":%q}`, platform)},
	}}
	c.operator = &operatorClient{StaticPodOperatorClient: v1helpers.NewFakeStaticPodOperatorClient(
		spec, &operatorv1.StaticPodOperatorStatus{}, nil, nil)}
	factory := informers.NewSharedInformerFactory(c.kube, 0)
	every, announced := factory.Core().V1().Nodes().Informer(), NewAnnouncements(c.kube.CoreV1())
	c.nodes = serverNodes{cache.NewStore(cache.MetaNamespaceKeyFunc), every.GetStore(), c.follow}
	c.logs = serverEvents{cache.NewStore(cache.MetaNamespaceKeyFunc), announced}
	c.controller = newController(dependencies.Deps{
		Operator: c.operator, Kube: c.kube, Lease: &controlplane.Lease{}, Clock: c.clock, Recorder: c.recorder,
	}, every, announced)
	c.controller.synced = func() bool { return true }
	c.timer = controllertest.NewTimer(c.clock, c.recorder)
	c.kube.PrependReactor("patch", "nodes", c.patched)
	for _, name := range names {
		c.put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
			Spec:       corev1.NodeSpec{ProviderID: "cloud:///" + name},
		})
		c.report(name, corev1.ConditionTrue)
	}
	c.rollOut(4, 4)
	c.lead("master-0_1")
	return c
}

// patched applies a patch as the API server does, which refuses one of an older version.
func (c *cluster) patched(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	node := c.node(patch.GetName())
	if node == nil {
		return true, nil, apierrors.NewNotFound(corev1.Resource("nodes"), patch.GetName())
	}
	var content struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]*string
		}
		Spec struct{ Taints []corev1.Taint }
	}
	require.NoError(c.t, json.Unmarshal(patch.GetPatch(), &content))
	c.clock.SetTime(c.clock.Now().Add(c.slow))
	if c.refused == node.Name {
		return true, nil, apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	}
	if c.stale || content.Metadata.ResourceVersion != node.ResourceVersion {
		return true, nil, apierrors.NewConflict(corev1.Resource("nodes"), node.Name, nil)
	}
	for key, value := range content.Metadata.Annotations {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, ptr.Deref(value, ""))
		if value == nil {
			delete(node.Annotations, key)
		}
	}
	if strings.Contains(string(patch.GetPatch()), `"taints"`) {
		node.Spec.Taints = content.Spec.Taints
	}
	c.put(node)
	return true, node, nil
}

func (c *cluster) node(name string) *corev1.Node {
	found, exists, err := c.nodes.GetByKey(name)
	require.NoError(c.t, err)
	if !exists {
		return nil
	}
	return found.(*corev1.Node).DeepCopy()
}

func (c *cluster) put(node *corev1.Node) {
	c.version++
	node.ResourceVersion = strconv.Itoa(c.version)
	require.NoError(c.t, c.nodes.Update(node))
}

// report sets what the cluster knows of a kubelet: Unknown once it is silent.
func (c *cluster) report(name string, ready corev1.ConditionStatus) {
	node := c.node(name)
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(c.clock.Now().Add(c.monitorSkew)),
	}}
	c.put(node)
}

// rollOut sets the latest revision, and the one that the control-plane nodes run. Those behind run the first.
func (c *cluster) rollOut(latest, current int32, behind ...string) {
	status := operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: latest},
	}
	for _, name := range c.nodes.ListKeys() {
		if strings.HasPrefix(name, "worker-") && !slices.Contains(behind, name) {
			continue
		}
		runs := operatorv1.NodeStatus{NodeName: name, CurrentRevision: current}
		if slices.Contains(behind, name) {
			runs.CurrentRevision = 1
		}
		status.NodeStatuses = append(status.NodeStatuses, runs)
	}
	c.operator.revisions = status
}

// controlPlaneOf makes the named nodes those that run a static pod.
func (c *cluster) controlPlaneOf(names ...string) {
	c.operator.revisions.NodeStatuses = slices.DeleteFunc(c.operator.revisions.NodeStatuses, func(s operatorv1.NodeStatus) bool {
		return !slices.Contains(names, s.NodeName)
	})
}

// operatorClient has revisions, which library-go's fake client forgets when a condition is applied.
type operatorClient struct {
	v1helpers.StaticPodOperatorClient
	revisions operatorv1.StaticPodOperatorStatus
	// annotations are those of the resource, of which library-go's fake client has none.
	annotations map[string]string
}

func (c *operatorClient) GetObjectMeta() (*metav1.ObjectMeta, error) {
	return &metav1.ObjectMeta{Annotations: c.annotations}, nil
}

func (c *operatorClient) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, _, version, err := c.StaticPodOperatorClient.GetStaticPodOperatorState()
	return spec, c.revisions.DeepCopy(), version, err
}

// forgetMachines makes the cloud know no machine.
func (c *cluster) forgetMachines() {
	for _, name := range c.nodes.ListKeys() {
		c.unknown[name] = true
	}
}

func (c *cluster) lead(identity string) {
	c.dead = false
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(identity), AcquireTime: ptr.To(metav1.NewMicroTime(c.clock.Now())),
			LeaseDurationSeconds: ptr.To(c.duration),
		},
	}
	c.lease = lease
	c.controller.Lease.See(lease, c.clock.Now())
}

// renew renews the lease by the clock of the leader's node, which is wrong.
func (c *cluster) renew() {
	c.lease = c.lease.DeepCopy()
	c.lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(c.clock.Now().Add(-2 * time.Hour)))
	c.controller.Lease.See(c.lease, c.clock.Now())
}

// each lets something happen once in a period, from now on.
func (c *cluster) each(period time.Duration, do func()) {
	c.every = append(c.every, recurrence{period, do})
}

// restart replaces the controller's memory, as a new process of the operator has none.
func (c *cluster) restart() { c.controller.memory = newMemory() }

// run lets time pass in steps of a second.
func (c *cluster) run(duration time.Duration) {
	c.t.Helper()
	for end := c.clock.Now().Add(duration); c.clock.Now().Before(end); {
		for _, r := range c.every {
			if passed := c.clock.Now().Sub(start); passed > 0 && passed%r.period == 0 {
				r.do()
			}
		}
		c.catchUp()
		c.cloudControllerManager()
		if err := c.controller.sync(c.t.Context(), c.timer); c.lag == 0 || !apierrors.IsConflict(err) {
			require.NoError(c.t, err)
		}
		c.clock.SetTime(c.clock.Now().Add(time.Second))
	}
}

// follow lets the cache see a change, after the lag.
func (c *cluster) follow(change func() error) {
	c.delayed = append(c.delayed, delayed{change, c.clock.Now().Add(c.lag)})
	c.catchUp()
}

// catchUp lets the caches see what was written.
func (c *cluster) catchUp() {
	c.delayed = slices.DeleteFunc(c.delayed, func(d delayed) bool {
		if c.clock.Now().Before(d.at) {
			return false
		}
		require.NoError(c.t, d.change())
		return true
	})
}

// announcementOf is the event that precedes an attempt to delete a Node.
func announcementOf(node *corev1.Node, at time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: EventNamespace, Name: node.Name + ".1"},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node.Name, UID: node.UID},
		Source:         corev1.EventSource{Component: EventSource}, Reason: "DeletingNode", LastTimestamp: metav1.NewTime(at),
		FirstTimestamp: metav1.NewTime(at),
	}
}

// condition returns "" while the condition is False.
func (c *cluster) condition() (reason, message string) {
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(c.t, err)
	found := v1helpers.FindOperatorCondition(status.Conditions, ConditionType)
	if found == nil || found.Status != operatorv1.ConditionTrue {
		return "", ""
	}
	return found.Reason, found.Message
}

// marks are what the controller has left on Nodes.
func (c *cluster) marks() []string {
	var marks []string
	for _, key := range c.nodes.ListKeys() {
		node := c.node(key)
		for _, taint := range node.Spec.Taints {
			marks = append(marks, key+" "+taint.Key)
		}
		if node.Annotations[Annotation] != "" {
			marks = append(marks, key+" "+node.Annotations[Annotation])
		}
	}
	slices.Sort(marks)
	return marks
}
