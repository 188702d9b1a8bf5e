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

// forgiving is the operator client of the installer controller. library-go's never clears what it wrote about a failed
// revision, also when the node has since been brought to that revision or to a newer one. And it reports the objects of
// revision 0 as missing while the revision controller makes the first one.
type forgiving struct {
	v1helpers.StaticPodOperatorClient
}

// ApplyStaticPodOperatorStatus leaves out failures that are over and those of a revision that nobody makes.
func (c forgiving) ApplyStaticPodOperatorStatus(ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration) error {
	if status != nil {
		for i := range status.NodeStatuses {
			forgive(&status.NodeStatuses[i])
		}
		_, current, _, err := c.GetStaticPodOperatorState()
		if err != nil {
			return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
		}
		if current.LatestAvailableRevision == 0 {
			forgiveFirstRevision(status.Conditions)
		}
	}
	return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, status)
}

// forgive clears the last failure of a node that is at its target.
func forgive(node *applyoperatorv1.NodeStatusApplyConfiguration) {
	failed := ptr.Deref(node.LastFailedRevision, 0)
	if failed == 0 || ptr.Deref(node.TargetRevision, 0) != 0 || ptr.Deref(node.CurrentRevision, 0) < failed {
		return
	}
	node.WithLastFailedRevision(0).WithLastFailedReason("").WithLastFailedCount(0).WithLastFallbackCount(0)
	node.LastFailedTime, node.LastFailedRevisionErrors = nil, nil
}

// forgiveFirstRevision takes back that the objects of revision 0 are missing.
func forgiveFirstRevision(conditions []applyoperatorv1.OperatorConditionApplyConfiguration) {
	for i := range conditions {
		c := &conditions[i]
		if ptr.Deref(c.Type, "") == condition.InstallerControllerDegradedConditionType && strings.HasPrefix(ptr.Deref(c.Message, ""), "missing required resources") {
			c.WithStatus(operatorv1.ConditionFalse).WithReason("NoRevision").WithMessage("no revision has been made yet")
		}
	}
}
