package bootstrap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bootstrap"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

func TestTheConfigurationFitsTheSchema(t *testing.T) {
	config, err := operandconfig.Decode(bootstrap.Config())
	require.NoError(t, err)
	require.Equal(t, map[string][]string{
		"authentication-skip-lookup": {"true"},
		"controllers":                {"cloud-node-controller"},
		"leader-elect":               {"false"},
	}, config.ExtendedArguments)
}

func TestThePodPatchHasNoUnknownField(t *testing.T) {
	require.NoError(t, yaml.UnmarshalStrict(bootstrap.PodPatch(), &corev1.Pod{}))
}

func TestTheNamespaceIsThatOfThePayload(t *testing.T) {
	manifests := bootstrap.Manifests()
	require.Len(t, manifests, 1)
	early := &corev1.Namespace{}
	require.NoError(t, yaml.UnmarshalStrict(manifests[0].Data, early))
	require.Equal(t, "openshift-cloud-controller-manager", early.Name)

	require.Contains(t, payload[corev1.Namespace](t, "00_namespace"), *early)
}

func TestTheManifestsOfTheNodeManagerAreThoseOfThePayload(t *testing.T) {
	roles := payload[rbacv1.ClusterRole](t, "05_operand.rbac")
	manifests := bootstrap.NodeManagerManifests()
	require.Len(t, manifests, 4)
	constraints := securityv1.SecurityContextConstraints{}
	require.NoError(t, yaml.UnmarshalStrict(manifests[0].Data, &constraints), "the constraints come before their use")
	require.Contains(t, payload[securityv1.SecurityContextConstraints](t, "02_securitycontextconstraints"), constraints)
	policy := admissionv1.ValidatingAdmissionPolicy{}
	require.NoError(t, yaml.UnmarshalStrict(manifests[1].Data, &policy), "the restraint comes before the rights")
	require.Contains(t, payload[admissionv1.ValidatingAdmissionPolicy](t, "09_node-manager.validatingadmissionpolicy"), policy)
	for _, m := range manifests[2:] {
		early := rbacv1.ClusterRole{}
		require.NoError(t, yaml.UnmarshalStrict(m.Data, &early))
		require.Contains(t, roles, early)
	}
}

// payload returns the objects of a kind in a manifest of the payload.
func payload[T any](t *testing.T, name string) []T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "manifests", "0000_26_cloud-controller-manager-operator_"+name+".yaml"))
	require.NoError(t, err)
	var found []T
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var object T
		if yaml.UnmarshalStrict(document, &object) == nil {
			found = append(found, object)
		}
	}
	require.NotEmpty(t, found)
	return found
}
