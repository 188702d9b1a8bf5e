package leadership

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// backOffPeriod is how long a container must have run before its kubelet starts it again without a pause: twice the
// longest pause (pkg/kubelet/kubelet.go). The first restart has none, and the second one ten seconds.
const backOffPeriod = 10 * time.Minute

// proofWanted is the move to the first node of a rollout, for the proof of its revision. It leaves no former leader
// while another process is missing: that one may not be able to start any more. Nor does it end a process that its
// kubelet would start again only minutes later.
func proofWanted(v *view) (wanted move, ok bool) {
	if !v.proves(trial.LeadAwaited) || v.holder.Node == v.proof.Node || !v.allReady() || v.backsOff(v.proof.Node) {
		return move{}, false
	}
	wanted = move{occasion: proof, successor: v.successor(func(node string) bool { return node == v.proof.Node })}
	return wanted, wanted.successor != ""
}

// takingBackWanted is the move back to a node of the former revision, if the process of the first node goes on without
// proving anything.
func takingBackWanted(v *view) (wanted move, ok bool) {
	if !v.proves(trial.LeadHeld) || v.holder.Node != v.proof.Node {
		return move{}, false
	}
	wanted = move{occasion: takingBack, successor: v.successor(func(node string) bool {
		return v.Revisions(node).CurrentRevision == v.proof.Former
	})}
	return wanted, wanted.successor != ""
}

// proves reports whether the latest revision is proved, and how far that is.
func (v *view) proves(state trial.LeadingState) bool {
	return v.proof.IsOpen(v.Status().LatestAvailableRevision) && !predecessor.Remains(v.Status().Conditions) &&
		v.proof.State == state
}

// allReady reports whether the cloud-controller-manager of each node is Ready.
func (v *view) allReady() bool {
	return !slices.ContainsFunc(v.Status().NodeStatuses, func(n operatorv1.NodeStatus) bool {
		pod := v.StaticPod(n.NodeName)
		return pod == nil || !controlplane.IsReady(pod)
	})
}

// backsOff reports whether the kubelet of a node would start its cloud-controller-manager again only after a pause that
// is longer than a move.
func (v *view) backsOff(node string) bool {
	status := controlplane.ContainerStatus(v.StaticPod(node), operand.Name)
	last := controlplane.Terminated(status)
	return status.RestartCount > 1 && last != nil && v.Now().Sub(last.FinishedAt.Time) < backOffPeriod
}
