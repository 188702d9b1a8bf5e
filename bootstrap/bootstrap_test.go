package bootstrap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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

	payload, err := os.ReadFile(filepath.Join("..", "manifests", "0000_26_cloud-controller-manager-operator_00_namespace.yaml"))
	require.NoError(t, err)
	var found []*corev1.Namespace
	for document := range bytes.SplitSeq(payload, []byte("\n---\n")) {
		namespace := &corev1.Namespace{}
		require.NoError(t, yaml.UnmarshalStrict(document, namespace))
		found = append(found, namespace)
	}
	require.Contains(t, found, early)
}
