package nodeinitialization

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// maxTwins is how many provider IDs with several Nodes a sync asks for, and how many Nodes of each: a template of
// kubelets may give one provider ID to thousands.
const maxTwins = 10

// machines finds Nodes with the same provider ID. Of each Node it stores the name and a hash: a cluster may have
// thousands. A Node that was deleted while nobody watched stays, so what it finds is a suspicion. The zero value is
// ready for use.
type machines struct {
	lock   sync.Mutex
	seed   maphash.Seed
	first  map[uint64]string
	shared map[uint64]*twins
}

// twins are the names of the Nodes with one provider ID, since when there are several, and the ID once the API server
// has confirmed it.
type twins struct {
	names      map[string]bool
	since      time.Time
	providerID string
}

// see records a Node, and reports whether another one is known to have its provider ID, which was not known before.
func (m *machines) see(node *corev1.Node, now time.Time) bool {
	if node.Spec.ProviderID == "" {
		return false
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.first == nil {
		m.seed, m.first, m.shared = maphash.MakeSeed(), map[uint64]string{}, map[uint64]*twins{}
	}
	machine := maphash.String(m.seed, node.Spec.ProviderID)
	switch first, known := m.first[machine]; {
	case !known:
		m.first[machine] = node.Name
		return false
	case first == node.Name || m.shared[machine] != nil && m.shared[machine].names[node.Name]:
		return false
	case m.shared[machine] == nil:
		m.shared[machine] = &twins{names: map[string]bool{first: true}, since: now}
	}
	m.shared[machine].names[node.Name] = true
	m.shared[machine].providerID = ""
	return true
}

// forget removes a Node that was deleted, and reports whether it shared its provider ID.
func (m *machines) forget(node *corev1.Node) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.first == nil {
		return false
	}
	machine := maphash.String(m.seed, node.Spec.ProviderID)
	shared := m.shared[machine] != nil
	m.drop(machine, node.Name)
	return shared
}

func (m *machines) drop(machine uint64, name string) {
	if t := m.shared[machine]; t != nil {
		delete(t.names, name)
		if len(t.names) > 1 {
			m.first[machine] = slices.Min(slices.Collect(maps.Keys(t.names)))
			return
		}
		delete(m.shared, machine)
		for left := range t.names {
			m.first[machine] = left
			return
		}
	}
	if m.first[machine] == name {
		delete(m.first, machine)
	}
}

// unconfirm makes the next sync read the Nodes again: a watch may have missed deletions.
func (m *machines) unconfirm() {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, t := range m.shared {
		t.providerID = ""
	}
}

// due returns the suspicions that have lasted, oldest first, and how long until the next one has, 0 for none.
func (m *machines) due(now time.Time) (due []uint64, next time.Duration) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for machine, t := range m.shared {
		if left := noticeAfter - now.Sub(t.since); left > 0 {
			next = patience.Sooner(next, left)
			continue
		}
		due = append(due, machine)
	}
	slices.SortFunc(due, func(a, b uint64) int { return m.shared[a].since.Compare(m.shared[b].since) })
	return due, next
}

// of returns the names of the Nodes of a suspicion, and the provider ID if that was confirmed.
func (m *machines) of(machine uint64) (names []string, providerID string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if t := m.shared[machine]; t != nil {
		names, providerID = slices.Sorted(maps.Keys(t.names)), t.providerID
	}
	return names, providerID
}

// twins adds the Nodes that share a provider ID to the drifts. It asks the API server once for each suspicion.
func (c *controller) twins(ctx context.Context, groups map[nodecause.Drift][]string) (next time.Duration, err error) {
	due, next := c.store.machines.due(c.Clock.Now())
	for _, machine := range due[:min(len(due), maxTwins)] {
		names, providerID := c.store.machines.of(machine)
		if providerID == "" {
			if names, providerID, err = c.confirm(ctx, machine, names); err != nil {
				return 0, err
			}
		}
		for _, name := range names {
			drift := nodecause.Drift{SharedMachine: providerID}
			groups[drift] = append(groups[drift], "node/"+name)
		}
	}
	return next, nil
}

// readProviderID returns the provider ID of a Node, "" if there is no such Node.
func (c *controller) readProviderID(ctx context.Context, name string) (string, error) {
	node, err := operatorclient.ReadNode(ctx, c.Nodes, name, "")
	if err != nil || node == nil {
		return "", err
	}
	return node.Spec.ProviderID, nil
}

// confirm reads the first Nodes, and forgets those that have another provider ID, or are gone. If several have it, the
// others count too.
func (c *controller) confirm(
	ctx context.Context, machine uint64, names []string,
) (confirmed []string, providerID string, err error) {
	read := min(len(names), maxTwins)
	for _, name := range names[:read] {
		id, err := c.readProviderID(ctx, name)
		switch {
		case err != nil:
			return nil, "", err
		case id != "" && (providerID == "" || id == providerID):
			providerID = id
			confirmed = append(confirmed, name)
		default:
			c.store.machines.lock.Lock()
			c.store.machines.drop(machine, name)
			c.store.machines.lock.Unlock()
		}
	}
	if len(confirmed) < 2 {
		return nil, "", nil
	}
	c.store.machines.lock.Lock()
	defer c.store.machines.lock.Unlock()
	if t := c.store.machines.shared[machine]; t != nil {
		t.providerID = providerID
	}
	return append(confirmed, names[read:]...), providerID, nil
}
