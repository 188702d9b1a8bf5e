package controlplane

import (
	"slices"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// NodeController remembers a leader whose node controller is not running: the process renews the lease, but skipped the
// controller that initializes nodes when it started, and never starts it later. It is safe for concurrent use.
type NodeController struct {
	mutex  sync.Mutex
	leader patience.Since[string]
	nodes  []string
}

// See records the leader whose node controller is not running, "" if there is none, and the nodes that wait for it.
func (c *NodeController) See(leader string, nodes []string, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.leader.See(leader, now)
	c.nodes = slices.Clone(nodes)
}

// NotRunning returns when the operator first saw that this leader's node controller is not running, and the nodes that
// wait for it. ok is false if nothing is recorded about this leader.
func (c *NodeController) NotRunning(leader string) (since time.Time, nodes []string, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if leader == "" || c.leader.Value() != leader {
		return time.Time{}, nil, false
	}
	return c.leader.At(), slices.Clone(c.nodes), true
}
