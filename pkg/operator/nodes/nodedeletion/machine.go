package nodedeletion

// state is where the decision about one Node stands. doc.go has the table of the transitions.
type state int

const (
	// kept is a Node that the CCM does not want to delete, or whose kubelet is ready.
	kept state = iota
	// uninitialized is a Node that no CCM has initialized, so none may delete it.
	uninitialized
	// allowed is a Node whose deletion an administrator has permitted.
	allowed
	// settling is a Node whose kubelet reports that it is not ready, or has not been silent for long enough.
	settling
	// candidate is a Node that is asked for, or whose turn has not come.
	candidate
	// known is a Node whose machine the CCM found when it was asked, and which it has not announced to delete since.
	known
	// held is a Node whose deletion is withheld for the reason that the condition reports.
	held
	// confirmed is a Node that the CCM may delete.
	confirmed
)

var stateNames = []string{"kept", "uninitialized", "allowed", "settling", "candidate", "known", "held", "confirmed"}

func (s state) String() string { return stateNames[s] }

// hold is why a deletion is withheld: a reason of NodeDeletionDegraded.
type hold string

const (
	noHold             hold = ""
	livingNodesUnknown hold = "LivingNodesUnknown"
	nodeReports        hold = "NodeReports"
	tooManyNodes       hold = "TooManyNodes"
	noLivingNode       hold = "NoLivingNode"
	rolloutInProgress  hold = "RolloutInProgress"
	oneAtATime         hold = "OneAtATime"
)

// The evidence about one Node. Times are those of the operator's clock, and answers those of the process that leads.
type (
	kubelet  int
	answer   int
	cloud    int
	calmness int
)

const (
	kubeletReady    kubelet = iota
	kubeletLeaving          // it reports that it is not ready, for less than shutdownLimit
	kubeletNotReady         // for longer
	kubeletFalling          // it has been silent for less than settleTime
	kubeletSilent           // for longer
)

const (
	unasked  answer = iota
	found           // the CCM found the machine, and has announced nothing since
	notFound        // it did not
	proven          // it did not, and it found every living node that it was asked for at the same time
)

const (
	cloudKnows       cloud = iota // it found the last living nodes, or it has not been asked
	cloudUnasked                  // on this platform it cannot be asked for living nodes
	cloudDenies                   // twice in a row, it did not find living nodes, or it denies one that reports
	cloudNotCompared              // there is no living node to ask for
)

const (
	calm           calmness = iota
	rollsOut                // a rollout is in progress, for less than rolloutLimit
	rolloutStuck            // for longer
	mostSilent              // more than half of the kubelets are silent
	mostGone                // for massLimit, so they are believed to be gone at a pace, if the CCM finds the living ones
	massesReleased          // an administrator has permitted many deletions
)

// evidence is what is known about one Node.
type evidence struct {
	kubelet kubelet
	answer  answer
	cloud   cloud
	cluster calmness
	// initialized is true if a CCM has initialized the Node. claimed is true while the CCM says that the machine is gone,
	// or may think so. released is true if an administrator has permitted the deletion.
	initialized, claimed, released bool
	// leads is true while a process of the CCM renews the lease.
	leads bool
	// paced is true if no further Node may be confirmed now, and overdue if the Node has waited for longer than a turn.
	paced, overdue bool
}

// next returns the state that follows. What an administrator says precedes everything, what the kubelet reports
// precedes what the CCM says, and a cloud that denies living machines precedes every other reason.
func next(s state, e evidence) (state, hold) {
	switch {
	case e.kubelet == kubeletReady:
		return kept, noHold
	case e.released:
		return allowed, noHold
	case !e.initialized:
		return uninitialized, noHold
	case !e.claimed:
		return kept, noHold
	case e.answer == found:
		return known, noHold
	case e.kubelet == kubeletNotReady && e.answer != unasked:
		return held, nodeReports
	case e.kubelet != kubeletSilent:
		return settling, noHold
	case !e.leads:
		return candidate, noHold
	case e.cloud == cloudDenies:
		return held, livingNodesUnknown
	case s == confirmed:
		return confirmed, noHold
	}
	return decide(e)
}

// decide returns the state of a Node that the CCM wants to delete, and whose kubelet has been silent for long enough.
func decide(e evidence) (state, hold) {
	switch {
	case e.cluster == mostSilent:
		return held, tooManyNodes
	case e.cluster == rolloutStuck:
		return held, rolloutInProgress
	case e.cluster == rollsOut:
		return candidate, noHold
	case e.cloud == cloudNotCompared && e.cluster != massesReleased:
		return held, noLivingNode
	case !e.paced && (e.answer == proven || e.cloud == cloudNotCompared && e.answer == notFound):
		// An administrator's word replaces the living nodes that are missing.
		return confirmed, noHold
	default:
		return wait(e)
	}
}

// wait returns the state of a Node that is not proved to be gone yet, or whose turn has not come.
func wait(e evidence) (state, hold) {
	switch {
	case e.cluster == mostGone:
		return held, tooManyNodes
	case e.cloud == cloudUnasked && e.overdue:
		return held, oneAtATime
	default:
		return candidate, noHold
	}
}
