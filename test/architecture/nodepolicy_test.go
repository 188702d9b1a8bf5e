package architecture

import (
	"testing"

	"github.com/stretchr/testify/require"
	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The API server's own code compiles and runs the policy.
func TestACloudNodeManagerChangesOnlyItsOwnNode(t *testing.T) {
	const nodeManager = "system:serviceaccount:openshift-cloud-controller-manager:cloud-node-manager"
	policy := nodeManagerPolicy(t)
	for name, tc := range map[string]struct {
		user    string
		extra   map[string]authenticationv1.ExtraValue
		applies bool
		allowed bool
	}{
		"its own node": {
			user: nodeManager, applies: true, allowed: true,
			extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"worker-0"}},
		},
		"another node": {
			user: nodeManager, applies: true,
			extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"worker-1"}},
		},
		"a token of two nodes": {
			user: nodeManager, applies: true,
			extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"worker-1", "worker-0"}},
		},
		"a token of no node": {
			user: nodeManager, applies: true,
			extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/pod-name": {"worker-0"}},
		},
		"a token that tells nothing": {user: nodeManager, applies: true},
		"somebody else":              {user: "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager"},
	} {
		t.Run(name, func(t *testing.T) {
			request := &admissionapi.AdmissionRequest{
				Name: "worker-0", Operation: admissionapi.Update,
				UserInfo: authenticationv1.UserInfo{Username: tc.user, Extra: tc.extra},
			}
			require.Equal(t, tc.applies, evaluate(t, &matchconditions.MatchCondition{Expression: policy.MatchConditions[0].Expression}, request))
			if tc.applies {
				require.Equal(t, tc.allowed, evaluate(t, &validating.ValidationCondition{Expression: policy.Validations[0].Expression}, request))
			}
		})
	}
}

func nodeManagerPolicy(t *testing.T) admissionv1.ValidatingAdmissionPolicySpec {
	t.Helper()
	for _, m := range payload(t) {
		if policy, ok := m.object.(*admissionv1.ValidatingAdmissionPolicy); ok && policy.Name == "openshift-cloud-controller-manager-node-manager" {
			require.Len(t, policy.Spec.MatchConditions, 1)
			require.Len(t, policy.Spec.Validations, 1)
			require.Equal(t, admissionv1.Fail, *policy.Spec.FailurePolicy)
			return policy.Spec
		}
	}
	require.Fail(t, "the payload has no policy for the cloud-node-manager")
	return admissionv1.ValidatingAdmissionPolicySpec{}
}

// evaluate runs an expression for an update of a node.
func evaluate(t *testing.T, expression cel.ExpressionAccessor, request *admissionapi.AdmissionRequest) bool {
	t.Helper()
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	condition := compiler.CompileCondition([]cel.ExpressionAccessor{expression}, cel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	require.Empty(t, condition.CompilationErrors())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: request.Name}}
	kind := corev1.SchemeGroupVersion.WithKind("Node")
	attributes := admission.NewAttributesRecord(node, node, kind, "", node.Name, schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
		"", admission.Update, &metav1.UpdateOptions{}, false, &user.DefaultInfo{Name: request.UserInfo.Username})
	results, _, err := condition.ForInput(t.Context(), &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: kind, VersionedObject: node, VersionedOldObject: node,
	}, request, cel.OptionalVariableBindings{}, nil, 1_000_000)
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.NoError(t, results[0].Error)
	return results[0].EvalResult.Value() == true
}
