package staticpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// appliedStatus is an operator client that keeps what each field manager applied, as an API server does, and validates
// what the CRD does. library-go's fake replaces all nodes with each write.
type appliedStatus struct {
	v1helpers.StaticPodOperatorClient
	mutex   sync.Mutex
	status  *operatorv1.StaticPodOperatorStatus
	version int
	// applied has, by field manager, the types of its conditions and the names of its nodes.
	applied map[string][]string
	// fails is the error of each read, nil for none.
	fails error
}

func newAppliedStatus(spec operatorv1.OperatorSpec, status *operatorv1.StaticPodOperatorStatus) *appliedStatus {
	return &appliedStatus{
		StaticPodOperatorClient: v1helpers.NewFakeStaticPodOperatorClient(
			&operatorv1.StaticPodOperatorSpec{OperatorSpec: spec}, status, nil, nil,
		),
		status: status, applied: map[string][]string{},
	}
}

func (a *appliedStatus) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	if a.fails != nil {
		return nil, nil, "", a.fails
	}
	spec, _, _, err := a.StaticPodOperatorClient.GetStaticPodOperatorState()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return spec, a.status.DeepCopy(), strconv.Itoa(a.version), err
}

func (a *appliedStatus) GetStaticPodOperatorStateWithQuorum(context.Context) (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	return a.GetStaticPodOperatorState()
}

func (a *appliedStatus) GetOperatorState() (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	spec, status, version, err := a.GetStaticPodOperatorState()
	if err != nil {
		return nil, nil, "", err
	}
	return &spec.OperatorSpec, &status.OperatorStatus, version, err
}

func (a *appliedStatus) ApplyOperatorStatus(
	ctx context.Context, manager string, applied *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	return a.ApplyStaticPodOperatorStatus(
		ctx, manager, &applyoperatorv1.StaticPodOperatorStatusApplyConfiguration{OperatorStatusApplyConfiguration: *applied},
	)
}

func (a *appliedStatus) ApplyStaticPodOperatorStatus(
	ctx context.Context, manager string, applied *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if version := operatorclient.Version(ctx); version != "" && version != strconv.Itoa(a.version) {
		return apierrors.NewConflict(schema.GroupResource{Resource: "cloudcontrollermanagers"}, "cluster", errors.New("modified"))
	}
	next := a.status.DeepCopy()
	if latest := applied.LatestAvailableRevision; latest != nil {
		if *latest < next.LatestAvailableRevision {
			return fmt.Errorf("%s: latestAvailableRevision must only increase", manager)
		}
		next.LatestAvailableRevision = *latest
	}
	var owned []string
	for _, c := range applied.Conditions {
		owned = append(owned, *c.Type)
		v1helpers.SetOperatorCondition(&next.Conditions, operatorv1.OperatorCondition{
			Type: *c.Type, Status: *c.Status, Reason: ptr.Deref(c.Reason, ""), Message: ptr.Deref(c.Message, ""),
		})
	}
	for _, n := range applied.NodeStatuses {
		owned = append(owned, *n.NodeName)
		text, err := json.Marshal(n)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(next.NodeStatuses, func(s operatorv1.NodeStatus) bool { return s.NodeName == *n.NodeName })
		if i < 0 {
			if n.CurrentRevision != nil || n.TargetRevision != nil {
				return fmt.Errorf("%s: currentRevision can not be set on creation of a nodeStatus", manager)
			}
			i, next.NodeStatuses = len(next.NodeStatuses), append(next.NodeStatuses, operatorv1.NodeStatus{})
		}
		before := next.NodeStatuses[i]
		if err := json.Unmarshal(text, &next.NodeStatuses[i]); err != nil {
			return err
		}
		if next.NodeStatuses[i].CurrentRevision < before.CurrentRevision {
			return fmt.Errorf("%s: the revision of node %s must only increase", manager, before.NodeName)
		}
	}
	if targets(next) > 1 {
		return fmt.Errorf("%s: no more than 1 node status may have a nonzero targetRevision", manager)
	}
	for _, name := range a.applied[manager] {
		if !slices.Contains(owned, name) {
			v1helpers.RemoveOperatorCondition(&next.Conditions, name)
			if controlplane.StatusOf(next, name).NodeName != "" {
				return fmt.Errorf("%s removes node %s", manager, name)
			}
		}
	}
	a.applied[manager] = owned
	a.status, a.version = next, a.version+1
	return nil
}

func targets(status *operatorv1.StaticPodOperatorStatus) int {
	return len(
		slices.DeleteFunc(
			slices.Clone(status.NodeStatuses), func(n operatorv1.NodeStatus) bool { return n.TargetRevision == 0 },
		),
	)
}

func (a *appliedStatus) condition(t *testing.T, name string) string {
	t.Helper()
	found := v1helpers.FindOperatorCondition(a.status.Conditions, name)
	require.NotNil(t, found, name)
	return string(found.Status) + ": " + found.Message
}

// machine is a control-plane machine of the simulated cluster.
type machine struct {
	// dead machines do nothing; the kubelet of a hung one does nothing, but its containers run. Both start no installer.
	dead, hung bool
	// fails is a revision whose static pod does not become Ready here.
	fails int32
	// runs is the revision of the static pod whose container runs, 0 if none does. The installer takes stops seconds from
	// its start to the end of the former static pod, and as many to the start of the new one.
	runs      int32
	installs  int32
	left      int
	takenDown bool
}

// simulated is a cluster with library-go's installer controller and the kubelets of its nodes, second by second.
type simulated struct {
	t          *testing.T
	clock      *clocktesting.FakePassiveClock
	kube       *fake.Clientset
	caches     informers.SharedInformerFactory
	nodes      informers.SharedInformerFactory
	operator   *appliedStatus
	controller factory.Controller
	progress   factory.Controller
	recorder   events.InMemoryRecorder
	machines   map[string]*machine
	names      []string
	// lease is what the operator has seen, leads whether the process on m0 renews it.
	lease controlplane.Lease
	leads bool
	// order has the nodes in the order in which they were given their revisions.
	order []string
	// most is the highest number of reachable nodes that had no static pod at one time because of an installer.
	most int
}

const nodeGracePeriod = 40 * time.Second

// newSimulated returns a cluster whose nodes run revision 1.
func newSimulated(t *testing.T, names ...string) *simulated {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	kube := fake.NewClientset()
	s := &simulated{
		t: t, clock: clock, kube: kube, caches: informers.NewSharedInformerFactory(kube, 0),
		nodes:    informers.NewSharedInformerFactory(kube, 0),
		machines: map[string]*machine{}, names: names, recorder: events.NewInMemoryRecorder("test", clock),
	}
	status := &operatorv1.StaticPodOperatorStatus{}
	for _, name := range names {
		status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{NodeName: name, CurrentRevision: 1})
		s.machines[name] = &machine{}
		s.ready(name, corev1.ConditionTrue)
	}
	s.operator = newAppliedStatus(operatorv1.OperatorSpec{ManagementState: operatorv1.Managed}, status)
	o := options{
		Deps: controllertest.Complete(t, dependencies.Deps{
			Operator: s.operator, Kube: kube, Target: s.caches, Nodes: s.nodes.Core().V1().Nodes(), Clock: clock,
			Lease: &s.lease, Recorder: s.recorder,
		}),
		configMaps: kube.CoreV1(), secrets: kube.CoreV1(), image: "operator",
	}
	s.controller = newInstallerController(o, nodePodsOf(o, func() (*url.URL, error) { return url.Parse("https://api-int:6443") }))
	s.progress = newProgressController(o)
	s.revision(1)
	for _, name := range names {
		s.start(name, 1)
	}
	return s
}

// revision creates the objects of a revision and makes it the latest.
func (s *simulated) revision(number int32) {
	s.t.Helper()
	suffix := fmt.Sprintf("-%d", number)
	configMaps, secrets := candidate(s.t, suffix)
	configMaps = append(
		configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "revision-status" + suffix}},
	)
	for _, configMap := range configMaps {
		require.NoError(s.t, s.kube.Tracker().Add(configMap))
		require.NoError(s.t, s.caches.Core().V1().ConfigMaps().Informer().GetStore().Add(configMap))
	}
	for _, secret := range secrets {
		require.NoError(s.t, s.kube.Tracker().Add(secret))
	}
	s.operator.status.LatestAvailableRevision = number
}

// ready sets what the Node says about its kubelet.
func (s *simulated) ready(name string, status corev1.ConditionStatus) {
	require.NoError(s.t, s.nodes.Core().V1().Nodes().Informer().GetStore().Add(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": ""}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
	}))
	if status == corev1.ConditionTrue {
		return
	}
	// The node controller does so too. The containers' statuses stay those that the kubelet reported last.
	s.changeMirror(name, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
}

func (s *simulated) changeMirror(name string, change func(*corev1.Pod)) {
	store := s.caches.Core().V1().Pods().Informer().GetStore()
	if found, exists, err := store.GetByKey(target + "/cloud-controller-manager-" + name); err == nil && exists {
		changed := found.(*corev1.Pod).DeepCopy()
		change(changed)
		require.NoError(s.t, store.Update(changed))
	}
}

func (s *simulated) deleteMirror(name string) {
	require.NoError(
		s.t, s.caches.Core().V1().Pods().Informer().GetStore().Delete(pod("cloud-controller-manager-"+name, nil)),
	)
}

// start starts the static pod of a revision, as the kubelet reports it.
func (s *simulated) start(name string, revision int32) {
	m := s.machines[name]
	m.runs, m.takenDown = revision, false
	mirror := staticPod(fmt.Sprintf("%s-%d", name, revision), m.fails != revision)
	mirror.Name, mirror.Spec.NodeName = "cloud-controller-manager-"+name, name
	mirror.Labels["revision"] = strconv.Itoa(int(revision))
	mirror.Status.ContainerStatuses[1].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.clock.Now())}
	require.NoError(s.t, s.caches.Core().V1().Pods().Informer().GetStore().Add(mirror))
}

// lead makes the process on m0 the leader.
func (s *simulated) lead() {
	s.leads = true
	s.renew()
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	s.renew()
}

// renew is the leader's renewal of the lease.
func (s *simulated) renew() {
	s.lease.See(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("m0_uuid"), LeaseDurationSeconds: ptr.To(int32(137)),
			RenewTime: &metav1.MicroTime{Time: s.clock.Now()},
		},
	}, s.clock.Now())
}

// silence stops a node's kubelet; the node controller notices it after the grace period.
func (s *simulated) silence(name string, dead bool) {
	s.machines[name].hung, s.machines[name].dead = !dead, dead
}

// unknown is the node controller's verdict on a silent kubelet.
func (s *simulated) unknown(name string) { s.ready(name, corev1.ConditionUnknown) }

// wake lets a node's kubelet report again, and a machine that was dead start what its disk has.
func (s *simulated) wake(name string) {
	m := s.machines[name]
	if m.dead && m.installs == 0 {
		s.start(name, m.runs)
	}
	m.hung, m.dead = false, false
	s.ready(name, corev1.ConditionTrue)
	s.changeMirror(name, func(p *corev1.Pod) {
		if m.fails != m.runs {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	})
}

// run lets seconds pass: the kubelets work, and the controllers see each change.
func (s *simulated) run(duration time.Duration) {
	s.t.Helper()
	for range int(duration / time.Second) {
		for _, name := range s.names {
			s.kubelet(name)
		}
		if s.leads {
			s.renew()
		}
		down := 0
		for _, m := range s.machines {
			if m.takenDown && !m.hung && !m.dead {
				down++
			}
		}
		s.most = max(s.most, down)
		syncCtx := s.syncContext()
		for range 3 { // each of its writes is an event
			s.cacheInstallers()
			before := s.operator.status.DeepCopy()
			require.NoError(s.t, s.controller.Sync(s.t.Context(), syncCtx))
			s.record(before)
		}
		require.NoError(s.t, s.progress.Sync(s.t.Context(), syncCtx))
		s.clock.SetTime(s.clock.Now().Add(time.Second))
	}
}

func (s *simulated) syncContext() factory.SyncContext {
	return controllertest.NewTimer(s.clock, s.recorder)
}

// record notes which node was given which revision.
func (s *simulated) record(before *operatorv1.StaticPodOperatorStatus) {
	for i, n := range s.operator.status.NodeStatuses {
		if n.TargetRevision != 0 && n.TargetRevision != before.NodeStatuses[i].TargetRevision {
			s.order = append(s.order, fmt.Sprintf("%s: %d", n.NodeName, n.TargetRevision))
		}
	}
}

// kubelet is one second of a node's kubelet, and of the installer that it runs.
func (s *simulated) kubelet(name string) {
	m := s.machines[name]
	if m.dead || m.hung {
		return
	}
	list, err := s.kube.CoreV1().Pods(target).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	for _, pod := range list.Items {
		var revision int32
		if _, err := fmt.Sscanf(pod.Name, "installer-%d-", &revision); err != nil || pod.Spec.NodeName != name {
			continue
		}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
		case m.installs != revision: // it starts
			m.installs, m.left = revision, 6
			pod.Status.Phase = corev1.PodRunning
			_, err := s.kube.CoreV1().Pods(target).UpdateStatus(s.t.Context(), &pod, metav1.UpdateOptions{})
			require.NoError(s.t, err)
		case m.left == 3: // the manifest is gone
			s.deleteMirror(name)
			m.runs, m.takenDown = 0, true
			m.left--
		case m.left > 0:
			m.left--
		default:
			pod.Status.Phase = corev1.PodSucceeded
			_, err := s.kube.CoreV1().Pods(target).UpdateStatus(s.t.Context(), &pod, metav1.UpdateOptions{})
			require.NoError(s.t, err)
			m.installs = 0
			s.start(name, revision)
		}
	}
}

// revisions returns what the status says about the nodes.
func (s *simulated) revisions() string {
	var texts []string
	for _, n := range s.operator.status.NodeStatuses {
		text := fmt.Sprintf("%s %d", n.NodeName, n.CurrentRevision)
		if n.TargetRevision != 0 {
			text += fmt.Sprintf(" to %d", n.TargetRevision)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// cacheInstallers lets the caches see the installers.
func (s *simulated) cacheInstallers() {
	list, err := s.kube.CoreV1().Pods(target).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app=installer"})
	require.NoError(s.t, err)
	store := s.caches.Core().V1().Pods().Informer().GetStore()
	for _, object := range store.List() {
		if pod := object.(*corev1.Pod); pod.Labels["app"] == "installer" {
			require.NoError(s.t, store.Delete(pod))
		}
	}
	for i := range list.Items {
		require.NoError(s.t, store.Add(&list.Items[i]))
	}
}

// forgetInstaller deletes an installer pod, if it exists.
func (s *simulated) forgetInstaller(name string) {
	if err := s.kube.CoreV1().Pods(target).Delete(
		s.t.Context(), name, metav1.DeleteOptions{},
	); !apierrors.IsNotFound(err) {
		require.NoError(s.t, err)
	}
}
