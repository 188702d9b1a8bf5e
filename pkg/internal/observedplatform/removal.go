package observedplatform

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
)

// RemovingCondition is True from the beginning of a removal until everything is installed again. Its reason is the
// step. It is False while a requested removal has to wait, and absent otherwise.
const RemovingCondition = "Removing"

// Removal is a step of a removal, and the reason of RemovingCondition.
type Removal string

const (
	// RemovingStaticPods is the step that removes the static pods and their files from the nodes.
	RemovingStaticPods Removal = "RemovingStaticPods"

	// RemovingObjects is the step that deletes the objects of the operand, after no node has files of it.
	RemovingObjects Removal = "RemovingObjects"

	// Removed is the state after the last step.
	Removed Removal = "Removed"

	// Restoring is the step that ends a removal: it waits for pods that still remove something.
	Restoring Removal = "Restoring"
)

// RemovalOf returns the step of the removal, "" if none has started.
func RemovalOf(status *operatorv1.OperatorStatus) Removal {
	removing := v1helpers.FindOperatorCondition(status.Conditions, RemovingCondition)
	if removing == nil || removing.Status != operatorv1.ConditionTrue {
		return ""
	}
	return Removal(removing.Reason)
}
