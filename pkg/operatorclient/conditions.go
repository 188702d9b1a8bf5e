package operatorclient

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/apiserver/jsonpatch"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// Condition is a condition to apply.
type Condition = applyoperatorv1.OperatorConditionApplyConfiguration

// AsExpected returns the condition False without a message.
func AsExpected(conditionType string) *Condition {
	return NewCondition(conditionType, operatorv1.ConditionFalse, "AsExpected", "")
}

// Problem returns a True condition with the message, or AsExpected if the message is empty.
func Problem(conditionType, reason, message string) *Condition {
	if message == "" {
		return AsExpected(conditionType)
	}
	return NewCondition(conditionType, operatorv1.ConditionTrue, reason, message)
}

// maxMessage limits the message of a condition. About 50 conditions must fit into an object of etcd, of 1.5 MiB.
const maxMessage = 4096

// Bounded limits a text for a status to 4096 characters, so that no Node, tenant or cloud can make it too large.
func Bounded(message string) string { return printable.Cut(message, maxMessage) }

// boundConditions bounds the applied conditions, including library-go's. It applies empty reasons and messages
// explicitly: an omitted one would leave that of another field manager.
func boundConditions(conditions []Condition) {
	for i := range conditions {
		conditions[i].Reason = ptr.To(ptr.Deref(conditions[i].Reason, ""))
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

// NewCondition returns a condition. It omits an empty message, which the client adds when it applies the condition.
func NewCondition(conditionType string, status operatorv1.ConditionStatus, reason, message string) *Condition {
	c := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(status).WithReason(reason)
	if message != "" {
		c = c.WithMessage(Bounded(message))
	}
	return c
}

// ApplyConditions applies a controller's conditions. It removes those that it applied before under the same name.
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

// Inertia is how long a Degraded condition must last before the ClusterOperator shows it, by "Type" or by
// "Type/Reason", which takes precedence. The package that writes a condition declares it.
type Inertia map[string]time.Duration

const (
	// AtOnce is for an invalid configuration, which stays invalid, and for a condition whose controller has waited.
	AtOnce time.Duration = 0

	// DefaultInertia gives an error of a controller time to resolve itself.
	DefaultInertia = 2 * time.Minute
)

// Of returns the inertia of a condition, by default DefaultInertia.
func (i Inertia) Of(c operatorv1.OperatorCondition) time.Duration {
	for _, key := range []string{c.Type + "/" + c.Reason, c.Type} {
		if inertia, declared := i[key]; declared {
			return inertia
		}
	}
	return DefaultInertia
}

// Removals are items to remove from a list of the status.
type Removals struct {
	patch *jsonpatch.PatchSet
	count int
}

// Add removes the item with this index, key and, if not empty, reason. index is that before earlier removals.
func (r *Removals) Add(index int, list, key, value, reason string) {
	if r.patch == nil {
		r.patch = jsonpatch.New()
	}
	path := fmt.Sprintf("%s/%d", list, index-r.count)
	if reason != "" {
		r.patch.WithTest(path+"/reason", reason)
	}
	r.patch.WithRemove(path, jsonpatch.NewTestCondition(path+"/"+key, value))
	r.count++
}

// Apply applies the removals. If an item has changed or moved, nothing changes, and Apply returns a conflict.
func (r *Removals) Apply(ctx context.Context, client v1helpers.OperatorClient) error {
	if r.count == 0 {
		return nil
	}
	err := client.PatchOperatorStatus(ctx, r.patch)
	if apierrors.IsInvalid(err) {
		err = apierrors.NewConflict(ccmv1.Resource.GroupResource(), Instance, err)
	}
	if err != nil {
		return fmt.Errorf("patching the status of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// RemoveConditions removes whole conditions, regardless of who owns their fields. A field manager that applies nothing
// gives up only its own fields. If another manager owns the rest of a condition, that rest would lack the required
// lastTransitionTime, and the API server would reject the request.
func RemoveConditions(
	ctx context.Context, client v1helpers.OperatorClient, isStale func(*operatorv1.OperatorCondition) bool,
) error {
	_, status, _, err := client.GetOperatorStateWithQuorum(ctx)
	if err != nil {
		return err
	}
	var stale Removals
	for i := range status.Conditions {
		if condition := &status.Conditions[i]; isStale(condition) {
			stale.Add(i, "/status/conditions", "type", condition.Type, condition.Reason)
		}
	}
	return stale.Apply(ctx, client)
}
