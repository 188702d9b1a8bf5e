package controlplane

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// Works reports whether there is something that a change could break: every node of the control plane has a revision,
// and a process of ours leads.
func Works(status *operatorv1.StaticPodOperatorStatus, record Record, pods Pods, now time.Time) bool {
	if len(status.NodeStatuses) == 0 || len(pods.Predecessors) > 0 ||
		slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.CurrentRevision == 0 }) {
		return false
	}
	state := HolderOf(record, pods, now).State
	return state == Starting || state == Leading
}
