package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// A removal that is undone ends static pods, and nothing releases the lease of the one that led.
func TestAProcessOfOursWhosePodIsGoneIsNoForeignOne(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *controlplanetest.Cluster)
		want   controlplane.HolderState
		node   string
	}{
		"the process that was seen to lead": {
			change: func(*controlplanetest.Cluster) {}, want: controlplane.Ended, node: "m0",
		},
		"its pod was installed again": {
			change: func(c *controlplanetest.Cluster) { c.Install("m0", 20) }, want: controlplane.Ended, node: "m0",
		},
		"another process of that host": {
			change: func(c *controlplanetest.Cluster) { c.Acquire("m0", "by-hand", 10) }, want: controlplane.Other,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1")
			c.Seen.ObserveHolder(c.View(0), true)
			delete(c.Pods, "m0")
			tc.change(c)
			view := c.View(30)
			got := view.Holder()
			require.Equal(t, tc.want, got.State)
			require.Equal(t, tc.node, got.Node)
			require.False(t, c.Seen.EndOf(view).Proven, "a pod that is gone proves nothing")
		})
	}
}
