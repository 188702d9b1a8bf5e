package availability

import (
	"errors"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/internal/controllertest"
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

// witness makes the controller see that m0 leads: it renews the lease in second 0.
func (r *releasing) witness(t *testing.T, c *cluster) {
	t.Helper()
	c.renew(-26)
	require.NoError(t, r.observe(t, c, -1))
	c.renew(0)
	require.NoError(t, r.observe(t, c, 1))
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
		"the pod of the next revision has no status yet": {
			change: func(c *cluster) {
				c.install("m0", 5)
				c.pods["m0"].Annotations = map[string]string{"kubernetes.io/config.hash": "next"}
				c.container("m0").State = corev1.ContainerState{}
			},
			want: true,
		},
		"the same mirror pod was made again, without a status": {
			change: func(c *cluster) {
				c.install("m0", 5)
				c.pods["m0"].Annotations = map[string]string{"kubernetes.io/config.hash": "former"}
				c.container("m0").State = corev1.ContainerState{}
			},
		},
		"the pod of the next revision appears on another node": {
			change: func(c *cluster) {
				c.install("m1", 5)
				c.pods["m1"].Annotations = map[string]string{"kubernetes.io/config.hash": "next"}
			},
		},
		"a new pod has neither a status nor a hash": {
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
			c.pods["m0"].Annotations = map[string]string{"kubernetes.io/config.hash": "former"}
			c.acquire("m0", "a", -60)
			c.renew(0)
			c.lease.ResourceVersion = "17"
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			if !tc.unseen {
				r.witness(t, c)
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

// An etcd that was restored from an older snapshot has the lease and the pods of that time. The process that led until
// the restore still acts, so no other one may acquire the lease before it expires.
func TestTheLeaseOfARestoredClusterIsNotReleased(t *testing.T) {
	restored := func() *cluster {
		c := threeMasters()
		c.acquire("m0", "a", -60)
		c.lease.Spec.LeaseTransitions = ptr.To(int32(3))
		c.renew(-10)
		return c
	}
	for name, before := range map[string]func(t *testing.T, r *releasing){
		"the operator was away":          func(*testing.T, *releasing) {},
		"the operator saw it led before": func(t *testing.T, r *releasing) { r.witness(t, restored()) },
		"the operator saw the next one lead": func(t *testing.T, r *releasing) {
			c := restored()
			r.witness(t, c)
			c.start("m0", 5)
			c.acquire("m1", "b", 7)
			c.lease.Spec.LeaseTransitions = ptr.To(int32(4))
			require.NoError(t, r.observe(t, c, 8))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			before(t, r)
			c := restored()
			require.NoError(t, r.observe(t, c, 30))
			// The kubelet reports that the container was restarted after the snapshot.
			c.start("m0", 5)
			for second := 31; second < 200; second++ {
				require.NoError(t, r.observe(t, c, second))
			}
			require.Nil(t, r.released())

			// A process of the present acquires it when it has expired.
			c.acquire("m1", "c", 200)
			c.lease.Spec.LeaseTransitions = ptr.To(int32(4))
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			require.NoError(t, r.observe(t, c, 201))
			c.exit("m1", 210, "panic")
			require.NoError(t, r.observe(t, c, 211))
			require.NotNil(t, r.released())
		})
	}
}

// An upgrade replaces the operator and then the only static pod, before the next renewal.
func TestTheLeaseOfASingleNodeIsReleasedByANewOperator(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*cluster)
		want   bool
	}{
		"the only node":                         {change: func(*cluster) {}, want: true},
		"a Node that lost the role has one too": {change: func(c *cluster) { c.withoutRole = []string{"m1"} }},
		"more nodes are to come":                {change: func(c *cluster) { c.topology = configv1.HighlyAvailableTopologyMode }},
		"a second node":                         {change: func(c *cluster) { c.join("m1") }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster("m0")
			tc.change(c)
			r := newReleasing()
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			require.NoError(t, r.observe(t, c, 1))
			c.exit("m0", 5, "")
			require.NoError(t, r.observe(t, c, 6))
			require.Equal(t, tc.want, r.released() != nil)
		})
	}
}

// A container's times have no fractions, so only the silence of the holder distinguishes a container that ended after
// it had acquired the lease from the next one that acquired it.
func TestTheLeaseOfAProcessThatEndedWithinTheSecondOfItsAcquisitionIsReleased(t *testing.T) {
	const acquired = 10
	for name, tc := range map[string]struct {
		// change is what the kubelet reports a second later.
		change func(c *cluster)
		renews bool
		// want is the second of the release, 0 if there is none.
		want int
	}{
		"the next container runs":          {change: func(*cluster) {}, want: acquired + 54},
		"the container waits for a start":  {change: func(c *cluster) { c.exit("m1", acquired, "") }, want: acquired + 54},
		"the next container renews":        {change: func(*cluster) {}, renews: true},
		"the next container may be frozen": {change: func(c *cluster) { c.ready("m1", false) }},
		"no container was started again": {
			change: func(c *cluster) { c.container("m1").LastTerminationState = corev1.ContainerState{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			r.witness(t, c)
			c.acquireWithin("m1", "second", acquired)
			c.lease.Spec.LeaseTransitions = ptr.To(int32(1))
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			require.NoError(t, r.observe(t, c, acquired))

			c.restart("m1", acquired)
			tc.change(c)
			got := 0
			for second := acquired + 1; second < acquired+130 && got == 0; second++ {
				if tc.renews && (second-acquired)%26 == 0 {
					c.renew(second)
				}
				require.NoError(t, r.observe(t, c, second))
				if r.released() != nil {
					got = second
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// The controllers of a CCM act until it sees that the lease is lost, so the lease of a process that may thaw is kept
// until it expires.
func TestTheLeaseOfAFrozenProcessIsNotReleased(t *testing.T) {
	r := newReleasing()
	c := threeMasters()
	c.acquire("m0", "a", -60)
	r.witness(t, c)
	for second := range 300 {
		require.NoError(t, r.observe(t, c, second+1))
	}
	require.Nil(t, r.released())
}

// A node that does not report may be cut off from the API server only. The taint declares that it is shut down.
func TestTheLeaseOfAProcessOnANodeOutOfServiceIsReleased(t *testing.T) {
	outOfService := []corev1.Taint{{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
	for name, tc := range map[string]struct {
		taints []corev1.Taint
		ready  corev1.ConditionStatus
		// renewed are the seconds of renewals after the node was tainted in second 10.
		renewed []int
		foreign bool
		// want is the second of the release, 0 if there is none.
		want int
	}{
		"the node is out of service":              {taints: outOfService, ready: corev1.ConditionUnknown, want: 55},
		"the process goes on to renew the lease":  {taints: outOfService, ready: corev1.ConditionUnknown, renewed: []int{20, 46}, want: 100},
		"the kubelet reports":                     {taints: outOfService, ready: corev1.ConditionTrue},
		"the node is only unreachable":            {taints: []corev1.Taint{{Key: "node.kubernetes.io/unreachable"}}, ready: corev1.ConditionUnknown},
		"another process on the host may hold it": {taints: outOfService, ready: corev1.ConditionUnknown, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			c.acquire("m0", "a", -60)
			c.renew(0)
			if tc.foreign {
				r.others = []*corev1.Pod{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "predecessor"},
					Spec:       corev1.PodSpec{NodeName: "m0"},
				}}
			}
			require.NoError(t, r.kube.Tracker().Add(c.lease))
			r.witness(t, c)
			got := 0
			for second := 1; second < 130 && got == 0; second++ {
				if second == 10 {
					c.nodes["m0"].Spec.Taints = tc.taints
					c.nodes["m0"].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.ready}}
				}
				if slices.Contains(tc.renewed, second) {
					c.renew(second)
				}
				require.NoError(t, r.observe(t, c, second))
				if r.released() != nil {
					got = second
				}
			}
			require.Equal(t, tc.want, got)
			if tc.want != 0 {
				require.Equal(t, "Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder m0_a is on a node that "+
					"is out of service", r.recorder.Events()[0].Message)
			}
		})
	}
}

func TestASilentHolderIsLookedAtWithoutAnEvent(t *testing.T) {
	for name, change := range map[string]func(c *cluster){
		"on a node that is out of service": func(c *cluster) {
			c.nodes["m0"].Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/out-of-service"}}
		},
		"that was restarted within the second of its acquisition": func(c *cluster) { c.restart("m0", -2) },
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(at(-2))
			cluster := threeMasters()
			cluster.acquireWithin("m0", "a", -2)
			controller, caches := cluster.controllerAndCaches(t, "openstack", clock)
			leases := caches.informers.Coordination().V1().Leases().Informer().GetIndexer()
			require.NoError(t, caches.client.Tracker().Add(cluster.lease))
			timer := controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock))
			former := cluster.lease.DeepCopy()
			*former.Spec.HolderIdentity = ""
			former.Spec.AcquireTime.Time, former.Spec.RenewTime.Time = at(-60), at(-60)
			for _, lease := range []*coordinationv1.Lease{former, cluster.lease} {
				require.NoError(t, leases.Update(lease))
				require.NoError(t, controller.Sync(t.Context(), timer))
			}
			change(cluster)
			require.NoError(t, caches.informers.Core().V1().Pods().Informer().GetIndexer().Update(cluster.pods["m0"]))
			require.NoError(t, caches.informers.Core().V1().Nodes().Informer().GetIndexer().Update(cluster.nodes["m0"]))
			_, err := timer.Run(t.Context(), controller.Sync, time.Minute)
			require.NoError(t, err)
			lease, err := caches.client.CoordinationV1().Leases("openshift-cloud-controller-manager").
				Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
			require.NoError(t, err)
			require.Empty(t, *lease.Spec.HolderIdentity)
		})
	}
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
			r.witness(t, c)
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

// Without its lease, the holder acts on for up to 107 seconds, and a standby would begin at once.
func TestADeletedLeaseIsRestored(t *testing.T) {
	for name, tc := range map[string]struct {
		// unseen says that the operator has not seen a renewal.
		unseen bool
		change func(c *cluster)
		second int
		want   bool
	}{
		"while a process holds it":           {second: 10, want: true},
		"while a frozen process holds it":    {second: 130, want: true},
		"after it has expired":               {second: 140},
		"after it was released":              {second: 10, change: func(c *cluster) { *c.lease.Spec.HolderIdentity = "" }},
		"that nobody has renewed since then": {second: 10, unseen: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			c.acquire("m0", "a", -60)
			if tc.unseen {
				require.NoError(t, r.observe(t, c, 1))
			} else {
				r.witness(t, c)
			}
			if tc.change != nil {
				c.lease = c.lease.DeepCopy()
				tc.change(c)
				require.NoError(t, r.observe(t, c, 2))
			}
			want := c.lease.Spec
			c.lease = &coordinationv1.Lease{}
			for range 2 {
				require.NoError(t, r.observe(t, c, tc.second), "an existing one stays")
			}
			restored, err := r.kube.CoordinationV1().Leases("openshift-cloud-controller-manager").
				Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
			if !tc.want {
				require.True(t, apierrors.IsNotFound(err), "%v", err)
				require.Empty(t, r.recorder.Events())
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, restored.Spec)
			require.Len(t, r.recorder.Events(), 1)
			require.Equal(t, "LeaseRestored", r.recorder.Events()[0].Reason)
		})
	}
}

func TestALeaseThatCannotBeRestoredIsAnError(t *testing.T) {
	r := newReleasing()
	r.kube.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no answer")
	})
	c := threeMasters()
	c.acquire("m0", "a", -60)
	r.witness(t, c)
	c.lease = &coordinationv1.Lease{}
	require.EqualError(t, r.observe(t, c, 10),
		"restoring lease/cloud-controller-manager in openshift-cloud-controller-manager: no answer")
}

func TestASyncReleasesTheLease(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(at(-1))
	cluster := threeMasters()
	cluster.acquire("m0", "a", -60)
	controller, caches := cluster.controllerAndCaches(t, "openstack", clock)
	require.NoError(t, caches.client.Tracker().Add(cluster.lease))
	syncCtx := factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))
	require.NoError(t, controller.Sync(t.Context(), syncCtx))
	cluster.renew(0)
	require.NoError(t, caches.informers.Coordination().V1().Leases().Informer().GetIndexer().Update(cluster.lease))
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
