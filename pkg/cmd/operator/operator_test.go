package operator

import (
	"reflect"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/operatorlock"
)

func TestWhatTheDeploymentBrings(t *testing.T) {
	t.Setenv("OPERATOR_IMAGE", "registry/operator")
	t.Setenv("OPENSTACK_IMAGE", "registry/openstack")
	t.Setenv("OPERATOR_IMAGE_VERSION", "4.99.0")
	t.Setenv("OPERAND_IMAGE_VERSION", "4.99.1")
	var got operator.Options
	require.NoError(t, complete(&got))
	require.Equal(t, "registry/operator", got.OperatorImage)
	require.Equal(t, "registry/openstack", got.OperandImages["openstack-cloud-controller-manager"])
	require.Equal(t, "4.99.0", got.OperatorVersion)
	require.Equal(t, "4.99.1", got.OperandVersion)
	require.Equal(t, "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem of the operator's image", got.SystemTrust.Source)
}

func TestTheLockAndTheOperatorShareTheMemoryOfAPod(t *testing.T) {
	pod, options := operatorlock.Pod{UID: "a"}, operator.Options{}
	remember(&pod, &options)
	require.NotNil(t, options.LeaderMemory)
	require.Same(t, options.LeaderMemory, pod.Memory)

	outside := operatorlock.Pod{}
	remember(&outside, &options)
	require.Equal(t, operatorlock.Pod{}, outside, "no pod, and no process that could follow it")
}

func TestTheImageAndTheVersionsAreRequired(t *testing.T) {
	for name, meaning := range map[string]string{
		"OPERATOR_IMAGE": "operator's image", "OPERATOR_IMAGE_VERSION": "release version",
		"OPERAND_IMAGE_VERSION": "release version",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OPERATOR_IMAGE", "registry/operator")
			t.Setenv("OPERATOR_IMAGE_VERSION", "4.99.0")
			t.Setenv("OPERAND_IMAGE_VERSION", "4.99.0")
			t.Setenv(name, "")
			require.EqualError(t, complete(&operator.Options{}),
				"environment variable "+name+" is not set: set it to the "+meaning+" in the operator's Deployment")
		})
	}
}

// The cluster-version-operator writes the TLS profile into this configuration, and library-go's server reads it. If this
// fails, they can honor groups: say so in docs/operations.md, and test it.
func TestTheServersConfigurationHasNoFieldForTLSGroups(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[configv1.HTTPServingInfo]()) {
		name := strings.ToLower(field.Name)
		require.False(t, strings.Contains(name, "curve") || strings.Contains(name, "group"), field.Name)
	}
}
