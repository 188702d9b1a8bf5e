package nodedeletion

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// memory is what the controller did and learned. A new process starts without, removes what the previous one wrote on
// Nodes, and probes again.
type memory struct {
	records map[types.UID]*record
	// leader is the process that gave the answers in records.
	leader string
	// looked is false before the first look.
	looked bool
	// events are the CCM's Events by their names, nil before the first look.
	events        map[string]announced
	announcements map[types.UID]*announcement

	// probe is the one that has not ended yet, nil if there is none.
	probe *probe
	probeHistory
	// confirmations are the times of those that count for the pace. gone is when the last confirmed Node was deleted, and
	// refuted when a kubelet was last ready whose machine the CCM had denied.
	confirmations []time.Time
	gone, refuted time.Time
	// mass reports whether more than half of the kubelets are silent, and rollout whether a rollout is in progress.
	mass, rollout patience.Since[bool]
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
	// reported is when the kubelet was last seen to have reported. What the CCM announced before does not count.
	reported time.Time

	// When the Node was last the target of a probe, and the leader's answers: when it found the machine or did not, when
	// it also found every reference of that probe, and when it found all where the cloud describes ended machines.
	probed, found, notFound, proven, described time.Time

	// confirmedAt is when the deletion was confirmed last, written is the version of the Node with the annotation, ""
	// before there is one, and expired is the announcement whose confirmation has ended.
	confirmedAt time.Time
	written     string
	expired     time.Time

	// Where there is no probe: when the kubelet fell silent, also before the operator started, and when the CCM last found
	// the machine since, as far as a pass without a denial shows.
	awayAt, lived time.Time
}

// announcement is the CCM's last Event about the deletion of a Node: when the controller saw it, and how long after the
// one before. first is the time of the first one, if the controller found it when it started.
type announcement struct {
	at       time.Time
	first    time.Time
	interval time.Duration
}

func newMemory() memory {
	return memory{records: map[types.UID]*record{}, announcements: map[types.UID]*announcement{}}
}

// readEvents records what the CCM announced. An Event that was there when the process started counts from its own time,
// and a later one from when it arrives: clocks differ.
func (m *memory) readEvents(now time.Time, current map[string]announced) {
	nodes := make(map[types.UID]bool, len(current))
	for name, event := range current {
		nodes[event.node] = true
		former, known := m.events[name]
		if known && former.last.Equal(&event.last) {
			continue
		}
		seen := now
		if m.events == nil && event.last.Time.Before(now) {
			seen = event.last.Time
		}
		m.announce(event.node, seen)
		if m.events == nil {
			m.announcements[event.node].first = event.first.Time
		}
	}
	m.events = current
	maps.DeleteFunc(m.announcements, func(uid types.UID, _ *announcement) bool { return !nodes[uid] })
}

func (m *memory) announce(uid types.UID, at time.Time) {
	last := m.announcements[uid]
	switch {
	case last == nil:
		m.announcements[uid] = &announcement{at: at}
	case last.at.IsZero():
		last.at, last.interval = at, 0
	case at.After(last.at):
		last.at, last.interval = at, at.Sub(last.at)
	}
}

// dropAnnouncement records that a kubelet is ready. An Event may arrive before the Node's change that it follows.
func (m *memory) dropAnnouncement(uid types.UID, now time.Time) {
	if last := m.announcements[uid]; last != nil && !last.at.IsZero() && last.at.Before(now) {
		last.at = time.Time{}
		m.refuted = now
	}
}

func (m *memory) observe(o *observation) {
	first := !m.looked
	m.looked = true
	m.setLeader(o.leader)
	if first {
		m.inheritConfirmations(o)
	}
	for _, n := range o.nodes {
		if n.kubelet == controlplane.KubeletReady {
			continue
		}
		n.record = m.records[n.uid]
		if n.record == nil {
			n.record = &record{kubelet: n.kubelet, transition: n.facts.transition, since: o.now, inherited: first,
				awayAt: o.now}
			m.records[n.uid] = n.record
		}
		n.record.observe(n, o.now)
		n.deletionWanted = m.wantsDeletion(o, n)
		m.observeDenial(o, n, first)
		silent := n.kubelet == controlplane.KubeletSilent
		if silent && n.shutDown && !n.deletionWanted {
			continue
		}
		o.expected++
		if silent {
			o.silent++
		}
	}
	maps.DeleteFunc(m.records, func(uid types.UID, r *record) bool {
		n := o.byUID[uid]
		if n == nil && r.state == confirmed {
			m.gone = o.now
		}
		return n == nil || n.record == nil
	})
	m.mass.See(o.mostAreSilent(), o.now)
}

// setLeader forgets the answers of another leader: each process of the CCM may have other credentials. The answers of a
// leader that stops renewing count again when it goes on.
func (m *memory) setLeader(leader string) {
	if leader == "" || leader == m.leader {
		return
	}
	m.leader, m.lookup, m.misses, m.unanswered = leader, 0, 0, nil
	for _, r := range m.records {
		r.forgetAnswers()
	}
}

// forgetAnswers also ends a confirmation, which rests on them.
func (r *record) forgetAnswers() {
	r.probed, r.found, r.notFound, r.proven, r.described = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if r.state == confirmed {
		r.state = candidate
	}
}

// observe records a change of what the kubelet does. Times count from the controller's first sight of it: the Node has
// those of other clocks, which only tell one change from another.
func (r *record) observe(n *node, now time.Time) {
	transition := n.facts.transition
	if r.kubelet == n.kubelet && r.transition == transition {
		return
	}
	if r.kubelet == n.kubelet && n.kubelet == controlplane.KubeletSilent {
		r.reported = now // It has reported between two looks.
		r.forgetAnswers()
	}
	if n.kubelet != controlplane.KubeletSilent {
		r.reported = now
	}
	r.kubelet, r.transition, r.since, r.inherited = n.kubelet, transition, now, false
	r.awayAt, r.lived = now, time.Time{}
}

func (r *record) recordFound(o *observation) {
	if r.found.Before(r.probed) {
		r.found, r.notFound, r.proven = o.now, time.Time{}, time.Time{}
	}
}

// recordNotFound records that the CCM did not find the machine, and whether it found every reference of the same probe.
func (r *record) recordNotFound(o *observation, foundAll bool) {
	r.notFound, r.found, r.described = o.now, time.Time{}, time.Time{}
	if foundAll {
		r.proven = o.now
	}
}

// recordDescribed records that the CCM found the machine, where the cloud describes a machine after its end: the CCM
// finds it, and goes on to announce the deletion of its Node. That proves its end too, if the same leader found every
// reference both before and after the announcement.
func (r *record) recordDescribed(o *observation, n *node, foundAll bool) {
	last := r.described
	r.described = time.Time{}
	if !o.deletions.Described || !foundAll {
		return
	}
	r.described = o.now
	if !last.IsZero() && o.now.Sub(last) < announcementLife && n.announced.After(last) {
		r.proven = o.now
	}
}
