package nodedeletion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// settle is how long a kubelet has to be silent beyond the time after which kube-controller-manager notices.
	settle = 20 * time.Second
	// shutdownLimit is how long a node that reported NotReady before it went silent is tolerated: a machine that is
	// being deleted shuts down first. kube-controller-manager notices the silence within this time.
	shutdownLimit = 55 * time.Second
	// answerLimit is how long a CCM may take to look up a machine. It took one second.
	answerLimit = 15 * time.Second
	// askAgain is the time between a question without an answer and the next one.
	askAgain = 30 * time.Second
	// confirmationLife limits how long an answer counts for a new confirmation. After it, the CCM is asked again about a
	// Node that is confirmed and still there.
	confirmationLife = time.Minute
	// rolloutLimit is how long deletions wait for a rollout without a word.
	rolloutLimit = 5 * time.Minute

	// lookAgain is the time between two looks at a deletion that waits, and lookForSilence between two looks for silent
	// kubelets, where no Event announces a deletion.
	lookAgain      = 2 * time.Second
	lookForSilence = 10 * time.Second

	// denialLife is how long the answer about a Node that the CCM wants to delete counts: it outlives the next question.
	denialLife = 2 * (askAgain + answerLimit)

	// witnesses is how many living nodes a CCM is asked for at once, or one for each zone of the subjects. subjects is how
	// many it is asked for that it wants to delete.
	witnesses = 3
	subjects  = 10

	// paceWindow is the time in which at most one node, or a tenth of them, is confirmed.
	paceWindow = time.Minute
	paceShare  = 10
)

// change is what to do with a Node.
type change int

const (
	nothing change = iota
	// ask adds the taint, and endQuestion removes it.
	ask
	endQuestion
	// confirm adds the annotation, and withdraw removes it.
	confirm
	withdraw
)

// doubt is why a deletion is not confirmed yet: a reason of NodeDeletionDegraded, or one that passes by itself.
type doubt string

const (
	none               doubt = ""
	tooEarly           doubt = "TooEarly"
	livingNodesUnknown doubt = "LivingNodesUnknown"
	nodeReports        doubt = "NodeReports"
	tooManyNodes       doubt = "TooManyNodes"
	noWitness          doubt = "NoWitness"
	rolloutInProgress  doubt = "RolloutInProgress"
)

// reported are the doubts that the condition reports, the most alarming first.
var reported = []doubt{livingNodesUnknown, nodeReports, tooManyNodes, noWitness, rolloutInProgress}

// verdict is what to do and to say now.
type verdict struct {
	changes map[types.UID]change
	// asked is a new question, nil if there is none.
	asked *inquiry
	// reason and message are those of the condition, empty if it is False. The message names other living nodes in each
	// turn; about does not.
	reason, message, about string
	// next is the time until the next look, 0 if only an event can change anything.
	next time.Duration
}

// judge decides about every Node that the CCM wants to delete.
func judge(w world, m *memory) verdict {
	v := verdict{changes: map[types.UID]change{}}
	if w.deletions.Unannounced {
		v.next = lookForSilence
	}
	held := map[doubt][]node{}
	asked := &inquiry{}
	budget := max(1, len(w.nodes)/paceShare) - m.recent(w)
	for _, n := range w.nodes {
		if !n.claimed || m.settled(w, n) {
			continue
		}
		v.next = lookAgain
		asked.subjects = append(asked.subjects, n.uid)
		if m.stands(w, n) {
			continue
		}
		switch d := cmp.Or(aboutNode(w, m, n), aboutCluster(w, m, n), aboutCloud(w, m, n)); {
		case d != none:
			held[d] = append(held[d], n)
		case budget > 0:
			v.changes[n.uid] = confirm
			budget--
		}
	}
	v.ask(w, m, asked)
	v.tidy(w, m)
	v.say(w, m, held)
	return v
}

// ask asks the question if it is about anything, and if it is time for one. The oldest denials come first.
func (v *verdict) ask(w world, m *memory, question *inquiry) {
	if !w.answers || w.leader == "" || m.pending != nil || w.now.Sub(m.askedAt) < askAgain {
		return
	}
	if len(question.subjects) == 0 {
		return
	}
	slices.SortStableFunc(question.subjects, func(a, b types.UID) int { return m.denied[a].Compare(m.denied[b]) })
	// A cloud finds only its own machines, so a question is about those of one cloud.
	first, _ := w.find(question.subjects[0])
	question.subjects = slices.DeleteFunc(question.subjects, func(uid types.UID) bool {
		n, _ := w.find(uid)
		return n.scheme != first.scheme
	})
	question.subjects = question.subjects[:min(subjects, len(question.subjects))]
	question.witnesses = w.witnesses(m.turn, question.subjects)
	v.asked = question
}

// aboutNode returns what speaks against the deletion of one Node.
func aboutNode(w world, m *memory, n node) doubt {
	age := w.now.Sub(n.since)
	denied := m.denies(w, n) || !w.answers
	switch {
	case n.reports && age >= shutdownLimit && denied:
		return nodeReports
	case n.reports, age < settle:
		return tooEarly
	}
	return none
}

// aboutCluster returns what the state of the cluster says against any deletion. That the cloud denies living machines
// explains more than silent kubelets.
func aboutCluster(w world, m *memory, n node) doubt {
	switch {
	case w.leader == "":
		return tooEarly
	case w.mostAreSilent() && m.unanswered != nil:
		return livingNodesUnknown
	case w.mostAreSilent():
		return tooManyNodes
	case w.rollout && w.now.Sub(n.since) < rolloutLimit:
		return tooEarly
	case w.rollout:
		return rolloutInProgress
	}
	return none
}

// aboutCloud returns whether the leader's cloud can be believed. Where the CCM does not answer, it is. An answer about
// living nodes proves nothing about a word that the CCM says later, so the question is about both.
func aboutCloud(w world, m *memory, n node) doubt {
	switch {
	case !w.answers || m.proves(w, n):
		return none
	case len(w.witnesses(m.turn, []types.UID{n.uid})) == 0:
		return noWitness
	case m.unanswered != nil:
		return livingNodesUnknown
	}
	return tooEarly
}

// witnesses returns living nodes to ask for, others in each turn. Their provider IDs have the scheme of the subjects':
// the CCM never finds machines of bare metal or of another cloud. Among them is one of each zone of the subjects, if it
// has one: a cloud may lose a single zone.
func (w world) witnesses(turn int, about []types.UID) []types.UID {
	asked, _ := w.find(about[0])
	living := w.living(asked.scheme)
	if len(living) == 0 {
		return nil
	}
	first := turn * witnesses % len(living)
	living = slices.Concat(living[first:], living[:first])
	var chosen []types.UID
	for _, uid := range about {
		subject, _ := w.find(uid)
		near := slices.IndexFunc(living, func(n node) bool { return n.zone == subject.zone })
		if near >= 0 && !slices.Contains(chosen, living[near].uid) {
			chosen = append(chosen, living[near].uid)
		}
	}
	for _, n := range living {
		if len(chosen) < witnesses && !slices.Contains(chosen, n.uid) {
			chosen = append(chosen, n.uid)
		}
	}
	return chosen
}

// living returns the initialized nodes whose kubelets are ready, and which the CCM does not want to delete.
func (w world) living(scheme string) []node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n node) bool {
		return !n.ready || !n.initialized || n.claimed || n.scheme != scheme
	})
}

// tidy completes the pending question, and takes back what no longer counts.
func (v *verdict) tidy(w world, m *memory) {
	pending := m.pending
	if v.asked != nil {
		pending = v.asked
	}
	if pending != nil {
		v.next = time.Second
	}
	for _, n := range w.nodes {
		switch {
		case pending.lacks(n):
			v.changes[n.uid] = ask
		case n.asked && !pending.includes(n):
			v.changes[n.uid] = endQuestion
		case n.permission == Confirmed && !m.stands(w, n) && v.changes[n.uid] != confirm:
			v.changes[n.uid] = withdraw
		}
		if n.asked || n.permission == Confirmed {
			v.next = time.Second
		}
	}
}

// say composes the condition from the most alarming doubt.
func (v *verdict) say(w world, m *memory, held map[doubt][]node) {
	i := slices.IndexFunc(reported, func(d doubt) bool { return len(held[d]) > 0 })
	if i < 0 {
		return
	}
	d := reported[i]
	var names []string
	for _, n := range held[d] {
		names = append(names, "node/"+n.name)
	}
	v.reason = string(d)
	v.about = v.reason + " " + strings.Join(names, " ")
	wants := "wants to delete %s, because the cloud does not know the machine"
	if w.deletions.Unannounced {
		wants = "may want to delete %s, whose kubelet is silent"
	}
	v.message = fmt.Sprintf("the cloud-controller-manager "+wants+", but %s",
		diagnostic.JoinFew(names, ", ", " and %d more"), d.explain(w, m))
	if d == nodeReports || d == livingNodesUnknown {
		return // the machine exists, or the cloud denies machines that do
	}
	v.message += fmt.Sprintf("; if the machine is gone for certain, allow the deletion: oc annotate node %s %s=%s",
		held[d][0].name, Annotation, Allowed)
}

// explain completes the sentence "the cloud-controller-manager wants to delete …, but …".
func (d doubt) explain(w world, m *memory) string {
	const check = "check that the credentials and the cloud configuration are those of this cluster's project and region"
	switch d {
	case livingNodesUnknown:
		text := fmt.Sprintf("it did not find the machine of the living node %s either within %s: %s",
			strings.Join(m.unanswered, ", "), answerLimit, check)
		if silent, of := w.silent(); w.mostAreSilent() {
			text += fmt.Sprintf(", and that the network works: %d of %d kubelets are silent", silent, of)
		}
		return text
	case nodeReports:
		return "the kubelet there reports its state: " + check
	case tooManyNodes:
		silent, of := w.silent()
		return fmt.Sprintf("%d of %d kubelets are silent, as after a failure of the network, and a cloud that denies so "+
			"many machines may be wrong: restore their connection to the API server, and %s", silent, of, check)
	case noWitness:
		return "there is no other initialized and ready node to compare with"
	case rolloutInProgress:
		return "a rollout has not ended: see the condition Progressing of clusteroperator/cloud-controller-manager"
	case none, tooEarly:
	}
	return "it is too early to tell"
}

// mostAreSilent reports whether more than half of the kubelets do not report.
func (w world) mostAreSilent() bool {
	silent, of := w.silent()
	return silent > 1 && silent*2 > of
}

// silent counts the nodes whose kubelets do not report, and those that should. Machines that are shut down should not.
func (w world) silent() (count, of int) {
	for _, n := range w.nodes {
		if n.off && !n.reports && !n.claimed {
			continue
		}
		of++
		if !n.reports {
			count++
		}
	}
	return count, of
}
