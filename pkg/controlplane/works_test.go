package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/controlplanetest"
)

func TestWhatWorksHasARevisionOnEveryNodeAndALeader(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*controlplanetest.Cluster)
		works  bool
	}{
		"every node has a revision and one leads": {func(*controlplanetest.Cluster) {}, true},
		"another revision is rolled out":          {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses[1].CurrentRevision = 2 }, true},
		"a node has no revision yet":              {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses[2].CurrentRevision = 0 }, false},
		"nothing is installed":                    {func(c *controlplanetest.Cluster) { c.Status.NodeStatuses = nil }, false},
		"the predecessor is there":                {func(c *controlplanetest.Cluster) { c.Predecessor("m1") }, false},
		"the leader's container ended":            {func(c *controlplanetest.Cluster) { c.Exit("m0", 0, "") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1", "m2")
			c.Seen.See(c.Lease, controlplanetest.At(0))
			tc.change(c)
			var pods controlplane.Pods
			for _, pod := range c.Pods {
				pods.Operand = append(pods.Operand, pod)
			}
			pods.Predecessors, pods.Topology = c.Predecessors, c.Topology
			require.Equal(t, tc.works, controlplane.Works(c.Status, c.Seen.Record(), pods, controlplanetest.At(1)))
		})
	}
}
