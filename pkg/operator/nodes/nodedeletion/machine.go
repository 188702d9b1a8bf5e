package nodedeletion

// state is where the decision about one Node stands. doc.go has the table of transitions.
type state int

const (
	// idle is a Node that the CCM does not want to delete, or whose kubelet is ready.
	idle state = iota
	// uninitialized is a Node that no CCM has initialized, so none may delete it.
	uninitialized
	// allowed is a Node whose deletion an administrator has permitted.
	allowed
	// settling is a Node whose kubelet reports that it is not ready, or has not been silent for long enough.
	settling
	// candidate is a Node that waits for a probe, or for its turn.
	candidate
	// known is a Node whose machine the CCM found in a probe, and whose deletion it has not announced since.
	known
	// held is a Node whose deletion is withheld for the reason that the condition reports.
	held
	// confirmed is a Node that the CCM may delete.
	confirmed
)

var stateNames = []string{"idle", "uninitialized", "allowed", "settling", "candidate", "known", "held", "confirmed"}

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
	kubelet      int
	answer       int
	cloud        int
	clusterState int
)

const (
	kubeletReady    kubelet = iota
	kubeletLeaving          // it reports that it is not ready, for less than shutdownLimit
	kubeletNotReady         // for longer
	kubeletFalling          // it has been silent for less than settleTime
	kubeletSilent           // for longer
)

const (
	noAnswer answer = iota
	found           // the CCM found the machine, and has announced nothing since
	notFound        // it did not
	proven          // it did not, and it found every reference of the same probe
)

const (
	cloudFindsLiving       cloud = iota // it found the references of the last probe, or there was none
	cloudWithoutProbe                   // on this platform there is no probe
	cloudMissesLiving                   // it missed references twice in a row, or wants to delete a Node that reports
	cloudWithoutReferences              // there is no living node to compare with
)

const (
	calm         clusterState = iota
	rollsOut                  // a rollout is in progress, for less than rolloutLimit
	rolloutStuck              // for longer
	mostSilent                // more than half of the kubelets are silent
	mostGone                  // for massLimit, so they are believed to be gone at a pace, if the CCM finds the living ones
	unlimited                 // an administrator has permitted many deletions
)

// evidence is what is known about one Node.
type evidence struct {
	kubelet kubelet
	answer  answer
	cloud   cloud
	cluster clusterState
	// initialized is true if a CCM has initialized the Node. deletionWanted is true while the CCM wants to delete the
	// Node, or may want to. permitted is true if an administrator has permitted the deletion.
	initialized, deletionWanted, permitted bool
	// leads is true while a process of the CCM renews the lease.
	leads bool
	// paced is true if no further Node may be confirmed now, and overdue if the Node has waited for longer than a turn.
	paced, overdue bool
}

// next returns the state that follows. An administrator's permission precedes the kubelet's report, which precedes the
// CCM's announcement. A cloud that does not find living machines precedes every other reason for a hold.
func next(s state, e evidence) (state, hold) {
	switch {
	case e.kubelet == kubeletReady:
		return idle, noHold
	case e.permitted:
		return allowed, noHold
	case !e.initialized:
		return uninitialized, noHold
	case !e.deletionWanted:
		return idle, noHold
	case e.answer == found:
		return known, noHold
	case e.kubelet == kubeletNotReady && e.answer != noAnswer:
		return held, nodeReports
	case e.kubelet != kubeletSilent:
		return settling, noHold
	case !e.leads:
		return candidate, noHold
	case e.cloud == cloudMissesLiving:
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
	case e.cloud == cloudWithoutReferences && e.cluster != unlimited:
		return held, noLivingNode
	case !e.paced && (e.answer == proven || e.cloud == cloudWithoutReferences && e.answer == notFound):
		// An administrator's permission replaces the missing references.
		return confirmed, noHold
	default:
		return undecided(e)
	}
}

// undecided returns the state of a Node that no probe has proven to be gone yet, or whose turn has not come.
func undecided(e evidence) (state, hold) {
	switch {
	case e.cluster == mostGone:
		return held, tooManyNodes
	case e.cloud == cloudWithoutProbe && e.overdue:
		return held, oneAtATime
	default:
		return candidate, noHold
	}
}
