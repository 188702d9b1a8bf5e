package devcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// policyTimeout limits the wait until the API server enforces a new admission policy, which usually takes a second.
const policyTimeout = time.Minute

// UpdateRejection selects the updates that the API server rejects.
type UpdateRejection struct {
	// Resource is "configmaps" or "secrets".
	Resource string
	// Namespace has the object. Updates of objects with its name are rejected in every namespace.
	Namespace string
	// Name is the object's name. The object must exist.
	Name string
	// Unless is a CEL expression that allows an update. It must be false for the current object. Default: "false".
	Unless string
	// Message is the reason in the API server's error. Default: "rejected by a test".
	Message string
}

// RejectUpdates creates a ValidatingAdmissionPolicy that rejects updates, and returns when the API server enforces it.
// The returned function removes the policy.
func (c *Cluster) RejectUpdates(ctx context.Context, r UpdateRejection) (allow func(context.Context) error, err error) {
	if r.Unless == "" {
		r.Unless = "false"
	}
	if r.Message == "" {
		r.Message = "rejected by a test"
	}
	admission := c.client.AdmissionregistrationV1()
	policies, bindings := admission.ValidatingAdmissionPolicies(), admission.ValidatingAdmissionPolicyBindings()
	policy, binding := r.policy()
	if _, err := policies.Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("rejecting updates of %s/%s: %w", r.Resource, r.Name, err)
	}
	if _, err := bindings.Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("rejecting updates of %s/%s: %w", r.Resource, r.Name, err)
	}
	if err := c.awaitRejection(ctx, r); err != nil {
		return nil, fmt.Errorf("rejecting updates of %s/%s: %w", r.Resource, r.Name, err)
	}
	return func(ctx context.Context) error {
		return errors.Join(
			bindings.Delete(ctx, binding.Name, metav1.DeleteOptions{}),
			policies.Delete(ctx, policy.Name, metav1.DeleteOptions{}),
		)
	}, nil
}

func (r UpdateRejection) policy() (
	*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding,
) {
	meta := metav1.ObjectMeta{Name: "reject-" + r.Resource + "-" + r.Name}
	updates := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
			Resources: []string{r.Resource}},
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
				{ResourceNames: []string{r.Name}, RuleWithOperations: updates},
			}},
			Validations: []admissionv1.Validation{{Expression: r.Unless, Message: r.Message}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        meta.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	return policy, binding
}

// awaitRejection repeats a dry-run update until the API server rejects it.
func (c *Cluster) awaitRejection(ctx context.Context, r UpdateRejection) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, policyTimeout, true,
		func(ctx context.Context) (bool, error) {
			last = c.client.CoreV1().RESTClient().Patch(types.MergePatchType).
				Namespace(r.Namespace).Resource(r.Resource).Name(r.Name).Param("dryRun", metav1.DryRunAll).
				Body([]byte(`{"metadata":{"labels":{"changed":"yes"}}}`)).
				Do(ctx).Error()
			if last == nil {
				last = errors.New("the update is still allowed")
			}
			return strings.Contains(last.Error(), r.Message), nil
		})
	if err != nil {
		return fmt.Errorf("waiting for the policy: %w: %w", err, last)
	}
	return nil
}
