package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// rolloutOf returns the rollout of a candidate that began before its preflight has failed, nil if there is none, or if
// a person has accepted the failure.
func (c *controller) rolloutOf(candidate *corev1.Secret, verdict *operand.PreflightVerdict) (*firstNode, error) {
	tried := operand.PreflightInputsOf(candidate)
	if verdict.Result != operand.Failed || len(tried) == 0 {
		return nil, nil
	}
	late, err := c.ledByFormer()
	if err != nil || late == nil {
		return nil, err
	}
	inputs, err := c.changes(late)
	if err != nil || !inputs.Have(tried) {
		return nil, err
	}
	if accepted, err := c.isAccepted(candidate); err != nil || accepted {
		return nil, err
	}
	return late, nil
}

// ledByFormer returns the latest revision and the former one that leads, nil if none does. The leader's node comes last
// in a rollout.
func (c *controller) ledByFormer() (*firstNode, error) {
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
			return &firstNode{revision: status.LatestAvailableRevision, former: node.CurrentRevision}, nil
		}
	}
	return nil, nil
}

// isAccepted reports whether a person has accepted what a preflight has rejected.
func (c *controller) isAccepted(candidate *corev1.Secret) (bool, error) {
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return false, err
	}
	tried := operand.PreflightRejection{Inputs: operand.PreflightInputsOf(candidate)} // before it had a verdict
	return slices.ContainsFunc(append(operand.PreflightRejectionsOf(candidate), tried),
		func(r operand.PreflightRejection) bool {
			return operatorclient.IsAccepted(meta.Annotations[operatorclient.PreflightAnnotation], r.Value())
		}), nil
}
