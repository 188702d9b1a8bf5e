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
	// announcementLife is how long a CCM's last announcement counts. Its recorder passes on one repeat in five minutes.
	announcementLife = 12 * time.Minute
	// confirmationLife is how long a probe counts for a confirmation. After it, the next probe is also about a Node that
	// is confirmed and still there.
	confirmationLife = time.Minute
	// rolloutLimit is how long deletions wait for a rollout before the condition reports it.
	rolloutLimit = 5 * time.Minute

	// paceWindow is the time in which at most one node, or a share of them, is confirmed. After massLimit the share counts
	// by which more than half of the nodes may go.
	paceWindow = time.Minute
	paceShare  = 10
	massLimit  = 10 * time.Minute
	massShare  = 20
	// turnTime is paceWindow where there is no probe: nothing but time tells a dead machine from a cloud that does not
	// find living ones. One Node goes in a turn.
	turnTime = 10 * time.Minute
)

// decideAll sets the state of every Node whose kubelet is not ready. Where only one may go at a time, it is the turn of
// the one that has waited the longest for it.
func (m *memory) decideAll(o *observation) {
	share, window := m.pace(o)
	m.confirmations = slices.DeleteFunc(m.confirmations, func(at time.Time) bool { return o.now.Sub(at) >= turnTime })
	budget := share
	for _, at := range m.confirmations {
		if o.now.Sub(at) < window {
			budget--
		}
	}
	for _, n := range o.notReady() {
		r := n.record
		counts := o.now.Sub(r.confirmed) < window
		former := r.state
		if o.deletions.Unannounced && !o.manyPermitted && former == confirmed && !counts {
			former = candidate // Its turn is over: the CCM has had the time for a pass.
		}
		r.state, r.hold = next(former, m.evidence(o, n, budget <= 0 && !counts))
		if former == confirmed || r.state != confirmed {
			continue
		}
		r.written = ""
		if !counts {
			m.confirmations = append(m.confirmations, o.now)
			budget--
		}
		r.confirmed = o.now
	}
}

// notReady returns the Nodes whose kubelets are not ready.
func (o *observation) notReady() []*node {
	nodes := slices.DeleteFunc(slices.Clone(o.nodes), func(n *node) bool { return n.record == nil })
	if !o.canProbe {
		slices.SortStableFunc(nodes, func(a, b *node) int { return a.record.confirmed.Compare(b.record.confirmed) })
	}
	return nodes
}

// pace returns how many Nodes may be confirmed in which time.
func (m *memory) pace(o *observation) (nodes int, window time.Duration) {
	switch {
	case m.cluster(o, nil) == mostGone:
		return max(1, len(o.all)/massShare), paceWindow
	case !o.canProbe && !o.manyPermitted:
		return 1, turnTime
	default:
		return max(1, len(o.all)/paceShare), paceWindow
	}
}

func (m *memory) evidence(o *observation, n *node, paced bool) evidence {
	return evidence{
		kubelet: n.record.kubeletFor(o.now), answer: n.record.answerTo(o, n),
		cloud: m.cloud(o, n), cluster: m.cluster(o, n.record),
		initialized: n.scheme != "", deletionWanted: n.deletionWanted, permitted: n.permission == Allowed,
		leads: o.leader != "", paced: paced, overdue: o.now.Sub(n.record.since) >= turnTime+paceWindow,
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

// answerTo returns the leader's answer that counts. Where there is no probe, its announcement is the answer. Where the
// cloud describes a machine after its end, an answer does not end a confirmation.
func (r *record) answerTo(o *observation, n *node) answer {
	switch {
	case !o.canProbe:
		return proven
	case !r.proven.IsZero() && o.now.Sub(r.proven) < confirmationLife:
		return proven
	case o.deletions.Described && r.state == confirmed:
		return noAnswer
	case !r.found.IsZero() && !n.announced.After(r.found):
		return found
	case !r.notFound.IsZero():
		return notFound
	default:
		return noAnswer
	}
}

func (m *memory) cloud(o *observation, n *node) cloud {
	switch {
	case o.wantedAndReporting() != "":
		return cloudMissesLiving
	case !o.canProbe:
		return cloudWithoutProbe
	case !o.living[n.scheme]:
		return cloudWithoutReferences
	case m.misses >= missLimit:
		return cloudMissesLiving
	default:
		return cloudFindsLiving
	}
}

// wantedAndReporting returns the name of a Node that the CCM wants to delete while its kubelet reports, "" if there is
// none. Where there is no probe, nothing else shows that the cloud does not find living machines.
func (o *observation) wantedAndReporting() string {
	if o.canProbe || o.deletions.Unannounced {
		return ""
	}
	i := slices.IndexFunc(o.nodes, func(n *node) bool {
		return n.record != nil && n.deletionWanted && n.scheme != "" && n.record.kubeletFor(o.now) == kubeletNotReady
	})
	if i < 0 {
		return ""
	}
	return o.nodes[i].name
}

// cluster returns the state of the cluster for a Node whose kubelet has done the same since the record's time.
func (m *memory) cluster(o *observation, r *record) clusterState {
	most, gone := o.mostAreSilent(), o.canProbe && o.now.Sub(m.mass.At()) >= massLimit
	switch {
	case o.manyPermitted:
		return unlimited
	case most && !gone:
		return mostSilent
	case o.rollout && r != nil && o.now.Sub(r.since) >= rolloutLimit:
		return rolloutStuck
	case o.rollout:
		return rollsOut
	case most:
		return mostGone
	default:
		return calm
	}
}
