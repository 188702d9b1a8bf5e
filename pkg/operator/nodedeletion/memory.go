package nodedeletion

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// memory is what the controller did and learned. A new process starts without, takes back what the previous one wrote
// on Nodes, and asks again.
type memory struct {
	// pending is the question that the CCM has not answered yet, nil if there is none.
	pending *inquiry
	// unanswered are the names of nodes that the CCM did not find when it was asked last, at askedAt.
	unanswered []string
	askedAt    time.Time
	// knowing is the leader that found every node at knewAt.
	knowing string
	knewAt  time.Time
	// confirmed are the deletions that the controller confirmed.
	confirmed map[types.UID]confirmation
	// turn selects other witnesses for each question.
	turn int
}

// inquiry is a question about some living nodes to a leader.
type inquiry struct {
	leader    string
	since     time.Time
	witnesses []types.UID
	// written are the versions of the Nodes with the taint.
	written map[types.UID]string
}

type confirmation struct {
	leader string
	at     time.Time
}

func newMemory() memory { return memory{confirmed: map[types.UID]confirmation{}} }

// listen looks for the answer to the pending question. The answer of a leader that has ended, or about a node that
// has, is none.
func (m *memory) listen(w world) {
	for uid, c := range m.confirmed {
		if _, exists := w.find(uid); !exists && w.now.Sub(c.at) > paceWindow {
			delete(m.confirmed, uid)
		}
	}
	if m.pending == nil {
		return
	}
	var missing []string
	for _, uid := range m.pending.witnesses {
		n, exists := w.find(uid)
		if !exists || !n.ready || m.pending.leader != w.leader {
			m.pending = nil
			return
		}
		if !m.pending.answered(n) {
			missing = append(missing, n.name)
		}
	}
	switch {
	case len(missing) == 0:
		m.knowing, m.knewAt = w.leader, w.now
		m.pending, m.unanswered = nil, nil
	case w.now.Sub(m.pending.since) >= answerLimit:
		m.pending, m.unanswered, m.askedAt = nil, missing, w.now
	}
}

// includes reports whether the question is about the node. No question is about none.
func (i *inquiry) includes(n node) bool { return i != nil && slices.Contains(i.witnesses, n.uid) }

// lacks reports whether the node still has to get the taint.
func (i *inquiry) lacks(n node) bool { return i.includes(n) && !n.asked && i.written[n.uid] == "" }

// answered reports whether the taint was written and is gone again.
func (i *inquiry) answered(n node) bool {
	written, asked := i.written[n.uid]
	if !asked || n.asked {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(n.object.ResourceVersion, written)
	return err == nil && order > 0
}

// wrote remembers a change of a Node.
func (m *memory) wrote(w world, n node, done change, version string) {
	if done == ask {
		m.pending.written[n.uid] = version
	}
	if done == confirm {
		m.confirmed[n.uid] = confirmation{leader: w.leader, at: w.now}
	}
}

// begin begins a question.
func (m *memory) begin(w world, witnesses []types.UID) {
	m.turn++
	m.pending = &inquiry{leader: w.leader, since: w.now, witnesses: witnesses, written: map[types.UID]string{}}
}

// knows reports whether the leader has found living nodes recently.
func (m *memory) knows(w world) bool {
	return m.knowing == w.leader && w.now.Sub(m.knewAt) < confirmationLife
}

// stands reports whether a confirmation still counts.
func (m *memory) stands(w world, n node) bool {
	c, known := m.confirmed[n.uid]
	return known && !n.reports && c.leader == w.leader && w.now.Sub(c.at) < confirmationLife
}

// decided reports whether the CCM has said nothing more since its deletion was confirmed: either it is about to delete
// the Node, or the cloud knows the machine again.
func (m *memory) decided(w world, n node) bool {
	c, known := m.confirmed[n.uid]
	return m.stands(w, n) || known && !n.reports && c.leader == w.leader && !n.announced.After(c.at)
}

// recent counts the confirmations of the last minute.
func (m *memory) recent(w world) int {
	count := 0
	for _, c := range m.confirmed {
		if w.now.Sub(c.at) < paceWindow {
			count++
		}
	}
	return count
}
