package controlplane

import (
	"slices"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// NodeController knows the leader whose node controller is not running: it renews the lease, and has skipped the
// controller that initializes nodes for the life of its process. The zero value knows of none. It may be used by
// several goroutines.
type NodeController struct {
	mutex  sync.Mutex
	leader patience.Since[string]
	nodes  []string
}

// See records the leader whose node controller is not running now, "" for none, and the nodes that wait for it.
func (c *NodeController) See(leader string, nodes []string, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.leader.See(leader, now)
	c.nodes = slices.Clone(nodes)
}

// NotRunning returns since when a leader's node controller has not been running, and the nodes that wait for it. ok is
// false if it runs.
func (c *NodeController) NotRunning(leader string) (since time.Time, nodes []string, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if leader == "" || c.leader.Value() != leader {
		return time.Time{}, nil, false
	}
	return c.leader.At(), slices.Clone(c.nodes), true
}
