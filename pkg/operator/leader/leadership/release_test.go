package leadership

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// cluster is a simulated control plane.
type cluster struct{ *controlplanetest.Cluster }

var begin = controlplanetest.Begin

func at(second int) time.Time { return controlplanetest.At(second) }

func newCluster(nodes ...string) *cluster { return &cluster{controlplanetest.New(nodes...)} }

func threeMasters() *cluster { return newCluster("m0", "m1", "m2") }

// releasing is a controller and the API server with the cluster's lease.
type releasing struct {
	*controller
	kube     *fake.Clientset
	recorder events.InMemoryRecorder
	// others are pods of the namespace that are not the operand's.
	others []*corev1.Pod
	// next is when the controller wants to be called.
	next time.Duration
	// skew is how far its clock is ahead.
	skew time.Duration
}

func newReleasing() *releasing {
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(begin))
	kube := fake.NewClientset()
	return &releasing{
		controller: &controller{
			Deps:    dependencies.Deps{Lease: &controlplane.Lease{}, Kube: kube, Recorder: recorder},
			Options: Options{NodeController: &controlplane.NodeController{}},
		},
		kube: kube, recorder: recorder,
	}
}

// observe calls the controller with the cluster as the caches have it.
func (r *releasing) observe(t *testing.T, c *cluster, second int) error {
	t.Helper()
	if c.Lease != nil {
		r.Lease.See(c.Lease, at(second).Add(r.skew))
	} else {
		r.Lease.Deleted(r.Lease.Record().Lease, at(second).Add(r.skew))
	}
	c.Others = r.others
	var err error
	r.next, err = r.keepLease(t.Context(), r.controller.observe(c.ViewOf(r.Lease.Record(), at(second).Add(r.skew))))
	return err
}

// witness makes the controller see that m0 leads: it renews the lease in second 0.
func (r *releasing) witness(t *testing.T, c *cluster) {
	t.Helper()
	c.Renew(-26)
	require.NoError(t, r.observe(t, c, -1))
	c.Renew(0)
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

// untilReleased calls the controller in every second until it releases the lease, and returns that second.
func (r *releasing) untilReleased(t *testing.T, c *cluster, from, to int) int {
	t.Helper()
	for second := from; second < to; second++ {
		require.NoError(t, r.observe(t, c, second))
		if r.released() != nil {
			return second
		}
	}
	return 0
}

func TestTheLeaseOfAProcessThatHasEndedIsReleased(t *testing.T) {
	other := func(app, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "openshift-cloud-controller-manager",
				Name:      app,
				Labels:    map[string]string{"app": app},
			},
			Spec: corev1.PodSpec{NodeName: node},
		}
	}
	restart := func(c *cluster) { c.Exit("m0", 5, "panic"); c.Start("m0", 6) }
	for name, tc := range map[string]struct {
		others []*corev1.Pod
		// unseen says that the operator did not run while the process led.
		unseen bool
		// change is what the kubelets report in second 10.
		change func(c *cluster)
		// want is the second of the release, 0 if there is none.
		want int
	}{
		"the container was restarted": {change: restart, want: 10},
		"the container waits for its restart": {
			change: func(c *cluster) { c.Exit("m0", 5, "panic") }, want: 10,
		},
		"the container was ended by a rollout": {
			change: func(c *cluster) {
				c.Exit("m0", 5, "")
				container := c.Container("m0")
				container.State, container.LastTerminationState = container.LastTerminationState, corev1.ContainerState{}
			},
			want: 10,
		},
		"pods of the operator were on the node": {
			others: []*corev1.Pod{other("installer", "m0"), other("pruner", "m0"), other("handover", "m0")}, change: restart, want: 10,
		},
		"the predecessor's pod was on another node": {
			others: []*corev1.Pod{other("predecessor", "m1")}, change: restart, want: 10,
		},
		"the predecessor's pod was on the node and may be the holder": {
			others: []*corev1.Pod{other("predecessor", "m0.example.com")}, change: restart,
		},
		"another node has the same short name": {
			others: []*corev1.Pod{other("cloud-controller-manager", "m0.example.com")}, change: restart,
		},
		"nobody saw the process lead": {unseen: true, change: restart},
		"another process acquired it since": {
			change: func(c *cluster) { c.Acquire("m0", "another", 2); c.Start("m0", 5) },
		},
		"the process runs, and may be frozen": {change: func(*cluster) {}},
		// A kubelet that was restarted makes the mirror pod of a new manifest before it ends the former static pod.
		"the next revision's container has run for long enough to have the port": {
			change: func(c *cluster) { c.Install("m0", 5) }, want: 15,
		},
		"that container's status is in the former mirror pod": {change: func(c *cluster) { c.Start("m0", 5) }, want: 15},
		"the next revision's container found the port occupied, which the former mirror pod says": {
			change: func(c *cluster) { c.Start("m0", 5); c.Exit("m0", 6, "address already in use") },
		},
		"the pod of the next revision has no status yet": {
			change: func(c *cluster) { c.Install("m0", 5); c.Container("m0").State = corev1.ContainerState{} },
		},
		"the next revision's container found the port occupied": {
			change: func(c *cluster) { c.Install("m0", 5); c.Exit("m0", 6, "address already in use") },
		},
		"the next revision's container is not Ready": {
			change: func(c *cluster) { c.Install("m0", 5); c.Ready("m0", false) },
		},
		"the former process renews beside the next revision's container": {
			change: func(c *cluster) { c.Install("m0", 5); c.Renew(9) },
		},
		"the same mirror pod was made again, without a status": {
			change: func(c *cluster) { c.Container("m0").State = corev1.ContainerState{} },
		},
		"the pod of the next revision appears on another node": {
			change: func(c *cluster) { c.Install("m1", 5) },
		},
		"the kubelet lost the container and does not know when it ended": {
			change: func(c *cluster) {
				c.Exit("m0", 5, "")
				c.Container("m0").LastTerminationState.Terminated.FinishedAt = metav1.Time{}
			},
		},
		"the pod is gone, and with it the proof": {
			change: func(c *cluster) { delete(c.Pods, "m0") },
		},
		"the container of another node was restarted": {
			change: func(c *cluster) { c.Exit("m1", 5, ""); c.Start("m1", 6) },
		},
		"it renews after our container ended, so it is another process on the host": {
			change: func(c *cluster) { c.Exit("m0", 5, ""); c.Start("m0", 6); c.Renew(9) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			r.others = tc.others
			c := threeMasters()
			c.Acquire("m0", "a", -60)
			c.Renew(0)
			c.Lease.ResourceVersion = "17"
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			if !tc.unseen {
				r.witness(t, c)
			}
			require.Nil(t, r.released())

			tc.change(c)
			got := r.untilReleased(t, c, 10, 53)
			require.Equal(t, tc.want, got)
			if tc.want == 0 {
				require.Empty(t, r.recorder.Events())
				return
			}
			want, lease := c.Lease.Spec.DeepCopy(), r.released()
			want.HolderIdentity = ptr.To("")
			require.Equal(t, *want, lease.Spec)
			require.Equal(t, "17", lease.ResourceVersion, "a renewal since must make the update fail")
			require.Equal(t, "LeaseReleased", r.recorder.Events()[0].Reason)
			require.Equal(
				t,
				"Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder m0_a on node/m0 has "+
					"ended",
				r.recorder.Events()[0].Message,
			)
		})
	}
}

// A kubelet that is started again after a rollout went on without it knows nothing of the former static pod: it makes
// the mirror pod of the new manifest at once, and starts it, before it ends the former containers.
func TestTheLeaseIsKeptWhileAKubeletThatWasRestartedHasNotEndedTheFormerStaticPod(t *testing.T) {
	const up, killed = 60, 63
	r := newReleasing()
	c := threeMasters()
	c.Acquire("m0", "a", -60)
	r.witness(t, c)
	c.Lease = c.Lease.DeepCopy()
	c.Lease.ResourceVersion = "17"
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	got := 0
	for second := 2; second < 120 && got == 0; second++ {
		switch second {
		case 26, 52: // The former process acts until the kubelet ends it.
			c.Renew(second)
		case up:
			c.Install("m0", second)
			c.Container("m0").State = corev1.ContainerState{}
			c.Ready("m0", false)
		case up + 1:
			c.Start("m0", second)
			c.Exit("m0", second, "listen tcp :10258: bind: address already in use")
		case killed + 10:
			c.Start("m0", second)
		}
		require.NoError(t, r.observe(t, c, second))
		if r.released() != nil {
			got = second
		}
	}
	require.Equal(t, killed+15, got)
}

// While the cloud is down, each standby that acquires the lease exits. If its lease is free at once, the next one
// follows, until all wait for their kubelets' back-off.
func TestTheLeaseOfAProcessThatFailsBeforeItSettlesWaitsForItsContainer(t *testing.T) {
	const acquired = 10
	for name, tc := range map[string]struct {
		change func(c *cluster)
		// ends is when m1 ends, and back when its container is Ready again, 0 if never.
		ends, back int
		// again are the seconds in which its container starts and exits again, and standsBy when it starts and is not Ready.
		again    []int
		standsBy int
		want     int
	}{
		"its container is Ready again":                 {ends: 14, back: 40, want: 40},
		"its container does not come back":             {ends: 14},
		"it had settled":                               {ends: acquired + 31, want: acquired + 31},
		"it ends a moment before it settles":           {ends: acquired + 29, back: 60, want: 60},
		"it ends within the second of the acquisition": {ends: acquired, back: 40, want: 40},
		"it ends within that second, and its kubelet does not start it while standbys have the former revision": {
			ends: acquired, want: acquired, change: func(c *cluster) {
				c.Status.LatestAvailableRevision = 4
				c.Status.NodeStatuses[1].CurrentRevision = 4
			},
		},
		"a rollout ended it": {ends: 14, want: 14, change: func(c *cluster) {
			for i := range c.Status.NodeStatuses {
				c.Status.NodeStatuses[i].TargetRevision = 4
			}
		}},
		"its kubelet does not start it while standbys have the former revision": {ends: 14, want: 14, change: func(c *cluster) {
			c.Status.LatestAvailableRevision = 4
			c.Status.NodeStatuses[1].CurrentRevision = 4
		}},
		"its kubelet does not start it while the last of three nodes has the former revision": {
			ends: 14, want: 14, change: func(c *cluster) {
				c.Status.LatestAvailableRevision = 4
				c.Status.NodeStatuses[0].CurrentRevision, c.Status.NodeStatuses[1].CurrentRevision = 4, 4
			},
		},
		"its kubelet does not start it after its revision was rejected": {ends: 14, want: 14, change: func(c *cluster) {
			c.Status.LatestAvailableRevision = 5
			c.Status.NodeStatuses[1].CurrentRevision = 4
		}},
		"its next run has asked for the lease in vain while standbys have the former revision": {
			ends: 14, standsBy: 15, want: 18, change: func(c *cluster) {
				c.Status.LatestAvailableRevision = 4
				c.Status.NodeStatuses[1].CurrentRevision = 4
			},
		},
		"its next run is not Ready": {ends: 14, standsBy: 15},
		"its kubelet does not start it while another node has the latest revision": {ends: 14, change: func(c *cluster) {
			c.Status.LatestAvailableRevision = 4
			c.Status.NodeStatuses[2].CurrentRevision = 4
		}},
		"a rollout gets to another node": {ends: 14, back: 40, want: 40, change: func(c *cluster) {
			c.Status.NodeStatuses[0].TargetRevision = 4
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			r.witness(t, c)
			if tc.change != nil {
				tc.change(c)
			}
			got := 0
			for second := acquired; second < acquired+130 && got == 0; second++ {
				switch second {
				case acquired:
					c.AcquireWithin("m1", "second", second)
					c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
					require.NoError(t, r.kube.Tracker().Add(c.Lease))
				case acquired + 26:
					if tc.ends > second {
						c.Renew(second)
					}
				}
				if second == tc.ends {
					require.NoError(t, r.observe(t, c, second))
					c.Exit("m1", second, "the cloud does not answer")
					if tc.standsBy != 0 {
						container := c.Container("m1")
						container.State = container.LastTerminationState
					}
				}
				if second == tc.back {
					c.Start("m1", second)
				}
				if tc.standsBy != 0 && second == tc.standsBy {
					c.Start("m1", second)
					c.Ready("m1", false)
				}
				if slices.Contains(tc.again, second) {
					c.Start("m1", second)
					c.Exit("m1", second+1, "the cloud does not answer")
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

// A kubelet may report a container for the first time when that has ended already. The lease tells that its process led.
func TestTheLeaseOfAProcessThatEndsBeforeItIsSeenToRunIsReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		started, acquired, ended int
		want                     bool
	}{
		"it led during that run":   {8, 10, 11, true},
		"the lease is older":       {11, 10, 12, false},
		"the lease is newer":       {7, 10, 8, false},
		"it began and ended there": {10, 10, 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			r.witness(t, c)
			delete(c.Pods, "m1")
			c.AcquireWithin("m1", "second", tc.acquired)
			c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			require.NoError(t, r.observe(t, c, 12))
			c.Install("m1", tc.started)
			c.Exit("m1", tc.ended, "the cloud has no such API")
			require.NoError(t, r.observe(t, c, 13))
			require.Nil(t, r.released(), "its container is not Ready again")
			c.Start("m1", 14)
			require.NoError(t, r.observe(t, c, 15))
			require.Equal(t, tc.want, r.released() != nil)
		})
	}
}

// An etcd that was restored from an older snapshot has the lease and the pods of that time. The process that led until
// the restore still acts, so no other one may acquire the lease before it expires.
func TestTheLeaseOfARestoredClusterIsNotReleased(t *testing.T) {
	restored := func() *cluster {
		c := threeMasters()
		c.Acquire("m0", "a", -60)
		c.Lease.Spec.LeaseTransitions = ptr.To(int32(3))
		c.Renew(-10)
		return c
	}
	for name, before := range map[string]func(t *testing.T, r *releasing){
		"the operator was away":          func(*testing.T, *releasing) {},
		"the operator saw it led before": func(t *testing.T, r *releasing) { r.witness(t, restored()) },
		"the operator saw the next one lead": func(t *testing.T, r *releasing) {
			c := restored()
			r.witness(t, c)
			c.Start("m0", 5)
			c.Acquire("m1", "b", 7)
			c.Lease.Spec.LeaseTransitions = ptr.To(int32(4))
			require.NoError(t, r.observe(t, c, 8))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			before(t, r)
			c := restored()
			require.NoError(t, r.observe(t, c, 30))
			// The kubelet reports that the container was restarted after the snapshot.
			c.Start("m0", 5)
			for second := 31; second < 30+137; second++ {
				require.NoError(t, r.observe(t, c, second))
			}
			require.Nil(t, r.released())

			// A process of the present acquires it when it has expired.
			c.Acquire("m1", "c", 167)
			c.Lease.Spec.LeaseTransitions = ptr.To(int32(4))
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			require.NoError(t, r.observe(t, c, 168))
			c.Exit("m1", 198, "panic")
			require.NoError(t, r.observe(t, c, 199))
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
		"a Node that lost the role has one too": {change: func(c *cluster) { c.Install("m1", -60) }},
		"more nodes are to come": {
			change: func(c *cluster) { c.Topology = configv1.HighlyAvailableTopologyMode },
		},
		"a second node": {change: func(c *cluster) { c.Join("m1") }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster("m0")
			tc.change(c)
			r := newReleasing()
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			require.NoError(t, r.observe(t, c, 1))
			c.Exit("m0", 5, "")
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
		"the next container runs": {change: func(*cluster) {}, want: acquired + 54},
		// It failed before it settled: the lease waits for it, and expires after 137 s.
		"the container waits for a start":  {change: func(c *cluster) { c.Exit("m1", acquired, "") }},
		"the next container renews":        {change: func(*cluster) {}, renews: true},
		"the next container may be frozen": {change: func(c *cluster) { c.Ready("m1", false) }},
		"no container was started again": {
			change: func(c *cluster) { c.Container("m1").LastTerminationState = corev1.ContainerState{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			r.witness(t, c)
			c.AcquireWithin("m1", "second", acquired)
			c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			require.NoError(t, r.observe(t, c, acquired))

			c.Restart("m1", acquired)
			tc.change(c)
			got := 0
			for second := acquired + 1; second < acquired+130 && got == 0; second++ {
				if tc.renews && (second-acquired)%26 == 0 {
					c.Renew(second)
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
// until a standby may acquire it.
func TestTheLeaseOfAFrozenProcessIsReleasedWhenItHasExpired(t *testing.T) {
	r := newReleasing()
	c := threeMasters()
	c.Acquire("m0", "a", -60)
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	r.witness(t, c)
	require.Equal(t, 1+137, r.untilReleased(t, c, 2, 300))
	require.Equal(
		t,
		"Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder m0_a has not renewed it "+
			"for 2m17s",
		r.recorder.Events()[0].Message,
	)
}

// A node that does not report may be cut off from the API server only. The taint declares that it is shut down.
func TestTheLeaseOfAProcessOnANodeOutOfServiceIsReleased(t *testing.T) {
	outOfService := []corev1.Taint{
		{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute},
	}
	for name, tc := range map[string]struct {
		taints []corev1.Taint
		ready  corev1.ConditionStatus
		// renewed are the seconds of renewals after the node was tainted in second 10.
		renewed []int
		foreign bool
		// want is the second of the release, 0 if there is none.
		want int
	}{
		"the node is out of service": {taints: outOfService, ready: corev1.ConditionUnknown, want: 55},
		"the process goes on to renew the lease": {
			taints: outOfService, ready: corev1.ConditionUnknown, renewed: []int{20, 46}, want: 100,
		},
		"the kubelet reports": {taints: outOfService, ready: corev1.ConditionTrue},
		"the node is only unreachable": {
			taints: []corev1.Taint{{Key: "node.kubernetes.io/unreachable"}}, ready: corev1.ConditionUnknown,
		},
		"another process on the host may hold it": {taints: outOfService, ready: corev1.ConditionUnknown, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			c.Acquire("m0", "a", -60)
			c.Renew(0)
			if tc.foreign {
				r.others = []*corev1.Pod{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "predecessor"},
					Spec:       corev1.PodSpec{NodeName: "m0"},
				}}
			}
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			r.witness(t, c)
			got := 0
			for second := 1; second < 130 && got == 0; second++ {
				if second == 10 {
					c.Nodes["m0"].Spec.Taints = tc.taints
					c.Nodes["m0"].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.ready}}
				}
				if slices.Contains(tc.renewed, second) {
					c.Renew(second)
				}
				require.NoError(t, r.observe(t, c, second))
				if r.released() != nil {
					got = second
				}
			}
			require.Equal(t, tc.want, got)
			if tc.want != 0 {
				require.Equal(
					t,
					"Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder m0_a is on a node "+
						"that "+
						"is out of service",
					r.recorder.Events()[0].Message,
				)
			}
		})
	}
}

// On a single node no standby would try a dead cloud next, and the process that starts asks for the lease at once.
func TestTheLeaseOfASingleNodeDoesNotWaitForAProcessThatFailed(t *testing.T) {
	r := newReleasing()
	c := newCluster("m0")
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	r.witness(t, c)
	c.Acquire("m0", "second", 5)
	require.NoError(t, r.observe(t, c, 5))
	c.Exit("m0", 8, "the cloud does not answer")
	require.Equal(t, 8, r.untilReleased(t, c, 8, 100))
}

// Time alone proves these ends, so the controller asks to be called.
func TestWhatTimeProvesNeedsNoEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *cluster)
		want   int
	}{
		"a silent holder on a node that is out of service": {want: 55, change: func(c *cluster) {
			c.Nodes["m0"].Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/out-of-service"}}
		}},
		"a holder that was restarted within the second of its acquisition": {want: 57, change: func(c *cluster) {
			c.AcquireWithin("m0", "b", 3)
			c.Restart("m0", 3)
		}},
		"the next revision's container that keeps running": {want: 8, change: func(c *cluster) { c.Install("m0", 2) }},
		"a name that a person wrote, for longer than our lease": {
			want: 140, change: func(c *cluster) { c.Edit("intruder", 3600) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			r.witness(t, c)
			if strings.Contains(name, "within the second") {
				c.AcquireWithin("m0", "b", 3)
				require.NoError(t, r.observe(t, c, 3))
			}
			tc.change(c)
			second := 3
			for require.NoError(t, r.observe(t, c, second)); r.released() == nil; require.NoError(t, r.observe(t, c, second)) {
				require.NotZero(t, r.next)
				second += int((r.next + time.Second - 1) / time.Second)
			}
			require.Equal(t, tc.want, second)
		})
	}
}

// The only container of a single node counts from the first look at it.
func TestTheFirstLookAtALeaderIsFollowedByOneWhenItWouldBeSilent(t *testing.T) {
	r := newReleasing()
	require.NoError(t, r.observe(t, newCluster("m0"), 1))
	require.Equal(t, 54*time.Second, r.next)
}

// A person, or a broken client, writes a name into the lease that no process renews.
func TestALeaseThatNobodyRenewsForTheDurationOfOursIsReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *cluster)
		// seen says that the operator saw one of ours lead before.
		seen bool
		// renews are the seconds in which the holder renews.
		renews []int
		want   int
	}{
		"a name of no host": {
			seen: true, change: func(c *cluster) { c.Edit("intruder", 3600) }, want: 10 + 137,
		},
		"a name of no host, found at the start": {change: func(c *cluster) { c.Edit("intruder", 3600) }, want: 10 + 137},
		"a name of one of our hosts": {
			seen: true, change: func(c *cluster) { c.Edit("m0_intruder", 3600) }, want: 10 + 137,
		},
		"the name of our holder, whose node is dead": {
			seen: true, change: func(c *cluster) { c.Edit("m0_first", 3600) }, want: 1 + 137,
		},
		"the name of our holder, with the duration of a single node's": {
			seen: true, change: func(c *cluster) { c.Edit("m0_first", 270) }, want: 1 + 137,
		},
		"our holder itself has another duration": {
			seen: true, change: func(c *cluster) { c.Edit("m0_first", 270) }, renews: []int{10}, want: 10 + 270,
		},
		"one of our hosts, found at the start": {change: func(c *cluster) { c.Edit("m0_intruder", 300) }, want: 10 + 300},
		"a process elsewhere that renews": {
			seen: true, change: func(c *cluster) { c.Edit("laptop_x", 3600) }, renews: []int{100, 200, 300}, want: 300 + 137,
		},
		"a name whose lease is no longer than ours": {
			seen: true, change: func(c *cluster) { c.Edit("intruder", 137) }, want: 10 + 137,
		},
		"a holder of ours":                     {seen: true, change: func(*cluster) {}, want: 1 + 137},
		"a holder of ours, found at the start": {change: func(*cluster) {}, want: 10 + 137},
		"a container of ours that ended before the operator's first look": {
			change: func(c *cluster) { c.Restart("m0", 5) }, want: 10 + 137,
		},
		"one whose lease a person made shorter": {
			change: func(c *cluster) { c.Edit("m0_first", 1) }, want: 10 + 137,
		},
		"nobody": {seen: true, change: func(c *cluster) { c.Edit("", 137) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			c := threeMasters()
			require.NoError(t, r.kube.Tracker().Add(c.Lease))
			if tc.seen {
				r.witness(t, c)
			}
			tc.change(c)
			got := 0
			for second := 10; second < 600 && got == 0; second++ {
				if slices.Contains(tc.renews, second) {
					c.Renew(second)
				}
				require.NoError(t, r.observe(t, c, second))
				if r.released() != nil {
					got = second
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
	r := newReleasing()
	c := threeMasters()
	require.NoError(t, r.kube.Tracker().Add(c.Lease))
	c.Edit("intruder", 3600)
	require.Equal(t, 147, r.untilReleased(t, c, 10, 200))
	require.Equal(
		t,
		"Released lease/cloud-controller-manager in openshift-cloud-controller-manager: its holder intruder has not "+
			"renewed it "+
			"for 2m17s, though it lasts for 1h0m0s",
		r.recorder.Events()[0].Message,
	)
}

func TestAChangeOfTheLeaseSinceItWasReadKeepsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   string
	}{
		"it was renewed": {
			answer: apierrors.NewConflict(coordinationv1.Resource("leases"), "cloud-controller-manager", errors.New("changed")),
		},
		"it was deleted": {answer: apierrors.NewNotFound(coordinationv1.Resource("leases"), "cloud-controller-manager")},
		"the API server does not answer": {
			answer: errors.New("no answer"),
			want:   "releasing lease/cloud-controller-manager in openshift-cloud-controller-manager: no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReleasing()
			r.kube.PrependReactor(
				"update",
				"leases",
				func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.answer },
			)
			c := threeMasters()
			c.Acquire("m0", "a", -60)
			r.witness(t, c)
			c.Exit("m0", 4, "")
			c.Start("m0", 5)
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
