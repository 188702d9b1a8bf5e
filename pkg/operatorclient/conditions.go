package operatorclient

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// Condition is a condition to apply.
type Condition = applyoperatorv1.OperatorConditionApplyConfiguration

// AsExpected returns the condition False without a message.
func AsExpected(conditionType string) *Condition {
	return NewCondition(conditionType, operatorv1.ConditionFalse, "AsExpected", "")
}

// maxMessage limits the message of a condition. About 50 have to fit into an object of etcd, which holds 1.5 MiB.
const maxMessage = 4096

// Bounded limits a text for a status to 4096 characters: no Node, tenant or cloud can write so much that a status
// cannot be stored.
func Bounded(message string) string { return printable.Cut(message, maxMessage) }

// boundConditions bounds the conditions that a controller applies, also one of library-go. An empty message is applied
// too: one that is omitted would leave that of another field manager.
func boundConditions(conditions []Condition) {
	for i := range conditions {
		conditions[i].Message = ptr.To(Bounded(ptr.Deref(conditions[i].Message, "")))
	}
}

func boundNodes(nodes []applyoperatorv1.NodeStatusApplyConfiguration) {
	for i := range nodes {
		errors := slices.Clone(nodes[i].LastFailedRevisionErrors)
		errors = errors[:min(len(errors), maxErrors)]
		for j := range errors {
			errors[j] = Bounded(errors[j])
		}
		nodes[i].LastFailedRevisionErrors = errors
	}
}

// maxErrors limits the errors of a node. library-go writes one for each container of an installer pod.
const maxErrors = 10

// NewCondition returns a condition. It omits an empty message, which the client adds.
func NewCondition(conditionType string, status operatorv1.ConditionStatus, reason, message string) *Condition {
	c := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(status).WithReason(reason)
	if message != "" {
		c = c.WithMessage(Bounded(message))
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
