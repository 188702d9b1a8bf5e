package availability

import (
	"errors"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

// releasing is a controller and the API server with the cluster's lease.
type releasing struct {
	*controller
	kube     *fake.Clientset
	recorder events.InMemoryRecorder
	// others are pods of the namespace that are not the operand's.
	others []*corev1.Pod
}

func newReleasing() *releasing {
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(begin))
	kube := fake.NewClientset()
	return &releasing{controller: &controller{leaseClient: kube.CoordinationV1(), recorder: recorder}, kube: kube, recorder: recorder}
}

// observe calls releaseLease with the cluster as the caches have it.
func (r *releasing) observe(t *testing.T, c *cluster, second int) error {
	t.Helper()
	core := informers.NewSharedInformerFactory(r.kube, 0).Core().V1()
	for _, pod := range c.pods {
		require.NoError(t, core.Pods().Informer().GetIndexer().Add(pod))
	}
	for _, pod := range r.others {
		require.NoError(t, core.Pods().Informer().GetIndexer().Add(pod))
	}
	r.pods = core.Pods().Lister()
	return r.releaseLease(t.Context(), c.snapshot(second))
}

// released returns the lease that was written, nil if none was.
func (r *releasing) released() *coordinationv1.Lease {
	for _, action := range r.kube.Actions() {
		if update, ok := action.(clienttesting.UpdateAction); ok {
			return update.GetObject().(*coordinationv1.Lease)
		}
	}
	return nil
}

func TestTheLeaseOfAProcessThatHasEndedIsReleased(t *testing.T) {
	other := func(app, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: app, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: node},
		}
	}
	for name, tc := range map[string]struct {
		others []*corev1.Pod
		// unseen says that the operator did not run while the process led.
		unseen bool
		change func(c *cluster)
		want   bool
	}{
		"the next revision's container runs": {
			change: func(c *cluster) { c.install("m0", 5) }, want: true,
		},
		"the container was restarted": {
			change: func(c *cluster) { c.exit("m0", 5, "panic"); c.start("m0", 6) }, want: true,
		},
		"the container waits for its restart": {
			change: func(c *cluster) { c.exit("m0", 5, "panic") }, want: true,
		},
		"an installer and a pruner were on the node": {
			others: []*corev1.Pod{other("installer", "m0"), other("pruner", "m0")},
			change: func(c *cluster) { c.install("m0", 5) }, want: true,
		},
		"the predecessor's pod was on another node": {
			others: []*corev1.Pod{other("predecessor", "m1")},
			change: func(c *cluster) { c.install("m0", 5) }, want: true,
		},
		"the predecessor's pod was on the node and may be the holder": {
			others: []*corev1.Pod{other("predecessor", "m0.example.com")},
			change: func(c *cluster) { c.install("m0", 5) },
		},
		"another node has the same short name": {
			others: []*corev1.Pod{other("cloud-controller-manager", "m0.example.com")},
			change: func(c *cluster) { c.install("m0", 5) },
		},
		"nobody saw the process lead": {
			unseen: true,
			change: func(c *cluster) { c.install("m0", 5) },
		},
		"another process acquired it since": {
			change: func(c *cluster) { c.acquire("m0", "another", 2); c.install("m0", 5) },
		},
		"the process runs, and may be frozen": {
			change: func(*cluster) {},
		},
		"the new pod has no status yet": {
			change: func(c *cluster) { c.install("m0", 5); c.container("m0").State = corev1.ContainerState{} },
		},
		"the kubelet lost the container and does not know when it ended": {
			change: func(c *cluster) {
				c.exit("m0", 5, "")
				c.container("m0").LastTerminationState.Terminated.FinishedAt = metav1.Time{}
			},
		},
		"the pod is gone, and with it the proof": {
			change: func(c *cluster) { delete(c.pods, "m0") },
		},
		"the container of another node was restarted": {
			change: func(c *cluster) { c.exit("m1", 5, ""); c.start("m1", 6) },
		},
		"it renews after our container ended, so it is another process on the host": {
			change: func(c *cluster) { c.exit("m0", 5, ""); c.start("m0", 6); c.renew(9) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			r.others = tc.others
			c := threeMasters()
			c.acquire("m0", "a", -60)
			c.renew(0)
			c.lease.ResourceVersion = "17"
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			if !tc.unseen {
				require.NoError(t, r.observe(t, c, 1))
			}
			require.Nil(t, r.released())

			tc.change(c)
			require.NoError(t, r.observe(t, c, 10))
			lease := r.released()
			if !tc.want {
				require.Nil(t, lease)
				require.Empty(t, r.recorder.Events())
				return
			}
			want := c.lease.Spec.DeepCopy()
			want.HolderIdentity = ptr.To("")
			require.Equal(t, *want, lease.Spec)
			require.Equal(t, "17", lease.ResourceVersion, "a renewal since must make the update fail")
			require.Equal(t, "LeaseReleased", r.recorder.Events()[0].Reason)
			require.Equal(t, "Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder m0_a on node/m0 has ended",
				r.recorder.Events()[0].Message)
		})
	}
}

// The controllers of a CCM act until it sees that the lease is lost, so the lease of a process that may thaw is kept
// until it expires.
func TestTheLeaseOfAFrozenProcessIsNotReleased(t *testing.T) {
	r := newReleasing()
	c := threeMasters()
	c.acquire("m0", "a", -60)
	c.renew(0)
	for second := range 300 {
		require.NoError(t, r.observe(t, c, second))
	}
	require.Nil(t, r.released())
}

func TestAChangeOfTheLeaseSinceItWasReadKeepsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   string
	}{
		"it was renewed": {answer: apierrors.NewConflict(coordinationv1.Resource("leases"), "cloud-controller-manager", errors.New("changed"))},
		"it was deleted": {answer: apierrors.NewNotFound(coordinationv1.Resource("leases"), "cloud-controller-manager")},
		"the API server does not answer": {
			answer: errors.New("no answer"),
			want:   "releasing lease/cloud-controller-manager in openshift-cloud-controller-manager: no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			r.kube.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.answer })
			c := threeMasters()
			c.acquire("m0", "a", -60)
			c.renew(0)
			require.NoError(t, r.observe(t, c, 1))
			c.install("m0", 5)
			err := r.observe(t, c, 10)
			if tc.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.want)
			}
			require.Empty(t, r.recorder.Events())
		})
	}
}

// A container's start is truncated to a second, so a start in the second of the acquisition proves nothing.
func TestAStartInTheSecondOfTheAcquisitionProvesNothing(t *testing.T) {
	c := threeMasters()
	c.acquire("m0", "a", 0)
	c.lease.Spec.AcquireTime = &metav1.MicroTime{Time: at(0).Add(500 * time.Millisecond)}
	c.start("m0", 0)
	require.False(t, hasEnded(c.lease, *c.container("m0")))
	c.start("m0", 1)
	require.True(t, hasEnded(c.lease, *c.container("m0")))
}

func TestASyncReleasesTheLease(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(at(1))
	cluster := threeMasters()
	cluster.acquire("m0", "a", -60)
	cluster.renew(0)
	controller, caches := cluster.controllerAndCaches(t, "openstack", clock)
	require.NoError(t, caches.client.Tracker().Add(cluster.lease))
	syncCtx := factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))
	require.NoError(t, controller.Sync(t.Context(), syncCtx))

	cluster.install("m0", 5)
	require.NoError(t, caches.informers.Core().V1().Pods().Informer().GetIndexer().Update(cluster.pods["m0"]))
	clock.SetTime(at(10))
	require.NoError(t, controller.Sync(t.Context(), syncCtx))
	lease, err := caches.client.CoordinationV1().Leases("openshift-cloud-controller-manager").
		Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
}
