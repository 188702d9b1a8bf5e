package controlplane_test

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

const namespace = "openshift-cloud-controller-manager"

// A controller that asks in its handler, or later, must not find what was before the event.
func TestAnEventIsRecordedBeforeItsHandlersAreCalled(t *testing.T) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	lease, err := controlplane.NewLease(
		factory.Coordination().V1().Leases(),
		clocktesting.NewFakePassiveClock(controlplanetest.Begin),
	)
	require.NoError(t, err)
	seen := make(chan controlplane.Record, 10)
	for range 2 { // there are several controllers
		_, err = lease.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { seen <- lease.Record() },
			UpdateFunc: func(_, _ any) { seen <- lease.Record() },
			DeleteFunc: func(any) { seen <- lease.Record() },
		})
		require.NoError(t, err)
	}
	require.False(t, lease.HasSynced())
	factory.Start(t.Context().Done())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), lease.HasSynced))

	leases := client.CoordinationV1().Leases(namespace)
	object := controlplanetest.New("m0").Lease
	expect := func(holder string, exists bool) {
		t.Helper()
		for range 2 {
			record := <-seen
			require.Equal(t, holder, *record.Lease.Spec.HolderIdentity)
			require.Equal(t, exists, record.Exists)
			require.Equal(t, controlplanetest.Begin, record.Since)
		}
	}
	_, err = leases.Create(
		t.Context(),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "another"}},
		metav1.CreateOptions{},
	)
	require.NoError(t, err)
	_, err = leases.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	expect("m0_first", true)
	*object.Spec.HolderIdentity = "m1_second"
	_, err = leases.Update(t.Context(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
	expect("m1_second", true)
	require.NoError(t, leases.Delete(t.Context(), object.Name, metav1.DeleteOptions{}))
	expect("m1_second", false)
	require.Empty(t, seen)
}

func TestTheDurationOfALeaseOfOurs(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(c *controlplanetest.Cluster)
		topology configv1.TopologyMode
		// led says that the operator saw a process of ours renew the lease before.
		led  bool
		want time.Duration
	}{
		"the lease's own": {change: func(*controlplanetest.Cluster) {}, want: 137 * time.Second},
		"not that of a person": {
			change: func(c *controlplanetest.Cluster) { c.Edit("intruder", 3600) }, want: 137 * time.Second,
		},
		"nor on a single node": {
			change:   func(c *controlplanetest.Cluster) { c.Edit("intruder", 3600) },
			topology: configv1.SingleReplicaTopologyMode,
			want:     270 * time.Second,
		},
		"Kubernetes' own is shorter": {
			change: func(c *controlplanetest.Cluster) { c.Edit("m0_x", 15) }, want: 15 * time.Second,
		},
		"that of the process that led": {
			change: func(c *controlplanetest.Cluster) { c.Edit("intruder", 3600) }, led: true, want: 600 * time.Second,
		},
		"without a lease the default": {
			change: func(c *controlplanetest.Cluster) { c.Lease = nil }, want: 137 * time.Second,
		},
		"without one on a single node": {
			change:   func(c *controlplanetest.Cluster) { c.Lease = nil },
			topology: configv1.SingleReplicaTopologyMode,
			want:     270 * time.Second,
		},
		"a lease that nobody has taken": {
			change: func(c *controlplanetest.Cluster) { c.Lease.Spec = coordinationv1.LeaseSpec{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0")
			if tc.led {
				c.Edit("m0_custom", 600)
				c.Observe(0)
				c.Renew(20)
				c.Seen.ObserveHolder(c.View(21), true)
			}
			tc.change(c)
			record := c.Observe(22)
			require.Equal(t, tc.want, record.Duration(tc.topology))
		})
	}
}

// client-go's leader election renews a lease with the acquire time that it has.
func TestALeaseKeepsTheAcquireTimeThatAPersonRemoves(t *testing.T) {
	c := controlplanetest.New("m0", "m1")
	c.Observe(0)
	acquired := c.Lease.Spec.AcquireTime
	for second := range 2 {
		c.Lease = c.Lease.DeepCopy()
		c.Lease.Spec.AcquireTime = nil
		c.Renew(10 + second)
		got := c.View(10 + second)
		holder := got.Holder()
		require.Equal(t, controlplane.Leading, holder.State)
		require.Equal(t, acquired.Time, holder.Acquired)
	}
}

func TestWhatAChangeOfTheLeaseTells(t *testing.T) {
	type record struct {
		since, heldSince, pastSince int
		present                     bool
	}
	for name, tc := range map[string]struct {
		change func(c *controlplanetest.Cluster)
		want   record
	}{
		"nothing, if it is the same": {
			change: func(*controlplanetest.Cluster) {}, want: record{since: 0, heldSince: -3000, pastSince: 0},
		},
		"a renewal is of the present": {
			change: func(c *controlplanetest.Cluster) { c.Renew(26) }, want: record{since: 30, heldSince: -3000, present: true},
		},
		"an acquisition is of the present, whatever the clock of its node is": {
			change: func(c *controlplanetest.Cluster) {
				c.Acquire("m1", "second", -500)
				c.Renew(-490)
				c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
			},
			want: record{since: 30, heldSince: 20, present: true},
		},
		"the same process may acquire it again": {
			change: func(c *controlplanetest.Cluster) {
				c.Acquire("m0", "first", 20)
				c.Renew(27)
				c.Lease.Spec.LeaseTransitions = ptr.To(int32(1))
			},
			want: record{since: 30, heldSince: 23, present: true},
		},
		"another holder without a renewal was written by a person": {
			change: func(c *controlplanetest.Cluster) { c.Edit("intruder", 137) }, want: record{since: 30, heldSince: -2970},
		},
		"an earlier renewal is of a snapshot": {
			change: func(c *controlplanetest.Cluster) { c.Renew(-26) }, want: record{since: 30, heldSince: -3000, pastSince: 30},
		},
		"a lease of nobody has no times": {
			change: func(c *controlplanetest.Cluster) { c.Lease.Spec = coordinationv1.LeaseSpec{} },
			want:   record{since: 30, heldSince: 30, pastSince: 30},
		},
		"nor has one that was never acquired": {
			change: func(c *controlplanetest.Cluster) {
				c.Lease.Spec.AcquireTime, c.Lease.Spec.LeaseTransitions = nil, ptr.To(int32(1))
			},
			want: record{since: 30, heldSince: 30, present: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1")
			c.Observe(0)
			c.Lease = c.Lease.DeepCopy()
			tc.change(c)
			got := c.Observe(30)
			require.Equal(t, controlplanetest.At(tc.want.since), got.Since, "since")
			require.Equal(t, controlplanetest.At(tc.want.heldSince), got.HeldSince, "held since")
			require.Equal(t, controlplanetest.At(tc.want.pastSince), got.ObservedStaleSince, "past since")
			require.Equal(t, tc.want.present, got.Observed, "present")
		})
	}
}
