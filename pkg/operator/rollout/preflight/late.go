package preflight

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// lateRollout returns the rollout of a candidate that began before its preflight has failed, nil if there is none, or
// if a person has accepted the failure.
func (s *state) lateRollout() *rollout {
	if s.record.Verdict.Result != trial.Failed || len(s.record.Inputs) == 0 {
		return nil
	}
	late := s.ledByFormer()
	if late == nil || !s.objects.Changes(late.revision, late.former).Have(s.record.Inputs) {
		return nil
	}
	isAccepted := func(r trial.Rejection) bool { return s.isAccepted(r.Inputs) }
	if s.isAccepted(s.record.Inputs) || slices.ContainsFunc(s.record.Rejected, isAccepted) {
		return nil
	}
	return late
}

// ledByFormer returns the latest revision and the former one that leads, nil if none does. The leader's node comes last
// in a rollout.
func (s *state) ledByFormer() *rollout {
	holder, latest := s.view.Holder(), s.status.LatestAvailableRevision
	for _, node := range s.status.NodeStatuses {
		isLeader := holder.State == controlplane.Leading && node.NodeName == holder.Node
		if isLeader && node.CurrentRevision != 0 && node.CurrentRevision != latest {
			return &rollout{revision: latest, former: node.CurrentRevision}
		}
	}
	return nil
}
