// Package unmanaged reports for the operator where there is nothing to run: on platforms whose nodes nobody
// initialises from outside, and on those that this version does not know.
package unmanaged

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	name        = "Unmanaged"
	upgradeable = "CloudControllerManagerUpgradeable"
)

// fieldManager owns the conditions of this controller, and only them.
var fieldManager = factory.ControllerFieldManager(name, "conditions")

// messages say for each reason what that means and what can be done.
var messages = map[platform.Absence]string{
	platform.NotNeeded: "The platform that infrastructure.config.openshift.io/cluster names in status.platformStatus.type " +
		"needs no cloud-controller-manager of this operator",
	platform.NotAsked: "The platform is External, and status.platformStatus.external.cloudControllerManager.state of " +
		"infrastructure.config.openshift.io/cluster is not External: the nodes wait for no cloud-controller-manager",
	platform.NotDeclared: "The platform is External and its nodes wait for a cloud-controller-manager. The administrator runs one; " +
		"to let this operator run it, set spec.custom of cloudcontrollermanager/cluster",
}

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.OperatorClient
	Recorder events.Recorder
}

type controller struct {
	operator v1helpers.OperatorClient
}

// New returns the controller that reports Available on platforms without a cloud-controller-manager.
// No static pod ever will there, and an upgrade waits until somebody does. Where one is to run, and while the platform is
// not known, it does nothing.
func New(o Options) factory.Controller {
	c := &controller{operator: o.Operator}
	return factory.New().
		WithInformers(o.Operator.Informer()).
		WithSync(c.sync).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func (c *controller) sync(ctx context.Context, _ factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known {
		return err
	}
	if managed {
		return c.release(ctx)
	}
	reason, err := c.reason()
	if err != nil {
		return err
	}
	conditions := applyoperatorv1.OperatorStatus().WithConditions(
		condition("CloudControllerManagerAvailable", operatorv1.ConditionTrue, reason),
		condition("CloudControllerManagerProgressing", operatorv1.ConditionFalse, reason),
		condition("CloudControllerManagerDegraded", operatorv1.ConditionFalse, reason),
		// Where static pods run, library-go's controllers have a say in this one.
		condition(upgradeable, operatorv1.ConditionTrue, reason),
	)
	if err := c.operator.ApplyOperatorStatus(ctx, fieldManager, conditions); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// release gives back what was said while nothing ran: whoever says it now may say less, and the rest would stay.
func (c *controller) release(ctx context.Context) error {
	_, status, _, err := c.operator.GetOperatorState()
	if err != nil {
		return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	said := v1helpers.FindOperatorCondition(status.Conditions, upgradeable)
	if said == nil || messages[platform.Absence(said.Reason)] == "" {
		return nil
	}
	if err := c.operator.ApplyOperatorStatus(ctx, fieldManager, applyoperatorv1.OperatorStatus()); err != nil {
		return fmt.Errorf("status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// reason is why nothing runs, by what was observed together with the platform.
func (c *controller) reason() (platform.Absence, error) {
	spec, _, _, err := c.operator.GetOperatorState()
	if err != nil {
		return "", fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	observed, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return "", fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	return platform.AbsenceOf(&observed.Cluster.Status), nil
}

func condition(conditionType string, value operatorv1.ConditionStatus, reason platform.Absence) *applyoperatorv1.OperatorConditionApplyConfiguration {
	return applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(value).WithReason(string(reason)).WithMessage(messages[reason])
}
