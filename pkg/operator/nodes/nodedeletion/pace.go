package nodedeletion

import (
	"slices"
	"time"
)

const (
	// In each paceWindow, one Node or 1/paceShare of all may be confirmed; without probes, and after a mass silence of
	// massLimit, the share is 1/massShare.
	paceWindow = time.Minute
	paceShare  = 10
	massLimit  = 10 * time.Minute
	massShare  = 20
	// turnPeriod is the window for one Node if only time can tell a dead machine from a cloud that misses living ones.
	turnPeriod = 10 * time.Minute

	// promptPeriod is how soon a fast CCM denies a machine after its kubelet has fallen silent.
	promptPeriod = 2 * time.Minute
	// longPeriod is how long only one Node goes in a turn after the return of a kubelet whose machine was denied. A Node
	// whose kubelet has been silent for as long has certainly had a turn.
	longPeriod = time.Hour
)

type limit struct {
	nodes  int
	window time.Duration
}

var oneInATurn = limit{1, turnPeriod}

func (m *memory) limitFor(o *observation, n *node) limit {
	some := limit{max(1, len(o.all)/massShare), paceWindow}
	switch {
	case o.manyPermitted:
		return limit{max(1, len(o.all)/paceShare), paceWindow}
	case !o.canProbe && (o.mostAreSilent() || !m.believes(o, n.record)):
		return oneInATurn
	case !o.canProbe:
		return some
	case !o.living[n.scheme] && (o.ready == 0 || o.now.Sub(n.record.since) < turnPeriod):
		return limit{0, turnPeriod}
	case !o.living[n.scheme]:
		return oneInATurn
	case m.clusterFor(o, nil) == clusterMostGone:
		return some
	default:
		return limit{max(1, len(o.all)/paceShare), paceWindow}
	}
}

// believes reports whether a share of the Nodes may go without probes. The CCM must have denied the machine ever since
// the kubelet fell silent: a cloud that found it then may have lost living machines since. And the CCM must answer for
// others: it finds the machine of another unready kubelet, or has denied one for a turn, and no kubelet has returned
// whose machine it denied.
func (m *memory) believes(o *observation, r *record) bool {
	if !r.lived.IsZero() || !m.refuted.IsZero() && o.now.Sub(m.refuted) < longPeriod {
		return false
	}
	return slices.ContainsFunc(o.nodes, func(other *node) bool {
		switch {
		case other.record == nil || other.scheme == "":
			return false
		case !other.record.lived.IsZero():
			return o.now.Sub(other.record.lived) < turnPeriod
		case o.deletions.Unannounced && (m.gone.IsZero() || o.now.Sub(m.gone) >= 2*turnPeriod):
			return false // Such a CCM announces no denial; a deletion shows it.
		}
		return other.deletionWanted && o.now.Sub(other.record.awayAt) >= turnPeriod
	})
}

func (m *memory) observeDenial(o *observation, n *node, first bool) {
	r := n.record
	if first {
		m.inherit(o, n)
	}
	if !o.deletions.Unannounced && !n.deletionWanted && o.leader != "" && o.now.Sub(r.since) >= m.passTime() {
		r.lived = o.now
	}
}

// inherit reads from the API what the former process of the operator knew of a Node whose kubelet is not ready.
func (m *memory) inherit(o *observation, n *node) {
	r := n.record
	at := time.Unix(r.transition, 0)
	if n.permission == Confirmed { // It keeps its turn.
		r.confirmedAt = o.now
		m.confirmations = append(m.confirmations, o.now)
	}
	if at.Before(o.now) {
		r.awayAt = at
	}
	silent := o.now.Sub(r.awayAt)
	last := m.announcements[n.uid]
	switch {
	case o.deletions.Unannounced && silent >= longPeriod:
		r.lived = at
	case o.deletions.Unannounced && silent >= silenceGrace && len(m.confirmations) == 0:
		m.confirmations = append(m.confirmations, o.now) // The Node that had its turn may be gone.
	case last != nil && !last.first.IsZero() && last.first.Sub(at) > promptPeriod:
		r.lived = at
	}
}

// passTime is how long the CCM may take to look for the machine of a kubelet that falls silent: two known passes.
func (m *memory) passTime() time.Duration {
	pass := promptPeriod
	for _, a := range m.announcements {
		if !a.at.IsZero() && a.interval == 0 {
			pass = max(pass, turnPeriod)
		}
		pass = max(pass, 2*a.interval)
	}
	return pass
}

func (m *memory) confirmedWithin(window time.Duration, now time.Time) (count int) {
	for _, at := range m.confirmations {
		if now.Sub(at) < window {
			count++
		}
	}
	return count
}

// inheritConfirmations counts the Nodes that the CCM deleted before the operator started: its Events outlive them.
func (m *memory) inheritConfirmations(o *observation) {
	exists := map[string]bool{}
	for _, n := range o.all {
		exists[string(n.uid)] = true
	}
	for uid, a := range m.announcements {
		if !exists[string(uid)] && o.now.Sub(a.at) < turnPeriod {
			m.confirmations = append(m.confirmations, a.at)
		}
	}
}
