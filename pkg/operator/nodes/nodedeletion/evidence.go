package nodedeletion

import (
	"slices"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

const (
	// settleTime is how long a kubelet has to be silent beyond the time after which kube-controller-manager notices.
	settleTime = 20 * time.Second
	// shutdownLimit is how long a node that reported NotReady before it went silent is tolerated: a machine that is
	// being deleted shuts down first. kube-controller-manager notices the silence within this time.
	shutdownLimit = 55 * time.Second
	// claimLife is how long a CCM's last announcement counts. Its recorder passes on one repetition in five minutes.
	claimLife = 12 * time.Minute
	// confirmationLife is how long a proof counts for a confirmation. After it, the CCM is asked again, also about a Node
	// that is confirmed and still there.
	confirmationLife = time.Minute
	// rolloutLimit is how long deletions wait for a rollout without a word.
	rolloutLimit = 5 * time.Minute

	// paceWindow is the time in which at most one node, or a share of them, is confirmed. After massLimit the share counts
	// by which more than half of the nodes may go.
	paceWindow = time.Minute
	paceShare  = 10
	massLimit  = 10 * time.Minute
	massShare  = 20
)

// decide decides about every Node whose kubelet is not ready.
func (m *memory) decide(w *world) {
	m.confirmations = slices.DeleteFunc(m.confirmations, func(at time.Time) bool { return w.now.Sub(at) >= paceWindow })
	budget := m.budget(w) - len(m.confirmations)
	for _, n := range w.nodes {
		r := n.record
		if r == nil {
			continue
		}
		former := r.state
		r.state, r.hold = next(former, m.evidence(w, n, budget <= 0))
		if former != confirmed && r.state == confirmed {
			r.confirmed, r.written = w.now, false
			m.confirmations = append(m.confirmations, w.now)
			budget--
		}
	}
}

// budget returns how many Nodes may be confirmed in paceWindow.
func (m *memory) budget(w *world) int {
	if m.cluster(w, nil) == mostGone {
		return max(1, len(w.all)/massShare)
	}
	return max(1, len(w.all)/paceShare)
}

func (m *memory) evidence(w *world, n *node, paced bool) evidence {
	return evidence{
		kubelet: n.record.kubeletFor(w.now), answer: n.record.answerTo(w, n),
		cloud: m.cloud(w, n), cluster: m.cluster(w, n.record),
		initialized: n.scheme != "", claimed: n.claimed, released: n.permission == Allowed,
		leads: w.leader != "", paced: paced,
	}
}

func (r *record) kubeletFor(now time.Time) kubelet {
	age := now.Sub(r.since)
	switch {
	case r.kubelet == controlplane.KubeletSilent && age >= settleTime:
		return kubeletSilent
	case r.kubelet == controlplane.KubeletSilent:
		return kubeletFalling
	case age >= shutdownLimit:
		return kubeletNotReady
	default:
		return kubeletLeaving
	}
}

// answerTo returns the leader's answer that counts. Where the CCM does not answer, its announcement counts. Where the
// cloud describes a machine after its end, an answer does not refute what was confirmed.
func (r *record) answerTo(w *world, n *node) answer {
	switch {
	case !w.answers:
		return proven
	case !r.proven.IsZero() && w.now.Sub(r.proven) < confirmationLife:
		return proven
	case w.deletions.Described && r.state == confirmed:
		return unasked
	case !r.found.IsZero() && !n.announced.After(r.found):
		return found
	case !r.notFound.IsZero():
		return notFound
	default:
		return unasked
	}
}

func (m *memory) cloud(w *world, n *node) cloud {
	switch {
	case !w.answers:
		return cloudKnows
	case !w.living[n.scheme]:
		return cloudNotCompared
	case m.misses >= missLimit:
		return cloudDenies
	default:
		return cloudKnows
	}
}

// cluster returns what the state of the cluster says about a Node that has waited since the record's time.
func (m *memory) cluster(w *world, r *record) calmness {
	most, gone := w.mostAreSilent(), w.answers && w.now.Sub(m.mass.At()) >= massLimit
	switch {
	case w.released:
		return massesReleased
	case most && !gone:
		return mostSilent
	case w.rollout && r != nil && w.now.Sub(r.since) >= rolloutLimit:
		return rolloutStuck
	case w.rollout:
		return rollsOut
	case most:
		return mostGone
	default:
		return calm
	}
}
