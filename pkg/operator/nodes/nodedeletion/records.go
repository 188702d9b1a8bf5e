package nodedeletion

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// memory is what the controller did and learned. A new process starts without, takes back what the previous one wrote
// on Nodes, and asks again.
type memory struct {
	records map[types.UID]*record
	// leader is the process that gave the answers in records.
	leader string
	// events are the times of the CCM's Events, by their names, nil before the first look. claims are what they say.
	events map[string]metav1.Time
	claims map[types.UID]*claim

	// probe is the question that the CCM has not answered yet, nil if there is none.
	probe *probe
	probing
	// confirmations are the times of those that count for the pace.
	confirmations []time.Time
	// mass reports whether more than half of the kubelets are silent.
	mass patience.Since[bool]
}

// record is what is remembered about a Node whose kubelet is not ready.
type record struct {
	state state
	hold  hold

	// since is when the controller first saw what the kubelet does now, and transition the Node's own time of that.
	// inherited is true if it was so at the controller's first look.
	kubelet    controlplane.Kubelet
	transition int64
	since      time.Time
	inherited  bool
	// refuted is when the kubelet was last seen to have reported. What the CCM announced before does not count.
	refuted time.Time

	// The answers of the leader: when it was asked last, when it found the machine or did not, when it also found every
	// living node at the same time, and when it found all of them where the cloud describes machines after their end.
	asked, found, notFound, proven, described time.Time

	// confirmed is when the deletion was confirmed last, written is the version of the Node with the annotation, "" before
	// there is one, and spent is the announcement whose confirmation has ended.
	confirmed time.Time
	written   string
	spent     time.Time
}

// claim is what the CCM announced about a Node: when the controller last heard it, and how long after the time before.
type claim struct {
	heard    time.Time
	interval time.Duration
}

func newMemory() memory {
	return memory{records: map[types.UID]*record{}, claims: map[types.UID]*claim{}}
}

// hear records what the CCM announced. A process that starts hears of what was said before, so the time in the Event
// counts then. A later one counts when it arrives: clocks differ.
func (m *memory) hear(now time.Time, announced []*corev1.Event) {
	events := make(map[string]metav1.Time, len(announced))
	said := make(map[types.UID]bool, len(announced))
	for _, event := range announced {
		uid := event.InvolvedObject.UID
		events[event.Name], said[uid] = event.LastTimestamp, true
		at, known := m.events[event.Name]
		if known && at.Equal(&event.LastTimestamp) {
			continue
		}
		heard := now
		if m.events == nil && event.LastTimestamp.Time.Before(now) {
			heard = event.LastTimestamp.Time
		}
		m.claim(uid, heard)
	}
	m.events = events
	maps.DeleteFunc(m.claims, func(uid types.UID, _ *claim) bool { return !said[uid] })
}

func (m *memory) claim(uid types.UID, heard time.Time) {
	last := m.claims[uid]
	switch {
	case last == nil:
		m.claims[uid] = &claim{heard: heard}
	case last.heard.IsZero():
		last.heard, last.interval = heard, 0
	case heard.After(last.heard):
		last.heard, last.interval = heard, heard.Sub(last.heard)
	}
}

// refute records that a kubelet is ready. An Event may arrive before the Node's change that it follows.
func (m *memory) refute(uid types.UID, now time.Time) {
	if last := m.claims[uid]; last != nil && last.heard.Before(now) {
		last.heard = time.Time{}
	}
}

// observe records what the kubelets do, and what the CCM says about their Nodes.
func (m *memory) observe(w *world) {
	first := !m.begun
	m.begun = true
	m.follow(w.leader)
	for _, n := range w.nodes {
		if n.kubelet == controlplane.KubeletReady {
			continue
		}
		n.record = m.records[n.uid]
		if n.record == nil {
			n.record = newRecord(n, w.now, first)
			m.records[n.uid] = n.record
		}
		n.record.observe(n, w.now)
		n.claimed = m.claimed(w, n)
		silent := n.kubelet == controlplane.KubeletSilent
		if silent && n.off && !n.claimed {
			continue
		}
		w.expected++
		if silent {
			w.silent++
		}
	}
	maps.DeleteFunc(m.records, func(uid types.UID, _ *record) bool {
		n := w.byUID[uid]
		return n == nil || n.record == nil
	})
	m.mass.See(w.mostAreSilent(), w.now)
}

// follow forgets the answers of another leader: each process of the CCM may have other credentials. What a leader that
// falls silent said before counts again when it goes on.
func (m *memory) follow(leader string) {
	if leader == "" || leader == m.leader {
		return
	}
	m.leader, m.lookup = leader, 0
	for _, r := range m.records {
		r.forget()
	}
}

// forget forgets the answers. What was confirmed because of them ends.
func (r *record) forget() {
	r.asked, r.found, r.notFound, r.proven, r.described = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if r.state == confirmed {
		r.state = candidate
	}
}

func newRecord(n *node, now time.Time, inherited bool) *record {
	return &record{kubelet: n.kubelet, transition: n.facts.transition, since: now, inherited: inherited}
}

// observe records a change of what the kubelet does. Times count from the controller's first sight of it: the Node has
// those of other clocks, which only tell one change from another.
func (r *record) observe(n *node, now time.Time) {
	transition := n.facts.transition
	if r.kubelet == n.kubelet && r.transition == transition {
		return
	}
	if r.kubelet == n.kubelet && n.kubelet == controlplane.KubeletSilent {
		r.refuted = now // It has reported between two looks.
		r.forget()
	}
	if n.kubelet != controlplane.KubeletSilent {
		r.refuted = now
	}
	r.kubelet, r.transition, r.since, r.inherited = n.kubelet, transition, now, false
}

// claimed reports whether the CCM wants to delete a Node, or may want to.
func (m *memory) claimed(w *world, n *node) bool {
	r := n.record
	if w.deletions.Unannounced {
		return n.kubelet == controlplane.KubeletSilent && !n.off
	}
	said := m.claims[n.uid]
	if said == nil || said.heard.IsZero() {
		return false
	}
	n.announced = said.heard
	reports := n.kubelet != controlplane.KubeletSilent
	switch {
	case w.now.Sub(said.heard) >= claimLife:
		return false
	case said.heard.Before(r.refuted), reports && !r.inherited && said.heard.Before(r.since):
		// A report refutes what the CCM said before it. Silence does not, and the CCM's recorder may drop what it says then.
		return false
	}
	r.spend(w, said)
	return said.heard.After(r.spent)
}

// spend ends a confirmation that no answer can refute, once the CCM has not repeated its announcement for twice the
// time of a pass: it would have, if it still wanted to delete the Node.
func (r *record) spend(w *world, said *claim) {
	if r.state != confirmed || w.refutes() {
		return
	}
	last := said.heard
	if r.confirmed.After(last) {
		last = r.confirmed
	}
	if w.now.Sub(last) >= min(claimLife, max(confirmationLife, 2*said.interval)) {
		r.spent = said.heard
	}
}

// refutes reports whether the CCM finds the machine of a Node exactly while it would not delete the Node.
func (w *world) refutes() bool { return w.answers && !w.deletions.Described }
