package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

func TestWhatWorksLeadsAndHasAStandby(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*controlplanetest.Cluster)
		works  int32
	}{
		"every node has a revision and one leads": {func(*controlplanetest.Cluster) {}, 3},
		"another revision is rolled out":          {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses[1].CurrentRevision = 2 }, 3},
		"the leader's node is behind":             {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses[0].CurrentRevision = 2 }, 2},
		"the leader's node is not listed":         {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses = c.Status.NodeStatuses[1:] }, 0},
		"a node has no revision yet":              {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses[2].CurrentRevision = 0 }, 3},
		"only the leader's node has a revision": {func(c *controlplanetest.Cluster) {
			c.Status.NodeStatuses[1].CurrentRevision, c.Status.NodeStatuses[2].CurrentRevision = 0, 0
		}, 0},
		"there is one node":    {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses = c.Status.NodeStatuses[:1] }, 3},
		"nothing is installed": {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses = nil }, 0},
		"a pod of the predecessor has not ended yet, and one of ours leads": {
			func(c *controlplanetest.Cluster) { c.Predecessor("m1") }, 3,
		},
		"the predecessor leads": {func(c *controlplanetest.Cluster) {
			c.Predecessor("m1")
			c.Status.NodeStatuses[2].CurrentRevision = 0
			c.Lease.Spec.HolderIdentity = ptr.To("m1_old")
			c.Lease.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(controlplanetest.At(-7200)))
			c.Seen.See(c.Lease, controlplanetest.At(0))
		}, controlplane.PredecessorRevision},
		"the leader's container ended": {func(c *controlplanetest.Cluster) { c.Exit("m0", 0, "") }, 0},
		"the leader has not renewed for a while": {func(c *controlplanetest.Cluster) {
			c.Seen = controlplane.Lease{}
			c.Seen.See(c.Lease, controlplanetest.At(-100))
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1", "m2")
			c.Seen.See(c.Lease, controlplanetest.At(0))
			tc.change(c)
			view := c.ViewOf(c.Seen.Record(), controlplanetest.At(1))
			require.Equal(t, tc.works, view.WorkingRevision())
		})
	}
}
