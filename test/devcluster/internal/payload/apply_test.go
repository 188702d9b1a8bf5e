package payload

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// The expected objects follow lib/resourcemerge and pkg/cvo/internal/generic.go of the cluster-version-operator.
func TestAnUpdateReplacesAsTheClusterVersionOperatorDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		resource             schema.GroupVersionResource
		live, next, expected string
	}{
		"a rule of a role goes": {
			resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
			live: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {former: x}},
                rules: [{verbs: [get], resources: [nodes]}, {verbs: [list], resources: [pods]}]}`,
			next: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {next: z}},
                rules: [{verbs: [get], resources: [nodes]}]}`,
			expected: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {former: x, next: z}},
                rules: [{verbs: [get], resources: [nodes]}]}`,
		},
		"all rules of a role go": {
			resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
			live:     `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: [{verbs: [get]}]}`,
			next:     `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}`,
			expected: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}`,
		},
		"a field of a policy goes, and a label with it": {
			resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
				Resource: "validatingadmissionpolicies"},
			live: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a, labels: {former: x}},
                spec: {failurePolicy: Ignore, validations: [{expression: "false"}]}, status: {observedGeneration: 3}}`,
			next: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a},
                spec: {validations: [{expression: "true"}]}}`,
			expected: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a},
                spec: {validations: [{expression: "true"}]}, status: {observedGeneration: 3}}`,
		},
		"a key of a ConfigMap stays": {
			resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			live:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {former: x, both: x}}`,
			next:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {both: y}}`,
			expected: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {former: x, both: y}}`,
		},
		"a container and an environment variable of a Deployment go": {
			resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			live: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a},
                spec: {template: {spec: {containers: [{name: a, env: [{name: FORMER}]}, {name: b}]}}}}`,
			next: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a},
                spec: {template: {spec: {containers: [{name: a}]}}}}`,
			expected: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a},
                spec: {template: {spec: {containers: [{name: a}]}}}}`,
		},
		"what the API server has added to a ServiceAccount stays": {
			resource: schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"},
			live:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: b}]}`,
			next:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {next: z}}}`,
			expected: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {next: z}}, secrets: [{name: b}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := decoded(t, tc.live)
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{tc.resource: live.GetKind() + "List"}, live)
			require.NoError(t, update(t.Context(), client.Resource(tc.resource), decoded(t, tc.next)))
			updated, err := client.Resource(tc.resource).Get(t.Context(), "a", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, decoded(t, tc.expected), updated)
		})
	}
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	return object
}
