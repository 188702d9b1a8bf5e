package handover

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// backOffPeriod is how long a container must have run before its kubelet starts it again without a pause: twice the
// longest pause (pkg/kubelet/kubelet.go). The first restart has none, and the second one ten seconds.
const backOffPeriod = 10 * time.Minute

// proofMove returns the node that is to lead next for the proof of a revision, "" if none is, and why. The lead moves
// to the first node once, and back to one of the former revision if the process there goes on without proving anything.
// It leaves no former leader while another process is missing: that one may not be able to start any more. Nor does it
// end a process that its kubelet would start again only minutes later.
func (s *snapshot) proofMove(holder controlplane.Holder) (why occasion, successor string) {
	p := s.proof
	if !p.IsOpen(s.status.LatestAvailableRevision) || predecessor.Remains(s.status.Conditions) {
		return occasion{}, ""
	}
	switch {
	case p.State == trial.LeadAwaited && holder.Node != p.Node && s.allReady() && !s.backsOff(p.Node):
		return proof, s.successorAmong(func(node string) bool { return node == p.Node })
	case p.State == trial.LeadHeld && holder.Node == p.Node:
		return takingBack, s.successorAmong(func(node string) bool { return s.revisionOf(node) == p.Former })
	}
	return occasion{}, ""
}

// allReady reports whether the cloud-controller-manager of each node is Ready.
func (s *snapshot) allReady() bool {
	return !slices.ContainsFunc(s.status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		pod := s.StaticPod(n.NodeName)
		return pod == nil || !controlplane.IsReady(pod)
	})
}

// backsOff reports whether the kubelet of a node would start its cloud-controller-manager again only after a pause that
// is longer than a move.
func (s *snapshot) backsOff(node string) bool {
	status := controlplane.ContainerStatus(s.StaticPod(node), operand.Name)
	last := controlplane.Terminated(status)
	return status.RestartCount > 1 && last != nil && s.Now().Sub(last.FinishedAt.Time) < backOffPeriod
}

// revisionOf returns the revision that a node has.
func (s *snapshot) revisionOf(node string) int32 {
	for _, n := range s.status.NodeStatuses {
		if n.NodeName == node {
			return n.CurrentRevision
		}
	}
	return 0
}

// isProof selects the Secret with the record of a proof.
func isProof(obj any) bool {
	object, ok := obj.(metav1.Object)
	return !ok || object.GetName() == operand.PreflightName
}
