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
	// rolloutLimit is how long deletions wait for a rollout before the condition reports it.
	rolloutLimit = 5 * time.Minute

	// paceWindow is the time in which at most one node, or a share of them, is confirmed. After massLimit the share counts
	// by which more than half of the nodes may go.
	paceWindow = time.Minute
	paceShare  = 10
	massLimit  = 10 * time.Minute
	massShare  = 20
	// turn is paceWindow where the CCM cannot be asked for living nodes: nothing but time tells a dead machine from a
	// cloud that denies living ones. One Node goes in a turn.
	turn = 10 * time.Minute
)

// decide decides about every Node whose kubelet is not ready. Where only one may go at a time, it is the turn of the
// one that has waited the longest for it.
func (m *memory) decide(w *world) {
	share, window := m.pace(w)
	m.confirmations = slices.DeleteFunc(m.confirmations, func(at time.Time) bool { return w.now.Sub(at) >= turn })
	budget := share
	for _, at := range m.confirmations {
		if w.now.Sub(at) < window {
			budget--
		}
	}
	for _, n := range w.undecided() {
		r := n.record
		counts := w.now.Sub(r.confirmed) < window
		former := r.state
		if w.deletions.Unannounced && !w.released && former == confirmed && !counts {
			former = candidate // Its turn is over: the CCM has had the time for a pass.
		}
		r.state, r.hold = next(former, m.evidence(w, n, budget <= 0 && !counts))
		if former == confirmed || r.state != confirmed {
			continue
		}
		r.written = ""
		if !counts {
			m.confirmations = append(m.confirmations, w.now)
			budget--
		}
		r.confirmed = w.now
	}
}

// undecided returns the Nodes whose kubelets are not ready.
func (w *world) undecided() []*node {
	nodes := slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.record == nil })
	if !w.answers {
		slices.SortStableFunc(nodes, func(a, b *node) int { return a.record.confirmed.Compare(b.record.confirmed) })
	}
	return nodes
}

// pace returns how many Nodes may be confirmed in which time.
func (m *memory) pace(w *world) (nodes int, window time.Duration) {
	switch {
	case m.cluster(w, nil) == mostGone:
		return max(1, len(w.all)/massShare), paceWindow
	case !w.answers && !w.released:
		return 1, turn
	default:
		return max(1, len(w.all)/paceShare), paceWindow
	}
}

func (m *memory) evidence(w *world, n *node, paced bool) evidence {
	return evidence{
		kubelet: n.record.kubeletFor(w.now), answer: n.record.answerTo(w, n),
		cloud: m.cloud(w, n), cluster: m.cluster(w, n.record),
		initialized: n.scheme != "", claimed: n.claimed, released: n.permission == Allowed,
		leads: w.leader != "", paced: paced, overdue: w.now.Sub(n.record.since) >= turn+paceWindow,
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
	case w.contradicted() != "":
		return cloudDenies
	case !w.answers:
		return cloudUnasked
	case !w.living[n.scheme]:
		return cloudNotCompared
	case m.misses >= missLimit:
		return cloudDenies
	default:
		return cloudKnows
	}
}

// contradicted returns the name of a Node that the CCM wants to delete while its kubelet reports, "" if there is none.
// Where the CCM cannot be asked, nothing else shows that the cloud denies living machines.
func (w *world) contradicted() string {
	if w.answers || w.deletions.Unannounced {
		return ""
	}
	i := slices.IndexFunc(w.nodes, func(n *node) bool {
		return n.record != nil && n.claimed && n.scheme != "" && n.record.kubeletFor(w.now) == kubeletNotReady
	})
	if i < 0 {
		return ""
	}
	return w.nodes[i].name
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
