package preflight

import (
	"slices"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// rolloutOf returns the rollout of a candidate that began before its preflight has failed, nil if there is none, or if
// a person has accepted the failure.
func (c *controller) rolloutOf(record *trial.Record) (*rollout, error) {
	if record.Verdict.Result != trial.Failed || len(record.Inputs) == 0 {
		return nil, nil
	}
	late, err := c.ledByFormer()
	if err != nil || late == nil {
		return nil, err
	}
	inputs, err := c.changes(late)
	if err != nil || !inputs.Have(record.Inputs) {
		return nil, err
	}
	tried := trial.Rejection{Inputs: record.Inputs} // before it had a verdict
	for _, r := range append(slices.Clone(record.Rejected), tried) {
		if accepted, _, err := c.acceptance(r.Inputs); err != nil || accepted {
			return nil, err
		}
	}
	return late, nil
}

// ledByFormer returns the latest revision and the former one that leads, nil if none does. The leader's node comes last
// in a rollout.
func (c *controller) ledByFormer() (*rollout, error) {
	_, status, _, err := c.Operator.GetStaticPodOperatorState()
	if err != nil {
		return nil, err
	}
	view, err := c.look()
	if err != nil {
		return nil, err
	}
	holder := view.Holder()
	if holder.State != controlplane.Leading {
		return nil, nil
	}
	for _, node := range status.NodeStatuses {
		if node.NodeName == holder.Node && node.CurrentRevision != 0 &&
			node.CurrentRevision != status.LatestAvailableRevision {
			return &rollout{revision: status.LatestAvailableRevision, former: node.CurrentRevision}, nil
		}
	}
	return nil, nil
}
