package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

func TestTheProcessBehindALease(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *controlplanetest.Cluster)
		want   controlplane.HolderState
		node   string
	}{
		"a container that acquired after it started and has stayed up leads": {
			change: func(*controlplanetest.Cluster) {}, want: controlplane.Leading, node: "m0",
		},
		"one that acquired within the second in which it started leads": {
			change: func(c *controlplanetest.Cluster) {
				c.Start("m0", -60)
				c.Acquire("m0", "b", -60)
				c.Lease.Spec.AcquireTime = &metav1.MicroTime{Time: controlplanetest.At(-60).Add(time.Microsecond)}
				c.Renew(0)
			},
			want: controlplane.Leading, node: "m0",
		},
		"one that acquired within the second in which its container was started again has ended": {
			change: func(c *controlplanetest.Cluster) {
				c.AcquireWithin("m0", "b", -60)
				c.Restart("m0", -60)
			}, want: controlplane.Ended, node: "m0",
		},
		"the next container of that second leads if it has renewed since": {
			change: func(c *controlplanetest.Cluster) {
				c.AcquireWithin("m0", "b", -60)
				c.Restart("m0", -60)
				c.Renew(-34)
			}, want: controlplane.Leading, node: "m0",
		},
		"a container that acquired within the second of its start leads though another one ended before": {
			change: func(c *controlplanetest.Cluster) {
				c.Exit("m0", -61, "")
				c.Start("m0", -60)
				c.Acquire("m0", "b", -60)
			},
			want: controlplane.Leading, node: "m0",
		},
		"one that acquired a moment ago has to stay up first": {
			change: func(c *controlplanetest.Cluster) { c.Acquire("m0", "b", -29) }, want: controlplane.Starting, node: "m0",
		},
		"after half a minute it has": {
			change: func(c *controlplanetest.Cluster) { c.Acquire("m0", "b", -31) }, want: controlplane.Leading, node: "m0",
		},
		"a process that acquired before our container started and still renews is foreign": {
			change: func(c *controlplanetest.Cluster) { c.Start("m0", -60) }, want: controlplane.Other, node: "m0",
		},
		"one that has not renewed since our container started has ended": {
			change: func(c *controlplanetest.Cluster) { c.Renew(-70); c.Start("m0", -60) }, want: controlplane.Ended, node: "m0",
		},
		"a renewal within the second in which our container started proves nothing": {
			change: func(c *controlplanetest.Cluster) {
				c.Start("m0", -60)
				c.Lease.Spec.RenewTime = &metav1.MicroTime{Time: controlplanetest.At(-60).Add(999 * time.Millisecond)}
			},
			want: controlplane.Ended, node: "m0",
		},
		"one whose clock was two hours ahead as it started leads": {
			change: func(c *controlplanetest.Cluster) {
				c.Exit("m0", 7190, "")
				c.Start("m0", 7200)
				c.Acquire("m0", "b", -60)
				c.Renew(0)
			}, want: controlplane.Leading, node: "m0",
		},
		"a start half a minute ahead of the operator's clock is compared": {
			change: func(c *controlplanetest.Cluster) { c.Renew(-10); c.Start("m0", 30) }, want: controlplane.Ended, node: "m0",
		},
		"a container that is not running does not lead": {
			change: func(c *controlplanetest.Cluster) { c.Exit("m0", 0, "") }, want: controlplane.Ended, node: "m0",
		},
		"a renewal after our container ended is a foreign one": {
			change: func(c *controlplanetest.Cluster) { c.Exit("m0", -20, "") }, want: controlplane.Other, node: "m0",
		},
		"the lease of a container before the last has ended too": {
			change: func(c *controlplanetest.Cluster) {
				c.Renew(-100)
				c.Exit("m0", -90, "")
				c.Start("m0", -80)
				c.Exit("m0", -78, "")
				c.Start("m0", -60)
			},
			want: controlplane.Ended, node: "m0",
		},
		"a host without a pod of ours is foreign": {
			change: func(c *controlplanetest.Cluster) { c.Acquire("laptop", "x", -100); c.Renew(0) }, want: controlplane.Other,
		},
		"a lease without an acquire time is foreign": {
			change: func(c *controlplanetest.Cluster) { c.Lease.Spec.AcquireTime = nil }, want: controlplane.Other, node: "m0",
		},
		"a lease that has run out": {
			change: func(c *controlplanetest.Cluster) { c.Renew(-137) }, want: controlplane.Expired,
		},
		"a lease that was released": {
			change: func(c *controlplanetest.Cluster) {
				c.Acquire("m0", "b", 0)
				*c.Lease.Spec.HolderIdentity = ""
			}, want: controlplane.Vacant,
		},
		"a pod of the predecessor on the same node, which leads beside ours": {
			change: func(c *controlplanetest.Cluster) {
				c.Start("m0", -5)
				c.Renew(0)
				c.Predecessor("m0")
			}, want: controlplane.Predecessor, node: "m0",
		},
		"a pod of the predecessor on another node": {
			change: func(c *controlplanetest.Cluster) {
				c.Start("m0", -5)
				c.Renew(0)
				c.Predecessor("m1")
			}, want: controlplane.Other, node: "m0",
		},
		"a process of ours on the predecessor's node": {
			change: func(c *controlplanetest.Cluster) { c.Predecessor("m0") }, want: controlplane.Leading, node: "m0",
		},
		"a person wrote a name into it": {
			change: func(c *controlplanetest.Cluster) { c.Edit("intruder", 3600) }, want: controlplane.Other,
		},
		"the host of a Node that vanished": {
			change: func(*controlplanetest.Cluster) {}, want: controlplane.NodeGone, node: "m0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1")
			tc.change(c)
			view := c.View(0)
			if tc.want == controlplane.NodeGone {
				view = view.WithNodes(func(node string) bool { return node != "m0" }, []string{"m0"})
			}
			got := view.Holder()
			require.Equal(t, tc.want, got.State)
			require.Equal(t, tc.node, got.Node)
			require.Equal(t, tc.want == controlplane.Leading || tc.want == controlplane.Starting, got.State.Runs())
		})
	}
}

func TestAProcessWhoseClockWasAheadLeadsUntilItEnds(t *testing.T) {
	at := func(second int, change func(c *controlplanetest.Cluster)) controlplane.HolderState {
		c := controlplanetest.New("m0", "m1")
		c.Start("m0", 7200)
		c.Acquire("m0", "b", -60)
		c.Seen.ObserveHolder(c.View(0), true)
		change(c)
		view := c.View(second)
		return view.Holder().State
	}
	require.Equal(t, controlplane.Leading, at(7300, func(c *controlplanetest.Cluster) { c.Renew(7300) }),
		"the time of its start has come")
	require.Equal(t, controlplane.Ended, at(7310, func(c *controlplanetest.Cluster) { c.Renew(7300); c.Exit("m0", 7305, "") }))
	require.Equal(t, controlplane.Ended, at(20, func(c *controlplanetest.Cluster) {
		c.Renew(0)
		c.Exit("m0", 7210, "")
		c.Start("m0", 7220)
	}), "the next container started while the clock was still ahead")
}

func TestEachTenureHasAName(t *testing.T) {
	require.Equal(t, "vacant", controlplane.Vacant.String())
	require.Equal(t, "leading", controlplane.Leading.String())
	require.True(t, controlplane.Predecessor.Leads())
	require.False(t, controlplane.NotRenewing.Leads())
}

func TestAHolderThatDoesNotRenewIsSilentBeforeItsLeaseExpires(t *testing.T) {
	c := controlplanetest.New("m0", "m1")
	seen := c.Observe(0)
	for after, want := range map[time.Duration]controlplane.HolderState{
		time.Second: controlplane.Leading, 136 * time.Second: controlplane.NotRenewing, 137 * time.Second: controlplane.Expired,
	} {
		view := c.ViewOf(seen, seen.Since.Add(after))
		got := view.Holder()
		require.Equal(t, want, got.State, after)
		require.Equal(t, want != controlplane.Expired, got.State.Runs(), after)
	}
}
