package controlplane

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// Works returns the revision that a change could break, 0 if there is none: every node of the control plane has a
// revision, and a process of ours leads, whose node has the one that is returned.
func Works(status *operatorv1.StaticPodOperatorStatus, record Record, pods Pods, now time.Time) int32 {
	if len(status.NodeStatuses) == 0 || len(pods.Predecessors) > 0 ||
		slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.CurrentRevision == 0 }) {
		return 0
	}
	holder := HolderOf(record, pods, now)
	i := slices.IndexFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.NodeName == holder.Node })
	if i < 0 || holder.State != Starting && holder.State != Leading {
		return 0
	}
	return status.NodeStatuses[i].CurrentRevision
}
