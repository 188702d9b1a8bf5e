package controlplane

import (
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// PredecessorWorks is what Works returns while the predecessor leads.
const PredecessorWorks = -1

// Works returns the revision that a change could break, 0 if there is none: every node of the control plane has a
// revision, and a process of ours leads, whose node has the one that is returned. Before a take-over it is
// PredecessorWorks.
func (v *View) Works(status *operatorv1.StaticPodOperatorStatus) int32 {
	holder := v.Holder()
	if holder.State == Predecessor {
		return PredecessorWorks
	}
	if len(status.NodeStatuses) == 0 || len(v.predecessors) > 0 ||
		slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.CurrentRevision == 0 }) {
		return 0
	}
	i := slices.IndexFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.NodeName == holder.Node })
	if i < 0 || holder.State != Starting && holder.State != Leading {
		return 0
	}
	return status.NodeStatuses[i].CurrentRevision
}
