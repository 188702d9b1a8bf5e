// Package admissiontest evaluates ValidatingAdmissionPolicies with the API server's own code, without an API server.
package admissiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Policy is a compiled policy.
type Policy struct {
	spec      admissionv1.ValidatingAdmissionPolicySpec
	validator validating.Validator
}

// Request is a write: Old is nil for a creation, New for a deletion.
type Request struct {
	By              user.Info
	Kind            schema.GroupVersionKind
	Resource        schema.GroupVersionResource
	Subresource     string
	Namespace, Name string
	Old, New        runtime.Object
}

func (r Request) operation() (operation admission.Operation, options runtime.Object) {
	switch {
	case r.Old == nil:
		return admission.Create, &metav1.CreateOptions{}
	case r.New == nil:
		return admission.Delete, &metav1.DeleteOptions{}
	default:
		return admission.Update, &metav1.UpdateOptions{}
	}
}

// Compile compiles a policy like the API server's plugin.
func Compile(policy admissionv1.ValidatingAdmissionPolicySpec) (*Policy, error) {
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, fmt.Errorf("making a compiler: %w", err)
	}
	options := cel.OptionalVariableDeclarations{HasParams: policy.ParamKind != nil, HasAuthorizer: true}
	var problems []error
	for _, v := range policy.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		if result := compiler.CompileAndStoreVariable(variable, options, environment.StoredExpressions); result.Error != nil {
			problems = append(problems, fmt.Errorf("variable %s: %w", v.Name, result.Error))
		}
	}
	var conditions, validations []cel.ExpressionAccessor
	for _, c := range policy.MatchConditions {
		conditions = append(conditions, &matchconditions.MatchCondition{Name: c.Name, Expression: c.Expression})
	}
	messages := make([]cel.ExpressionAccessor, len(policy.Validations))
	for i, v := range policy.Validations {
		validations = append(validations,
			&validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		if v.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	compile := func(expressions []cel.ExpressionAccessor) cel.ConditionEvaluator {
		evaluator := compiler.CompileCondition(expressions, options, environment.StoredExpressions)
		problems = append(problems, evaluator.CompilationErrors()...)
		return evaluator
	}
	matcher := matchconditions.NewMatcher(compile(conditions), policy.FailurePolicy, "policy", "validate", "policy")
	p := &Policy{policy, validating.NewValidator(
		compile(validations), matcher, compile(nil), compile(messages), policy.FailurePolicy, nil)}
	return p, errors.Join(problems...)
}

// Matches reports whether the policy's rules are about a request in a namespace. Of a namespace's labels it knows the
// name only.
func (p *Policy) Matches(r Request) bool {
	operation, _ := r.operation()
	constraints := p.spec.MatchConstraints
	if selector := constraints.NamespaceSelector; selector != nil {
		if name, is := selector.MatchLabels["kubernetes.io/metadata.name"]; is && name != r.Namespace {
			return false
		}
	}
	name := r.Resource.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return slices.ContainsFunc(constraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		in := func(list []string, value string) bool {
			return slices.Contains(list, value) || slices.Contains(list, "*")
		}
		return in(rule.APIGroups, r.Resource.Group) && in(rule.Resources, name) &&
			(slices.Contains(rule.Operations, admissionv1.OperationType(operation)) ||
				slices.Contains(rule.Operations, admissionv1.OperationAll))
	})
}

// Denial is why a request is denied.
type Denial struct {
	// Message has the names that follow a colon in alphabetical order: CEL iterates over maps in random order.
	Message string
	Reason  metav1.StatusReason
}

// Denials returns why the policy denies a request. The authorizer answers the policy's own questions.
func (p *Policy) Denials(ctx context.Context, r Request, granted authorizer.Authorizer) (all []Denial, err error) {
	operation, options := r.operation()
	versioned := &admission.VersionedAttributes{
		VersionedKind: r.Kind, VersionedOldObject: r.Old, VersionedObject: r.New,
		Attributes: admission.NewAttributesRecord(
			r.New, r.Old, r.Kind, r.Namespace, r.Name, r.Resource, r.Subresource, operation, options, false, r.By),
	}
	result := p.validator.Validate(ctx, r.Resource, versioned, nil, nil, celconfig.RuntimeCELCostBudget, granted)
	for _, decision := range result.Decisions {
		if decision.Evaluation == validating.EvalError {
			err = errors.Join(err, errors.New(decision.Message))
		}
		if decision.Action == validating.ActionDeny {
			all = append(all, Denial{sortNames(decision.Message), decision.Reason})
		}
	}
	return all, err
}

func sortNames(message string) string {
	text, list, _ := strings.Cut(message, ": ")
	names := strings.Split(list, ", ")
	slices.Sort(names)
	return strings.TrimSuffix(text+": "+strings.Join(names, ", "), ": ")
}
