package nodedeletion

import (
	"maps"
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
	// unanswered are the names of living nodes that the CCM did not find when it was asked last; askedAt is when the
	// last question ended.
	unanswered []string
	askedAt    time.Time
	// found and denied say when the CCM was asked for a Node that it wanted to delete, and did or did not find its
	// machine.
	found, denied map[types.UID]time.Time
	// proven are denials together with which the leader found every living node that it was asked for, and confirmed
	// are the deletions that the controller confirmed.
	proven, confirmed map[types.UID]decision
	// described are the last answers about Nodes whose machine the leader found together with every living node.
	described map[types.UID]decision
	// turn selects other witnesses for each question.
	turn int
}

// inquiry is a question to a leader: about witnesses, which live, and subjects, which it wants to delete.
type inquiry struct {
	leader              string
	since               time.Time
	witnesses, subjects []types.UID
	// written are the versions of the Nodes with the taint.
	written map[types.UID]string
}

type decision struct {
	leader string
	at     time.Time
}

func newMemory() memory {
	return memory{
		found: map[types.UID]time.Time{}, denied: map[types.UID]time.Time{},
		proven: map[types.UID]decision{}, confirmed: map[types.UID]decision{}, described: map[types.UID]decision{},
	}
}

// listen looks for the answer to the pending question. The answer of a leader that has ended, or about a living node
// that does not live any more, is none.
func (m *memory) listen(w world) {
	m.forget(w)
	if m.pending == nil {
		return
	}
	missing, valid := m.pending.missing(w)
	if !valid {
		m.pending = nil
		return
	}
	if len(missing) == 0 && len(m.pending.witnesses) > 0 {
		m.unanswered = nil
	}
	denied, found, complete := m.collect(w)
	if (!complete || len(missing)+len(denied) > 0) && w.now.Sub(m.pending.since) < answerLimit {
		return
	}
	if !slices.ContainsFunc(m.pending.witnesses, func(uid types.UID) bool { return !m.pending.asked(uid) }) {
		m.conclude(w, missing, denied, found)
	}
	m.pending, m.askedAt = nil, w.now
}

// collect returns the subjects without and with an answer, and whether the CCM was asked for all of them.
func (m *memory) collect(w world) (denied []types.UID, found []node, complete bool) {
	complete = true
	for _, uid := range m.pending.subjects {
		switch n, exists := w.find(uid); {
		case exists && m.pending.answered(n):
			m.found[uid] = w.now
			delete(m.proven, uid)
			if w.refutes() {
				delete(m.confirmed, uid)
			}
			found = append(found, n)
		case exists && m.pending.asked(uid):
			denied = append(denied, uid)
		case exists:
			complete = false
		}
	}
	return denied, found, complete
}

// conclude remembers the answers to the pending question, of which every living node was asked for.
func (m *memory) conclude(w world, missing []string, denied []types.UID, found []node) {
	proven := len(missing) == 0 && len(m.pending.witnesses) > 0
	m.deny(w, denied, proven)
	if w.deletions.Described {
		m.describe(w, found, proven)
	}
	m.unanswered = missing
}

// deny remembers that the CCM did not find machines, and whether it found every living node with the same question.
func (m *memory) deny(w world, denied []types.UID, proven bool) {
	for _, uid := range denied {
		delete(m.described, uid)
		m.denied[uid] = w.now
		if proven {
			m.proven[uid] = decision{leader: w.leader, at: w.now}
		}
	}
}

// describe remembers that the CCM found machines, where the cloud describes a machine after its end: the CCM finds it,
// and goes on to announce the deletion of its Node. That is a denial too, if the same leader found every living node
// both before and after it.
func (m *memory) describe(w world, found []node, proven bool) {
	for _, n := range found {
		last, known := m.described[n.uid]
		delete(m.described, n.uid)
		if !proven {
			continue
		}
		m.described[n.uid] = decision{leader: w.leader, at: w.now}
		if known && last.leader == w.leader && w.now.Sub(last.at) < claimLife && n.announced.After(last.at) {
			m.proven[n.uid] = decision{leader: w.leader, at: w.now}
		}
	}
}

// forget removes Nodes that are gone. Their confirmations count for the pace.
func (m *memory) forget(w world) {
	gone := func(uid types.UID) bool { _, exists := w.find(uid); return !exists }
	maps.DeleteFunc(m.found, func(uid types.UID, _ time.Time) bool { return gone(uid) })
	maps.DeleteFunc(m.denied, func(uid types.UID, _ time.Time) bool { return gone(uid) })
	maps.DeleteFunc(m.proven, func(uid types.UID, _ decision) bool { return gone(uid) })
	maps.DeleteFunc(m.described, func(uid types.UID, _ decision) bool { return gone(uid) })
	maps.DeleteFunc(m.confirmed, func(uid types.UID, c decision) bool {
		return gone(uid) && w.now.Sub(c.at) > paceWindow
	})
}

// missing returns the names of the witnesses without an answer, and whether an answer would still count.
func (i *inquiry) missing(w world) (names []string, valid bool) {
	for _, uid := range i.witnesses {
		n, exists := w.find(uid)
		if !exists || !n.ready {
			return nil, false
		}
		if !i.answered(n) {
			names = append(names, n.name)
		}
	}
	return names, i.leader == w.leader
}

// includes reports whether the question is about the node. No question is about none.
func (i *inquiry) includes(n node) bool {
	return i != nil && (slices.Contains(i.witnesses, n.uid) || slices.Contains(i.subjects, n.uid))
}

// lacks reports whether the node still has to get the taint.
func (i *inquiry) lacks(n node) bool { return i.includes(n) && !n.asked && !i.asked(n.uid) }

// asked reports whether the taint was written. A write may fail or take long.
func (i *inquiry) asked(uid types.UID) bool { return i.written[uid] != "" }

// answered reports whether the taint was written and is gone again.
func (i *inquiry) answered(n node) bool {
	if !i.asked(n.uid) || n.asked {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(n.object.ResourceVersion, i.written[n.uid])
	return err == nil && order > 0
}

// wrote remembers a change of a Node. The time to answer begins with the last taint.
func (m *memory) wrote(w world, n node, done change, version string, now time.Time) {
	if done == ask {
		m.pending.written[n.uid], m.pending.since = version, now
	}
	if done == confirm {
		m.confirmed[n.uid] = decision{leader: w.leader, at: w.now}
	}
}

// begin begins a question. Some Nodes may still have the taint of the last one.
func (m *memory) begin(w world, asked *inquiry) {
	m.turn++
	asked.leader, asked.since, asked.written = w.leader, w.now, map[types.UID]string{}
	for _, n := range w.nodes {
		if n.asked && asked.includes(n) {
			asked.written[n.uid] = n.object.ResourceVersion
		}
	}
	m.pending = asked
}

// denies reports whether the CCM was asked for a Node itself, and did not find its machine.
func (m *memory) denies(w world, n node) bool {
	at, asked := m.denied[n.uid]
	return asked && w.now.Sub(at) < denialLife
}

// proves reports whether the leader has recently denied a Node and found living ones.
func (m *memory) proves(w world, n node) bool {
	proof, known := m.proven[n.uid]
	return known && proof.leader == w.leader && w.now.Sub(proof.at) < confirmationLife
}

// stands reports whether a confirmation still counts. A CCM may come back to a Node only after a pass over all silent
// ones, and when one tries a deletion that it does not announce is unknown. So the confirmation ends when the kubelet
// reports, another process leads, or the leader finds the machine when it is asked again. Where no answer can refute
// it, it ends by time.
func (m *memory) stands(w world, n node) bool {
	c, known := m.confirmed[n.uid]
	if !known || n.reports || c.leader != w.leader {
		return false
	}
	return w.deletions.Unannounced || w.refutes() && n.claimed || w.now.Sub(c.at) < confirmationLife
}

// refutes reports whether the CCM finds the machine of a Node exactly while it would not delete the Node.
func (w world) refutes() bool { return w.answers && !w.deletions.Described }

// settled reports whether there is no decision to make about a Node that the CCM wanted to delete: the deletion is
// permitted, and the CCM need not be asked again yet, or it has since found the machine or said nothing more.
func (m *memory) settled(w world, n node) bool {
	found, asked := m.found[n.uid]
	c, known := m.confirmed[n.uid]
	if m.stands(w, n) {
		denied := m.denied[n.uid]
		return !w.refutes() || w.now.Sub(denied) < confirmationLife
	}
	return n.permission == Allowed || asked && !n.announced.After(found) && !m.proves(w, n) ||
		known && !n.reports && c.leader == w.leader && !n.announced.After(c.at)
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
