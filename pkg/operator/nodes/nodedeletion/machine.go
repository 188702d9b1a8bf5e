package nodedeletion

import (
	"slices"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// state is the decision about one Node. doc.go has the table of transitions.
type state int

const (
	idle          state = iota // the CCM does not want to delete the Node, or the kubelet is ready
	uninitialized              // no CCM has initialized the Node, so none may delete it
	allowed                    // an administrator has permitted the deletion
	settling                   // the kubelet reports that it is not ready, or has not been silent for long enough
	undecided                  // the Node waits for a probe, or for its turn
	known                      // the CCM found the machine in a probe, and has announced no deletion since
	held                       // the deletion is withheld for the reason that the condition reports
	confirmed                  // the CCM may delete the Node
)

// hold is why a deletion is withheld: a reason of NodeDeletionDegraded.
type hold string

const (
	noHold             hold = ""
	livingNodesUnknown hold = "LivingNodesUnknown"
	nodeReports        hold = "NodeReports"
	tooManyNodes       hold = "TooManyNodes"
	noLivingNode       hold = "NoLivingNode"
	oneAtATime         hold = "OneAtATime"
)

// evidence is what is known about one Node, by the operator's clock and the leader's answers.
type evidence struct {
	former  state
	kubelet kubelet
	answer  answer
	cloud   cloud
	cluster clusterState
	// deletionWanted is true also while the CCM may want to delete the Node. permitted is an administrator's permission.
	initialized, deletionWanted, permitted bool
	// leads is true while a process of the CCM renews the lease.
	leads bool
	// paced is true if no further Node may be confirmed now, overdue if the Node has waited for longer than a turn.
	paced, overdue bool
}

type (
	kubelet      int
	answer       int
	cloud        int
	clusterState int
)

const (
	kubeletReady    kubelet = iota
	kubeletLeaving          // NotReady for less than shutdownLimit
	kubeletNotReady         // NotReady for longer
	kubeletFalling          // silent for less than silenceGrace
	kubeletSilent           // silent for longer
)

const (
	answerNone     answer = iota
	answerFound           // the CCM found the machine, and has announced nothing since
	answerNotFound        // the CCM did not find the machine
	answerProven          // as answerNotFound, and it found every reference of the same probe
)

const (
	cloudFindsLiving  cloud = iota // the CCM found the references of the last probe, or there was none
	cloudNoProbe                   // the platform has no probe
	cloudMissesLiving              // the CCM missed references twice in a row, or wants to delete a Node that reports
	cloudNoReference               // there is no living node to compare with
)

const (
	clusterCalm       clusterState = iota
	clusterRollsOut                // a rollout is in progress, and it or the wait of the Node is younger than rolloutLimit
	clusterMostSilent              // more than half of the kubelets are silent
	clusterMostGone                // for massLimit, so they may go at a pace if the CCM finds living machines
	clusterUnlimited               // an administrator has permitted many deletions
)

// transition is a row of the table in doc.go.
type transition struct {
	to   state
	hold hold
	when func(e evidence) bool
}

// transitions are in the order in which they are tried: an administrator's permission precedes the kubelet's report,
// which precedes the CCM's announcement, and a cloud that does not find living machines precedes every other hold.
var transitions = []transition{
	{idle, noHold, func(e evidence) bool { return e.kubelet == kubeletReady }},
	{allowed, noHold, func(e evidence) bool { return e.permitted }},
	{uninitialized, noHold, func(e evidence) bool { return !e.initialized }},
	{idle, noHold, func(e evidence) bool { return !e.deletionWanted }},
	{known, noHold, func(e evidence) bool { return e.answer == answerFound }},
	{held, nodeReports, func(e evidence) bool { return e.kubelet == kubeletNotReady && e.answer != answerNone }},
	{settling, noHold, func(e evidence) bool { return e.kubelet != kubeletSilent }},
	{undecided, noHold, func(e evidence) bool { return !e.leads }},
	{held, livingNodesUnknown, func(e evidence) bool { return e.cloud == cloudMissesLiving }},
	{confirmed, noHold, func(e evidence) bool { return e.former == confirmed }},
	{held, tooManyNodes, func(e evidence) bool { return e.cluster == clusterMostSilent }},
	{undecided, noHold, func(e evidence) bool { return e.cluster == clusterRollsOut }},
	{confirmed, noHold, func(e evidence) bool { return e.isGone() && !e.paced }},
	{held, noLivingNode, func(e evidence) bool { return e.cloud == cloudNoReference && e.cluster != clusterUnlimited }},
	{held, tooManyNodes, func(e evidence) bool { return e.cluster == clusterMostGone }},
	{held, oneAtATime, func(e evidence) bool { return e.cloud == cloudNoProbe && e.overdue }},
	{undecided, noHold, func(evidence) bool { return true }},
}

func next(former state, e evidence) (state, hold) {
	e.former = former
	i := slices.IndexFunc(transitions, func(t transition) bool { return t.when(e) })
	return transitions[i].to, transitions[i].hold
}

// isGone reports whether the machine is gone. The pace, or an administrator's permission, replaces missing references.
func (e evidence) isGone() bool {
	return e.answer == answerProven || e.cloud == cloudNoReference && e.answer == answerNotFound
}

const (
	// silenceGrace is how long a kubelet must be silent after kube-controller-manager has noticed.
	silenceGrace = 20 * time.Second
	// shutdownLimit is how long a node that reported NotReady before it went silent is tolerated: a machine that is
	// being deleted shuts down first. kube-controller-manager notices the silence within this time.
	shutdownLimit = 55 * time.Second
	// announcementLife is how long a CCM's last announcement counts, if two passes do not take longer. Its recorder emits
	// one repeat in five minutes.
	announcementLife = 12 * time.Minute
	// confirmationLife is how long a probe counts for a confirmation. Then a confirmed Node that exists is probed again.
	confirmationLife = time.Minute
	// rolloutLimit is how long a Node waits for a rollout, which may change the leader and invalidate its answer.
	rolloutLimit = 5 * time.Minute
)

// decideAll sets the state of every Node whose kubelet is not ready, without probes in the order of their turns.
func (m *memory) decideAll(o *observation) {
	m.confirmations = slices.DeleteFunc(m.confirmations, func(at time.Time) bool { return o.now.Sub(at) >= turnPeriod })
	for _, n := range o.notReady() {
		r := n.record
		limit := m.limitFor(o, n)
		counts := o.now.Sub(r.confirmedAt) < limit.window
		former := r.state
		if o.deletions.Unannounced && !o.manyPermitted && former == confirmed && o.now.Sub(r.confirmedAt) >= turnPeriod {
			former = undecided // Its turn is over: the CCM had time for a pass, and found the machine.
			r.lived = o.now
		}
		r.state, r.hold = next(former, m.evidenceFor(o, n, !counts && limit.nodes <= m.confirmedWithin(limit.window, o.now)))
		if former == confirmed || r.state != confirmed {
			continue
		}
		r.written = ""
		if !counts {
			m.confirmations = append(m.confirmations, o.now)
		}
		r.confirmedAt = o.now
	}
}

func (o *observation) notReady() []*node {
	nodes := slices.DeleteFunc(slices.Clone(o.nodes), func(n *node) bool { return n.record == nil })
	if !o.canProbe {
		slices.SortStableFunc(nodes, func(a, b *node) int { return a.record.confirmedAt.Compare(b.record.confirmedAt) })
	}
	return nodes
}

func (m *memory) evidenceFor(o *observation, n *node, paced bool) evidence {
	return evidence{
		kubelet: n.record.kubeletFor(o.now), answer: n.record.answerFor(o, n),
		cloud: m.cloudFor(o, n), cluster: m.clusterFor(o, n.record),
		initialized: n.scheme != "", deletionWanted: n.deletionWanted, permitted: n.permission == Allowed,
		leads: o.leader != "", paced: paced, overdue: o.now.Sub(n.record.since) >= turnPeriod+paceWindow,
	}
}

func (r *record) kubeletFor(now time.Time) kubelet {
	age := now.Sub(r.since)
	switch {
	case r.kubelet == controlplane.KubeletSilent && age >= silenceGrace:
		return kubeletSilent
	case r.kubelet == controlplane.KubeletSilent:
		return kubeletFalling
	case age >= shutdownLimit:
		return kubeletNotReady
	default:
		return kubeletLeaving
	}
}

// answerFor returns the leader's answer that counts, without probes its announcement. Where the cloud describes ended
// machines, no answer ends a confirmation.
func (r *record) answerFor(o *observation, n *node) answer {
	switch {
	case !o.canProbe:
		return answerProven
	case !r.proven.IsZero() && o.now.Sub(r.proven) < confirmationLife:
		return answerProven
	case o.deletions.Described && r.state == confirmed:
		return answerNone
	case !r.found.IsZero() && !n.announced.After(r.found):
		return answerFound
	case !r.notFound.IsZero():
		return answerNotFound
	default:
		return answerNone
	}
}

func (m *memory) cloudFor(o *observation, n *node) cloud {
	switch {
	case o.wantedAndReporting() != "":
		return cloudMissesLiving
	case !o.canProbe:
		return cloudNoProbe
	case !o.living[n.scheme]:
		return cloudNoReference
	case m.misses >= missLimit:
		return cloudMissesLiving
	default:
		return cloudFindsLiving
	}
}

// wantedAndReporting returns the name of a Node that the CCM wants to delete while its kubelet reports, "" if there is
// none. Without probes, nothing else shows that the cloud does not find living machines.
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

// clusterFor returns the state of the cluster for a Node. Without a record, a rollout does not count.
func (m *memory) clusterFor(o *observation, r *record) clusterState {
	most := o.mostAreSilent()
	switch {
	case o.manyPermitted:
		return clusterUnlimited
	case most && o.now.Sub(m.mass.At()) < massLimit:
		return clusterMostSilent
	case o.rollout && r != nil && min(o.now.Sub(r.since), o.now.Sub(m.rollout.At())) < rolloutLimit:
		return clusterRollsOut
	case most:
		return clusterMostGone
	default:
		return clusterCalm
	}
}

func (m *memory) wantsDeletion(o *observation, n *node) bool {
	r, reports := n.record, n.kubelet != controlplane.KubeletSilent
	// Only k8s.io/cloud-provider writes shutdownTaint, which announces each deletion.
	if o.deletions.Unannounced && (reports || !n.shutDown) {
		return !reports
	}
	last := m.announcements[n.uid]
	if last == nil || last.at.IsZero() {
		return false
	}
	n.announced = last.at
	switch {
	case o.now.Sub(last.at) >= max(announcementLife, last.passes()):
		return false
	case last.at.Before(r.reported), reports && !r.inherited && last.at.Before(r.since):
		// The kubelet's report ends earlier announcements. Silence does not: the CCM's recorder may drop Events then.
		return false
	}
	r.expire(o, last)
	return last.at.After(r.expired)
}

// expire ends a confirmation that no probe can end, once the CCM has not repeated its announcement for two passes, as
// it would if it still wanted to delete the Node.
func (r *record) expire(o *observation, announced *announcement) {
	if r.state != confirmed || o.exactAnswers() {
		return
	}
	if min(o.now.Sub(announced.at), o.now.Sub(r.confirmedAt)) >= max(confirmationLife, announced.passes()) {
		r.expired = announced.at
	}
}

// exactAnswers reports whether a CCM that finds a machine does not want to delete its Node, and the reverse.
func (o *observation) exactAnswers() bool { return o.canProbe && !o.deletions.Described }
