package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// blocked is the reason of both conditions while a removal has to wait.
	blocked = "Blocked"

	// paused is the reason of Removing during the pause.
	paused = "Waiting"
)

func (c *controller) block(ctx context.Context, o obstacles) error {
	var causes []string
	if len(o.nodes) > 0 {
		causes = append(causes, fmt.Sprintf("these nodes wait for the cloud-controller-manager to initialize them: %s; "+
			"wait until they are initialized, delete them, or set spec.removalPolicy to %s",
			diagnostic.Few(o.nodes), ccmv1.CloudControllerManagerRemovalPolicyForce))
	}
	if len(o.services) > 0 {
		causes = append(causes, fmt.Sprintf("only a cloud-controller-manager can delete the load balancers of these "+
			"Services, and the Services with them: %s; delete them, or, if another cloud-controller-manager takes over, set "+
			"spec.removalPolicy to %s", diagnostic.Few(o.services), ccmv1.CloudControllerManagerRemovalPolicyForce))
	}
	message := "spec.managementState is Removed, but " + strings.Join(causes, "; and ")
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionFalse, blocked, message),
		operatorclient.NewCondition(DegradedCondition, operatorv1.ConditionTrue, blocked, message))
}

// wait reports when the removal starts, what it does then, and how to undo it or to start at once.
func (c *controller) wait(ctx context.Context, start time.Time, generation int64, first bool) error {
	message := fmt.Sprintf("spec.managementState is Removed: from %s on, every cloud-controller-manager of this cluster "+
		"is removed, and nothing initializes new nodes or updates load balancers then; to keep them, set "+
		"spec.managementState to Managed before; to begin at once, run: oc annotate --overwrite "+
		"cloudcontrollermanager/cluster %s=%d",
		start.UTC().Format(time.RFC3339), operatorclient.RemovalAnnotation, generation)
	err := operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionFalse, paused, message),
		operatorclient.AsExpected(DegradedCondition))
	if err == nil && first {
		c.Recorder.Warning("RemovalRequested", message)
	}
	return err
}

var stepMessages = map[observedplatform.Removal]string{
	observedplatform.RemovingStaticPods: "removing the static pods and their files from the control-plane nodes",
	observedplatform.RemovingObjects:    "removing the objects that the operator created",
	observedplatform.Restoring:          "waiting until nothing of the removal runs any more",
	observedplatform.Removed: "the cloud-controller-manager is removed: nothing initializes new nodes or updates load " +
		"balancers; set spec.managementState to Managed to install it again",
}

func (c *controller) enter(ctx context.Context, step observedplatform.Removal) error {
	return c.report(ctx, step, nil, nil)
}

// report writes the step, what it waits for, and what an administrator should look at.
func (c *controller) report(ctx context.Context, step observedplatform.Removal, waiting, problems []string) error {
	message := stepMessages[step]
	if len(waiting) > 0 {
		message = "waiting for " + diagnostic.Few(waiting)
	}
	degraded := operatorclient.AsExpected(DegradedCondition)
	if len(problems) > 0 {
		degraded = operatorclient.NewCondition(DegradedCondition, operatorv1.ConditionTrue, "NodesNotClean",
			diagnostic.JoinFew(problems, "; ", "; and %d more"))
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, degraded,
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionTrue, string(step), message))
}

func (c *controller) release(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	if v1helpers.FindOperatorCondition(status.Conditions, observedplatform.RemovingCondition) == nil &&
		v1helpers.FindOperatorCondition(status.Conditions, DegradedCondition) == nil {
		return nil
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name)
}

// currentConditions are true after a removal: those of this controller and of the unmanaged platform.
var currentConditions = []string{
	observedplatform.RemovingCondition, DegradedCondition, name + "Degraded",
	operatorclient.AvailableCondition, operatorclient.ProgressingCondition, operatorclient.DegradedCondition,
	operatorclient.UpgradeableCondition,
}

// removeConditions removes the conditions about what was removed. Nothing else updates them: their controllers have
// ended or do nothing. The controllers that run write theirs again.
func (c *controller) removeConditions(ctx context.Context) error {
	return operatorclient.RemoveConditions(ctx, c.Operator, func(condition *operatorv1.OperatorCondition) bool {
		return !slices.Contains(currentConditions, condition.Type)
	})
}

// forgetRevisions removes the revisions that the nodes are at. A node's revision cannot decrease, so its whole entry
// goes; library-go's node controller creates it again when it runs. It comes before the first change of a node: if the
// removal ends at any point, every node gets its files again.
func (c *controller) forgetRevisions(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	if !slices.ContainsFunc(status.NodeStatuses, hasRevision) {
		return nil
	}
	_, status, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return err
	}
	var entries operatorclient.Removals
	for i, node := range status.NodeStatuses {
		if hasRevision(node) {
			entries.Add(i, "/status/nodeStatuses", "nodeName", node.NodeName, "")
		}
	}
	return entries.Apply(ctx, c.Operator)
}

func hasRevision(node operatorv1.NodeStatus) bool {
	return node.CurrentRevision != 0 || node.TargetRevision != 0
}
