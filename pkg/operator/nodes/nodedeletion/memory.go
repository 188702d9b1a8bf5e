package nodedeletion

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// memory is what the controller did and learned. A new process removes the former one's marks, and probes again.
type memory struct {
	records map[types.UID]*record
	// leader is the process that gave the answers in records.
	leader string
	looked bool
	// events are the CCM's Events by name, nil before the first look.
	events        map[string]announced
	announcements map[types.UID]*announcement

	// probe is the running one, nil if there is none.
	probe *probe
	probeHistory
	// confirmations are the times that count for the pace. gone is when a confirmed Node was last deleted, refuted when a
	// kubelet was last ready whose machine the CCM had denied.
	confirmations []time.Time
	gone, refuted time.Time
	// mass reports whether more than half of the kubelets are silent, and rollout whether a rollout is in progress.
	mass, rollout patience.Since[bool]
}

// record is what is remembered about a Node whose kubelet is not ready.
type record struct {
	state state
	hold  hold

	// since is when the controller first saw the kubelet's present state, transition the Node's own time of it, and
	// inherited whether it was so at the controller's first look.
	kubelet    controlplane.Kubelet
	transition int64
	since      time.Time
	inherited  bool
	// reported is when the kubelet was last seen to have reported. Earlier announcements do not count.
	reported time.Time

	// probed is when the Node was last the target of a probe. The leader's answers: it found the machine, it did not, it
	// did not but found every reference (proven), or it found all where the cloud describes ended machines (described).
	probed, found, notFound, proven, described time.Time

	// confirmedAt is when the deletion was last confirmed, written the version of the Node with the annotation, "" if
	// there is none, and expired the announcement whose confirmation has ended.
	confirmedAt time.Time
	written     string
	expired     time.Time

	// Without probes: awayAt is when the kubelet fell silent, even before the operator started, and lived when the CCM
	// last found the machine since, as a pass without a denial shows.
	awayAt, lived time.Time
}

// isOpen reports whether the passage of time or a probe may change the state.
func (r *record) isOpen() bool {
	return slices.Contains([]state{settling, undecided, held, confirmed}, r.state)
}

// announcement is the CCM's last Event about the deletion of a Node: when the controller saw it, and how long after the
// previous one. first is the first Event's own time, if it existed when the controller started.
type announcement struct {
	at       time.Time
	first    time.Time
	interval time.Duration
}

// passes returns the time of two passes, in which the CCM announces the deletion again, up to an hour: in a longer
// interval, the CCM has found the machine.
func (a *announcement) passes() time.Duration { return min(2*a.interval, longPeriod) }

func newMemory() memory {
	return memory{records: map[types.UID]*record{}, announcements: map[types.UID]*announcement{}}
}

// readEvents records what the CCM announced. An Event that existed when the process started counts from its own time, a
// later one from its arrival, because clocks differ.
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

// dropAnnouncement records that a kubelet is ready. An Event may arrive before the change of the Node that caused it:
// it is refuted only if the kubelet has been seen away.
func (m *memory) dropAnnouncement(uid types.UID, now time.Time) {
	if last := m.announcements[uid]; last != nil && !last.at.IsZero() && last.at.Before(now) {
		last.at = time.Time{}
		if !m.looked || m.records[uid] != nil {
			m.refuted = now
		}
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
			n.record = &record{kubelet: n.kubelet, transition: n.transition, since: o.now, inherited: first,
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
		isDeleted := o.byUID[uid] == nil
		if isDeleted && r.state == confirmed {
			m.gone = o.now
		}
		return isDeleted
	})
	m.mass.See(o.mostAreSilent(), o.now)
}

// setLeader forgets another leader's answers: it may have other credentials. A leader that resumes keeps its answers.
func (m *memory) setLeader(leader string) {
	if leader == "" || leader == m.leader {
		return
	}
	m.leader, m.lookup, m.misses, m.unanswered = leader, 0, 0, nil
	for _, r := range m.records {
		r.forgetAnswers()
	}
}

// forgetAnswers also ends a confirmation, which depends on them.
func (r *record) forgetAnswers() {
	r.probed, r.found, r.notFound, r.proven, r.described = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if r.state == confirmed {
		r.state = undecided
	}
}

// observe records a change of the kubelet's state, from when the controller first sees it: the Node's times are of
// other clocks, and only distinguish changes.
func (r *record) observe(n *node, now time.Time) {
	if r.kubelet == n.kubelet && r.transition == n.transition {
		return
	}
	if r.kubelet == n.kubelet && n.kubelet == controlplane.KubeletSilent {
		r.reported = now // The kubelet has reported between two looks.
		r.forgetAnswers()
	}
	if n.kubelet != controlplane.KubeletSilent {
		r.reported = now
	}
	r.kubelet, r.transition, r.since, r.inherited = n.kubelet, n.transition, now, false
	r.awayAt, r.lived = now, time.Time{}
}

func (r *record) recordFound(o *observation) {
	if r.found.Before(r.probed) {
		r.found, r.notFound, r.proven = o.now, time.Time{}, time.Time{}
	}
}

func (r *record) recordNotFound(o *observation, foundAll bool) {
	r.notFound, r.found, r.described = o.now, time.Time{}, time.Time{}
	if foundAll {
		r.proven = o.now
	}
}

// recordDescribed records that the CCM found the machine, where the cloud describes ended machines: the CCM finds them,
// and announces the deletion of their Nodes. That proves the end of a machine too, if the same leader found every
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
