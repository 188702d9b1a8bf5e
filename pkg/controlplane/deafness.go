package controlplane

import (
	"slices"
	"sync"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// Deafness is what is known about a leader that looks at no node: it renews the lease, and has skipped the controller
// that initializes nodes for the life of its process. The zero value knows of none. It may be used by several
// goroutines.
type Deafness struct {
	mutex  sync.Mutex
	leader patience.Since[string]
	nodes  []string
}

// See records which leader is deaf now, "" for none, and the nodes that wait for it, of which the first has waited
// longest.
func (d *Deafness) See(leader string, nodes []string, now time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.leader.See(leader, now)
	d.nodes = slices.Clone(nodes)
}

// Of returns since when a leader has been known to be deaf, and the nodes that wait for it. ok is false if it is not.
func (d *Deafness) Of(leader string) (since time.Time, nodes []string, ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if leader == "" || d.leader.Value() != leader {
		return time.Time{}, nil, false
	}
	return d.leader.At(), slices.Clone(d.nodes), true
}
