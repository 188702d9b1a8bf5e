package operatorclient

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
)

// Condition is a condition to apply.
type Condition = applyoperatorv1.OperatorConditionApplyConfiguration

// AsExpected returns the condition False without a message.
func AsExpected(conditionType string) *Condition {
	return NewCondition(conditionType, operatorv1.ConditionFalse, "AsExpected", "")
}

// NewCondition returns a condition. It omits an empty message: the API server drops it, so an applied empty message
// would differ from the stored condition in every sync.
func NewCondition(conditionType string, status operatorv1.ConditionStatus, reason, message string) *Condition {
	c := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(status).WithReason(reason)
	if message != "" {
		c = c.WithMessage(message)
	}
	return c
}

// ApplyConditions writes the conditions of a controller. Those that it wrote before and omits now are removed, unless
// it wrote them under another name.
func ApplyConditions(
	ctx context.Context, client v1helpers.OperatorClient, controller string, conditions ...*Condition,
) error {
	fieldManager := factory.ControllerFieldManager(controller, "conditions")
	status := applyoperatorv1.OperatorStatus().WithConditions(conditions...)
	if err := client.ApplyOperatorStatus(ctx, fieldManager, status); err != nil {
		return fmt.Errorf("applying the conditions of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}
