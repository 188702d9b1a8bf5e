// Package unmanaged reports the operator's status on platforms without a cloud-controller-manager, on platforms that
// this version does not know, and while the cloud-controller-manager is being removed or is removed.
package unmanaged

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

const (
	name = "Unmanaged"

	predecessorRuns = "PredecessorRuns"
)

var shared = []string{
	operatorclient.AvailableCondition, operatorclient.ProgressingCondition, operatorclient.DegradedCondition,
}

// removed is the reason on a managed platform after a removal, removing the one during it.
const (
	removed  platform.Absence = "Removed"
	removing platform.Absence = "Removing"
)

// messages have the meaning of each reason, and the action if there is one.
var messages = map[platform.Absence]string{
	removed: "spec.managementState of cloudcontrollermanager/cluster is Removed: " +
		"this operator runs no cloud-controller-manager; set it to Managed to run one again",
	removing: "the cloud-controller-manager is being removed; " +
		"the condition Removing of cloudcontrollermanager/cluster has the step",
	platform.NotNeeded: "the platform in status.platformStatus.type of infrastructure.config.openshift.io/cluster " +
		"needs no cloud-controller-manager from this operator",
	platform.NotAsked: "the platform is External, and status.platformStatus.external.cloudControllerManager.state of " +
		"infrastructure.config.openshift.io/cluster is not External: " +
		"the nodes do not wait for a cloud-controller-manager",
	platform.NotDeclared: "the platform is External and its nodes wait for a cloud-controller-manager that the " +
		"administrator runs; to let this operator run it, set spec.custom of cloudcontrollermanager/cluster",
}

type controller struct{ dependencies.Deps }

// New returns the controller that reports Available on platforms without a cloud-controller-manager, and once a removal
// has started: no static pod will run then, and an upgrade waits for Available. The controller does nothing on managed
// platforms and while the platform is unknown.
func New(d dependencies.Deps) factory.Controller {
	dependencies.Require(d)
	return reconciler.New(name, d.Operator, d.Recorder, (&controller{d}).sync,
		d.Target.Apps().V1().Deployments().Informer())
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known {
		return err
	}
	spec, status, _, err := c.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	if managed {
		return c.release(ctx, status)
	}
	reason, err := reasonOf(spec, status)
	if err != nil {
		return err
	}
	degraded, err := c.degraded(spec, reason)
	if err != nil {
		return err
	}
	progresses := operatorv1.ConditionFalse
	if reason == removing {
		progresses = operatorv1.ConditionTrue
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		condition(operatorclient.AvailableCondition, operatorv1.ConditionTrue, reason),
		condition(operatorclient.ProgressingCondition, progresses, reason),
		degraded,
		// On managed platforms, library-go's controllers write this condition.
		condition(operatorclient.UpgradeableCondition, operatorv1.ConditionTrue, reason),
	)
}

// degraded reports a Deployment of the predecessor beside a removed operand, as in an upgrade after a downgrade that
// left the resource Removed. The versions controller reports no version then, so the upgrade waits here.
func (c *controller) degraded(
	spec *operatorv1.OperatorSpec, reason platform.Absence,
) (*operatorclient.Condition, error) {
	asExpected := condition(operatorclient.DegradedCondition, operatorv1.ConditionFalse, reason)
	if reason != removed || spec.ManagementState != operatorv1.Removed {
		return asExpected, nil
	}
	deployments, err := predecessor.Deployments(c.Target.Apps().V1().Deployments().Lister())
	if err != nil || len(deployments) == 0 {
		return asExpected, err
	}
	message := fmt.Sprintf(
		"spec.managementState of cloudcontrollermanager/cluster is Removed, but deployment/%s in %s of the former operator "+
			"exists; the new version is not reported, because an upgrade then deletes the rights of that Deployment; set "+
			"spec.managementState to Managed to replace it, or delete it to run no cloud-controller-manager",
		deployments[0].Name, deployments[0].Namespace)
	return operatorclient.NewCondition(operatorclient.DegradedCondition, operatorv1.ConditionTrue, predecessorRuns,
		message), nil
}

// release drops our conditions so that stale messages do not linger: the controllers of a managed platform may write
// fewer conditions. It removes the shared conditions as a whole, because others may own parts of them. A shared
// condition may have a new owner and still our message. Upgradeable, which only we write, goes last: until then,
// release is repeated, also by the next process.
func (c *controller) release(ctx context.Context, status *operatorv1.OperatorStatus) error {
	if !slices.ContainsFunc(status.Conditions, func(condition operatorv1.OperatorCondition) bool {
		return condition.Type == operatorclient.UpgradeableCondition && isOurs(condition)
	}) {
		return nil
	}
	if err := operatorclient.RemoveConditions(ctx, c.Operator, func(condition *operatorv1.OperatorCondition) bool {
		return slices.Contains(shared, condition.Type) && isOurs(*condition)
	}); err != nil {
		return err
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name)
}

func isOurs(condition operatorv1.OperatorCondition) bool {
	return messages[platform.Absence(condition.Reason)] != "" || condition.Reason == predecessorRuns
}

func reasonOf(spec *operatorv1.OperatorSpec, status *operatorv1.OperatorStatus) (platform.Absence, error) {
	switch observedplatform.RemovalOf(status) {
	case "":
	case observedplatform.Removed:
		return removed, nil
	default:
		return removing, nil
	}
	observed, err := observedplatform.Config(spec)
	if err != nil {
		return "", err
	}
	return platform.AbsenceOf(&observed.Cluster.Status), nil
}

func condition(
	conditionType string, value operatorv1.ConditionStatus, reason platform.Absence,
) *operatorclient.Condition {
	return operatorclient.NewCondition(conditionType, value, string(reason), messages[reason])
}
