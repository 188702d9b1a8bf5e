package staticpod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
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
		"it is the installer's pod": {
			seen: []*corev1.Pod{withApp(staticPod("1", true), "installer")}, want: []bool{true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
			kube := fake.NewClientset()
			pods := newSettledPods(kube.CoreV1(), clock, func(string) (int32, error) { return map[bool]int32{false: 4}[tc.elsewhere], nil })
			for second, seen := range tc.seen {
				if second > 0 {
					clock.SetTime(clock.Now().Add(time.Second))
				}
				_ = kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), target, seen.Name)
				require.NoError(t, kube.Tracker().Add(seen.DeepCopy()))
				got, err := pods.Pods(target).Get(t.Context(), seen.Name, metav1.GetOptions{})
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

func withApp(p *corev1.Pod, app string) *corev1.Pod {
	p.Labels["app"] = app
	return p
}

// newInstaller returns the installer controller of a cluster with this status. The objects of the latest revision
// exist; its static pod has the images openstack and operator.
func newInstaller(
	t *testing.T, clock *clocktesting.FakePassiveClock, status *operatorv1.StaticPodOperatorStatus,
	objects ...runtime.Object,
) (factory.Controller, v1helpers.StaticPodOperatorClient, *fake.Clientset) {
	t.Helper()
	kube := fake.NewClientset(objects...)
	caches := informers.NewSharedInformerFactory(kube, 0)
	suffix := fmt.Sprintf("-%d", status.LatestAvailableRevision)
	configMaps, secrets := candidate(t, suffix)
	revisionStatus := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "revision-status" + suffix}}
	for _, configMap := range append(configMaps, revisionStatus) {
		require.NoError(t, kube.Tracker().Add(configMap))
		require.NoError(t, caches.Core().V1().ConfigMaps().Informer().GetStore().Add(configMap))
	}
	for _, secret := range secrets {
		require.NoError(t, kube.Tracker().Add(secret))
	}
	nodes := informers.NewSharedInformerFactory(kube, 0)
	for _, node := range status.NodeStatuses {
		require.NoError(
			t,
			nodes.Core().V1().Nodes().Informer().GetStore().Add(
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.NodeName}},
			),
		)
	}
	var lease controlplane.Lease
	for _, object := range objects {
		switch o := object.(type) {
		case *corev1.Pod:
			require.NoError(t, caches.Core().V1().Pods().Informer().GetStore().Add(o))
		case *coordinationv1.Lease:
			lease.See(o, clock.Now())
		}
	}
	operator := v1helpers.NewFakeStaticPodOperatorClient(
		&operatorv1.StaticPodOperatorSpec{
			OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed},
		}, status, nil, nil)
	return newInstallerController(Options{
		Operator: operator, Kube: kube, Target: caches, Nodes: nodes, ConfigMaps: kube.CoreV1(), Secrets: kube.CoreV1(),
		Clock: clock, Lease: &lease,
		Recorder: events.NewInMemoryRecorder("test", clock), OperatorImage: "operator",
	}, nodePods{
		PodsGetter: kube.CoreV1(), lister: caches.Core().V1().Pods().Lister(), image: "operator",
		server: func() (*url.URL, error) { return url.Parse("https://api-int:6443") },
	}), operator, kube
}

// Without the wrapped pods or the timer, the node would be at the revision at once or only after an unrelated event.
func TestARolloutGoesOnWhenTheStaticPodHasStayedReady(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	installed := pod("installer-1-master-0", map[string]string{"app": "installer"})
	installed.Status.Phase = corev1.PodSucceeded
	controller, operator, _ := newInstaller(t, clock, &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 1},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0", TargetRevision: 1}},
	}, installed, staticPod("1", true))
	var currentAt []int32
	calls, err := controllertest.NewTimer(
		clock, events.NewInMemoryRecorder("test", clock),
	).Run(t.Context(), func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := controller.Sync(ctx, syncCtx)
		_, status, _, statusErr := operator.GetStaticPodOperatorState()
		currentAt = append(currentAt, status.NodeStatuses[0].CurrentRevision)
		return errors.Join(err, statusErr)
	}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, settlePeriod}, calls)
	require.Equal(t, []int32{0, 1}, currentAt)
}

func TestARolloutBeginsOnANodeThatDoesNotLead(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 2}}
	objects := []runtime.Object{&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("master-0_uuid")},
	}}
	for _, node := range []string{"master-0", "master-1", "master-2"} {
		status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{NodeName: node, CurrentRevision: 1})
		running := staticPod(node, true)
		running.Name = "cloud-controller-manager-" + node
		objects = append(objects, running)
	}
	controller, operator, _ := newInstaller(t, clock, status, objects...)
	require.NoError(
		t, controller.Sync(t.Context(), controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock))),
	)
	_, status, _, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	var targets []string
	for _, node := range status.NodeStatuses {
		targets = append(targets, fmt.Sprintf("%s: %d", node.NodeName, node.TargetRevision))
	}
	require.ElementsMatch(t, []string{"master-0: 0", "master-1: 2", "master-2: 0"}, targets)
}

// A container that was restarted a moment ago has not stayed Ready yet.
func TestARolloutDoesNotBeginWithALeaderThatWasRestarted(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 2}}
	objects := []runtime.Object{&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("master-0_uuid")},
	}}
	var pods []*corev1.Pod
	for _, node := range []string{"master-0", "master-1"} {
		status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{NodeName: node, CurrentRevision: 2})
		running := staticPod(node, true)
		running.Name, running.Spec.NodeName = "cloud-controller-manager-"+node, node
		pods, objects = append(pods, running), append(objects, running)
	}
	controller, operator, _ := newInstaller(t, clock, status, objects...)
	syncCtx := controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock))
	require.NoError(t, controller.Sync(t.Context(), syncCtx))
	clock.SetTime(clock.Now().Add(time.Minute))
	pods[0].Status.ContainerStatuses[1].ContainerID = "restarted"
	_, status, version, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	for i := range status.NodeStatuses {
		status.NodeStatuses[i].CurrentRevision = 1
	}
	_, err = operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
	require.NoError(t, controller.Sync(t.Context(), syncCtx))
	_, status, _, err = operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	for _, node := range status.NodeStatuses {
		require.Equal(t, node.NodeName == "master-1", node.TargetRevision == 2, node)
	}
}

// The node repair sets such a target. library-go's controller would do nothing, and could not lower the revision.
func TestARevisionIsInstalledAgainOnANodeThatIsAtIt(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	again := operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: 1, TargetRevision: 1}
	controller, operator, kube := newInstaller(t, clock, &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 1},
		NodeStatuses:   []operatorv1.NodeStatus{again},
	}, staticPod("1", true))
	sync := func() operatorv1.NodeStatus {
		_, err := controllertest.NewTimer(
			clock, events.NewInMemoryRecorder("test", clock),
		).Run(t.Context(), controller.Sync, settlePeriod)
		require.NoError(t, err)
		_, status, _, err := operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		require.Len(t, status.NodeStatuses, 1)
		return status.NodeStatuses[0]
	}
	require.Equal(t, again, sync())
	installing, err := kube.CoreV1().Pods(target).Get(t.Context(), "installer-1-master-0", metav1.GetOptions{})
	require.NoError(t, err)

	installing.Status.Phase = corev1.PodSucceeded
	_, err = kube.CoreV1().Pods(target).UpdateStatus(t.Context(), installing, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: 1}, sync())
}

// library-go's controller reports its errors itself, and before the first revision that is corrected.
func TestAnErrorOfTheInstallerControllerIsNotReportedTwice(t *testing.T) {
	s := newSimulated(t, "m0")
	require.NoError(t, s.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), target, "cloud-credentials-1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.caches.Start(ctx.Done())
	s.nodes.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { s.controller.Run(ctx, 1) })
	// The first sync is over, with all that is reported about it, when the second one fails.
	require.Eventually(t, func() bool {
		failed := 0
		for _, event := range s.recorder.Events() {
			if event.Reason == "RequiredInstallerResourcesMissing" {
				failed++
			}
		}
		return failed > 1
	}, 10*time.Second, time.Millisecond)
	cancel()
	running.Wait()
	require.Contains(t, s.operator.condition(t, "InstallerControllerDegraded"), "True: missing required resources: ")
	require.Nil(t, v1helpers.FindOperatorCondition(s.operator.status.Conditions, "InstallerDegraded"))
}
