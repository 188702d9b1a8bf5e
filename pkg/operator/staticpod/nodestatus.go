package staticpod

import (
	"context"
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/utils/ptr"
)

// installerClient is the operator client of the installer controller. It corrects two reports of library-go's
// controller. That controller never clears a failed revision, not even after the node has reached that revision or a
// newer one. It also reports the objects of revision 0 as missing while the revision controller creates revision 1.
type installerClient struct {
	v1helpers.StaticPodOperatorClient
}

// ApplyStaticPodOperatorStatus omits failures that are over, and missing objects of revision 0.
func (c installerClient) ApplyStaticPodOperatorStatus(ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration) error {
	if status != nil {
		for i := range status.NodeStatuses {
			clearPastFailure(&status.NodeStatuses[i])
		}
		_, current, _, err := c.GetStaticPodOperatorState()
		if err != nil {
			return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
		}
		if current.LatestAvailableRevision == 0 {
			clearMissingRevision(status.Conditions)
		}
	}
	return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, status)
}

// clearPastFailure clears the last failure of a node that is at its target.
func clearPastFailure(node *applyoperatorv1.NodeStatusApplyConfiguration) {
	failed := ptr.Deref(node.LastFailedRevision, 0)
	if failed == 0 || ptr.Deref(node.TargetRevision, 0) != 0 || ptr.Deref(node.CurrentRevision, 0) < failed {
		return
	}
	node.WithLastFailedRevision(0).WithLastFailedReason("").WithLastFailedCount(0).WithLastFallbackCount(0)
	node.LastFailedTime, node.LastFailedRevisionErrors = nil, nil
}

// clearMissingRevision clears the condition about missing objects of revision 0.
func clearMissingRevision(conditions []applyoperatorv1.OperatorConditionApplyConfiguration) {
	for i := range conditions {
		c := &conditions[i]
		if ptr.Deref(c.Type, "") == condition.InstallerControllerDegradedConditionType && strings.HasPrefix(ptr.Deref(c.Message, ""), "missing required resources") {
			c.WithStatus(operatorv1.ConditionFalse).WithReason("NoRevision").WithMessage("no revision exists yet")
		}
	}
}
