package availability

import (
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
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

const uuid = "_5a7a3f3e-8b53-4b36-9f5e-8d3a7f4f5b5c"

func pod(node string, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-cloud-controller-manager",
			Name:      "cloud-controller-manager-" + node,
			Labels:    map[string]string{"app": "cloud-controller-manager"},
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

// lease is held by identity, was renewed so long before now, and lasts 137 s.
func lease(identity string, renewedBefore time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "cloud-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       ptr.To(identity),
			LeaseDurationSeconds: ptr.To(int32(137)),
			RenewTime:            &metav1.MicroTime{Time: now.Add(-renewedBefore)},
		},
	}
}

func TestJudge(t *testing.T) {
	leaving := pod("master-0", true)
	leaving.DeletionTimestamp = &metav1.Time{Time: now}

	for name, tc := range map[string]struct {
		pods  []*corev1.Pod
		lease *coordinationv1.Lease
		want  verdict
	}{
		"all are Ready and one leads": {
			pods:  []*corev1.Pod{pod("master-0", true), pod("master-1", true), pod("master-2", true)},
			lease: lease("master-1"+uuid, 20*time.Second),
			want: verdict{reason: "AsExpected", holdsFor: 117 * time.Second, patience: 137 * time.Second,
				message: "3 of 3 cloud-controller-managers are Ready; the one on node/master-1 leads"},
		},
		"one that is not Ready does not matter": {
			pods:  []*corev1.Pod{pod("master-0", true), pod("master-1", false)},
			lease: lease("master-0"+uuid, 0),
			want: verdict{reason: "AsExpected", holdsFor: 137 * time.Second, patience: 137 * time.Second,
				message: "1 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads"},
		},
		"a leader that restarts is still a live pod": {
			pods:  []*corev1.Pod{pod("master-0", false), pod("master-1", true)},
			lease: lease("master-0"+uuid, 100*time.Second),
			want: verdict{reason: "AsExpected", holdsFor: 37 * time.Second, patience: 137 * time.Second,
				message: "1 of 3 cloud-controller-managers are Ready; the one on node/master-0 leads"},
		},
		"a host that calls itself by its short name is found": {
			pods:  []*corev1.Pod{pod("master-0.example.com", true), pod("master-1.example.com", true)},
			lease: lease("master-1"+uuid, 0),
			want: verdict{reason: "AsExpected", holdsFor: 137 * time.Second, patience: 137 * time.Second,
				message: "2 of 3 cloud-controller-managers are Ready; the one on node/master-1.example.com leads"},
		},
		"a full name prefers its own node to one with the same short name": {
			pods:  []*corev1.Pod{pod("master.a", true), pod("master.b", true)},
			lease: lease("master.b"+uuid, 0),
			want: verdict{reason: "AsExpected", holdsFor: 137 * time.Second, patience: 137 * time.Second,
				message: "2 of 3 cloud-controller-managers are Ready; the one on node/master.b leads"},
		},
		"no pod at all": {
			lease: &coordinationv1.Lease{ObjectMeta: lease("", 0).ObjectMeta},
			want: verdict{reason: "NoReadyPod", patience: 2 * time.Minute, message: "None of the 0 cloud-controller-manager pods in openshift-cloud-controller-manager " +
				"is Ready; look at their state and at the logs of their container cloud-controller-manager"},
		},
		"a Ready pod that is being deleted does not count": {
			pods:  []*corev1.Pod{leaving},
			lease: lease("master-0"+uuid, 0),
			want: verdict{reason: "NoReadyPod", holdsFor: 137 * time.Second, patience: 137 * time.Second, message: "None of the 1 cloud-controller-manager pods in " +
				"openshift-cloud-controller-manager is Ready; look at their state and at the logs of their container cloud-controller-manager"},
		},
		"an image that cannot be pulled is named": {
			pods: []*corev1.Pod{
				waiting(pod("master-1", false), "ImagePullBackOff"), waiting(pod("master-0", false), "ImagePullBackOff"),
				waiting(pod("master-2", false), "ContainerCreating"),
			},
			lease: &coordinationv1.Lease{ObjectMeta: lease("", 0).ObjectMeta},
			want: verdict{reason: "NoReadyPod", patience: 2 * time.Minute, message: "None of the 3 cloud-controller-manager pods in openshift-cloud-controller-manager " +
				"is Ready: container cloud-controller-manager of pod/cloud-controller-manager-master-0 with image registry/ccm:1 is in ImagePullBackOff, " +
				"container cloud-controller-manager of pod/cloud-controller-manager-master-1 with image registry/ccm:1 is in ImagePullBackOff; " +
				"look at their state and at the logs of their container cloud-controller-manager"},
		},
		"nobody ever held the lease": {
			pods:  []*corev1.Pod{pod("master-0", true)},
			lease: &coordinationv1.Lease{ObjectMeta: lease("", 0).ObjectMeta},
			want: verdict{reason: "NoLeader", patience: 2 * time.Minute, message: "Nobody holds lease/cloud-controller-manager in openshift-cloud-controller-manager though " +
				"1 of 3 cloud-controller-managers are Ready; look at the logs of the container cloud-controller-manager for what keeps it from writing there"},
		},
		"the lease has run out": {
			pods:  []*corev1.Pod{pod("master-0", true)},
			lease: lease("master-0"+uuid, 137*time.Second),
			want: verdict{reason: "LeaseExpired", patience: 137 * time.Second, message: `"master-0` + uuid + `" has stopped renewing lease/cloud-controller-manager in ` +
				"openshift-cloud-controller-manager and nobody has taken over though 1 of 3 cloud-controller-managers are Ready; " +
				"look at the logs of the container cloud-controller-manager for errors of its leader election"},
		},
		"somebody else holds the lease": {
			pods:  []*corev1.Pod{pod("master-0", true)},
			lease: lease("laptop"+uuid, 7*time.Second),
			want: verdict{reason: "ForeignLeader", holdsFor: 130 * time.Second, patience: 137 * time.Second, message: "lease/cloud-controller-manager in " +
				`openshift-cloud-controller-manager is held by "laptop` + uuid + `", which is none of the pods cloud-controller-manager ` +
				"of this operator; stop that cloud-controller-manager"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, judge(tc.pods, tc.lease, 3, now))
		})
	}
}

// world is a controller over fakes.
type world struct {
	*controller
	client interface {
		v1helpers.StaticPodOperatorClient
	}
	clock *clocktesting.FakeClock
	kube  informers.SharedInformerFactory
}

func newWorld(t *testing.T, platform string, status *operatorv1.StaticPodOperatorStatus, objects ...runtime.Object) *world {
	t.Helper()
	client := v1helpers.NewFakeStaticPodOperatorClient(&operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"` + platform + `"}`)},
	}}, status, nil, nil)
	kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, object := range objects {
		switch o := object.(type) {
		case *corev1.Pod:
			require.NoError(t, kube.Core().V1().Pods().Informer().GetIndexer().Add(o))
		case *coordinationv1.Lease:
			require.NoError(t, kube.Coordination().V1().Leases().Informer().GetIndexer().Add(o))
		}
	}
	clock := clocktesting.NewFakeClock(now)
	return &world{
		controller: &controller{
			operator: client, pods: kube.Core().V1().Pods().Lister(), leases: kube.Coordination().V1().Leases().Lister(), clock: clock,
		},
		client: client, clock: clock, kube: kube,
	}
}

// conditions syncs and returns the written conditions.
func (w *world) conditions(t *testing.T) []operatorv1.OperatorCondition {
	t.Helper()
	require.NoError(t, w.sync(t.Context(), factory.NewSyncContext("test", events.NewInMemoryRecorder("test", w.clock))))
	_, status, _, err := w.client.GetStaticPodOperatorState()
	require.NoError(t, err)
	return status.Conditions
}

func installed(conditions ...operatorv1.OperatorCondition) *operatorv1.StaticPodOperatorStatus {
	return &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{Conditions: conditions},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 3}},
	}
}

const noPodMessage = "None of the 1 cloud-controller-manager pods in openshift-cloud-controller-manager is Ready; " +
	"look at their state and at the logs of their container cloud-controller-manager"

func TestSync(t *testing.T) {
	for name, tc := range map[string]struct {
		platform string
		status   *operatorv1.StaticPodOperatorStatus
		objects  []runtime.Object
		want     []operatorv1.OperatorCondition
	}{
		"a working operand is available": {
			platform: "openstack",
			status:   installed(),
			objects:  []runtime.Object{pod("master-0", true), lease("master-0"+uuid, 0)},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected",
					Message: "1 of 1 cloud-controller-managers are Ready; the one on node/master-0 leads"},
				{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"before the first revision it is unavailable and progressing, but not degraded": {
			platform: "openstack",
			status:   &operatorv1.StaticPodOperatorStatus{NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0"}}},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod",
					Message: "None of the 0 cloud-controller-manager pods in openshift-cloud-controller-manager is Ready; " +
						"look at their state and at the logs of their container cloud-controller-manager"},
				{Type: "CloudControllerManagerProgressing", Status: "True", Reason: "FirstRollout",
					Message: "No control-plane node runs a revision yet; conditions that are Degraded tell what holds it up"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"after a restart of the operator an old False stays, and is degraded once it has lasted": {
			platform: "openstack",
			status: installed(operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "False",
				LastTransitionTime: metav1.NewTime(now.Add(-2 * time.Minute))}),
			objects: []runtime.Object{pod("master-0", false), lease("master-0"+uuid, 0)},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPodMessage},
				{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected"},
				{Type: "CloudControllerManagerDegraded", Status: "True", Reason: "NoReadyPod", Message: noPodMessage},
			},
		},
		"a False of a moment ago is not degraded": {
			platform: "openstack",
			status: installed(operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "False",
				LastTransitionTime: metav1.NewTime(now.Add(-119 * time.Second))}),
			objects: []runtime.Object{pod("master-0", false), lease("master-0"+uuid, 0)},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPodMessage},
				{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
		"on a platform without one nothing is said": {platform: "none", status: installed()},
		"while the platform is unknown, neither":    {platform: "", status: installed()},
		"a pod of somebody else does not make it run": {
			platform: "openstack",
			status:   installed(),
			objects: []runtime.Object{&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "installer-1-master-0", Labels: map[string]string{"app": "installer"}},
				Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			}},
			want: []operatorv1.OperatorCondition{
				{Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod",
					Message: "None of the 0 cloud-controller-manager pods in openshift-cloud-controller-manager is Ready; " +
						"look at their state and at the logs of their container cloud-controller-manager"},
				{Type: "CloudControllerManagerProgressing", Status: "False", Reason: "AsExpected"},
				{Type: "CloudControllerManagerDegraded", Status: "False", Reason: "AsExpected"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.platform, tc.status, tc.objects...)
			require.Equal(t, tc.want, w.conditions(t))
		})
	}
}

func TestATroubleHasToLastBeforeItIsReported(t *testing.T) {
	w := newWorld(t, "openstack", installed(operatorv1.OperatorCondition{
		Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected", Message: "said before",
	}), pod("master-0", false), lease("master-0"+uuid, 0))

	available := func() *operatorv1.OperatorCondition {
		return v1helpers.FindOperatorCondition(w.conditions(t), "CloudControllerManagerAvailable")
	}
	said := &operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "True", Reason: "AsExpected", Message: "said before"}
	require.Equal(t, said, available(), "at once")
	w.clock.Step(136 * time.Second)
	require.Equal(t, said, available(), "just before")
	w.clock.Step(time.Second)
	require.Equal(t, &operatorv1.OperatorCondition{
		Type: "CloudControllerManagerAvailable", Status: "False", Reason: "NoReadyPod", Message: noPodMessage,
	}, available(), "when it has lasted")

	require.NoError(t, w.kube.Core().V1().Pods().Informer().GetIndexer().Update(pod("master-0", true)))
	require.NoError(t, w.kube.Coordination().V1().Leases().Informer().GetIndexer().Update(lease("master-0"+uuid, -137*time.Second)))
	require.Equal(t, operatorv1.ConditionTrue, available().Status, "as soon as it is over")
	require.NoError(t, w.kube.Core().V1().Pods().Informer().GetIndexer().Update(pod("master-0", false)))
	require.Equal(t, operatorv1.ConditionTrue, available().Status, "a new trouble has its own time")
}

func TestTimers(t *testing.T) {
	for name, tc := range map[string]struct {
		seen   verdict
		status *operatorv1.StaticPodOperatorStatus
		want   time.Duration
	}{
		"a lease that is renewed is looked at when it would run out": {
			seen: verdict{reason: "AsExpected", holdsFor: 100 * time.Second}, status: installed(), want: 100 * time.Second,
		},
		"a trouble is looked at when it has lasted": {
			seen:   verdict{reason: "LeaseExpired", patience: 270 * time.Second},
			status: installed(operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "True"}),
			want:   270 * time.Second,
		},
		"an Available that has just turned False is looked at when it is to be degraded": {
			seen: verdict{reason: "LeaseExpired"},
			status: installed(operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "False",
				LastTransitionTime: metav1.NewTime(now.Add(-30 * time.Second))}),
			want: 90 * time.Second,
		},
		"the sooner one counts": {
			seen:   verdict{reason: "ForeignLeader", holdsFor: 50 * time.Second, patience: 137 * time.Second},
			status: installed(operatorv1.OperatorCondition{Type: "CloudControllerManagerAvailable", Status: "True"}),
			want:   50 * time.Second,
		},
		"what only an event can change is left to the event": {
			seen: verdict{reason: "NoReadyPod"}, status: &operatorv1.StaticPodOperatorStatus{}, want: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, next := (&controller{clock: clocktesting.NewFakePassiveClock(now)}).decide(tc.seen, tc.status)
			require.Equal(t, tc.want, next)
		})
	}
}

// waiting makes the pod's container wait for a reason.
func waiting(pod *corev1.Pod, reason string) *corev1.Pod {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "cloud-controller-manager", Image: "registry/ccm:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}
	return pod
}
