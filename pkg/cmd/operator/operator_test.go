package operator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator"
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

func TestAVersionIsRequired(t *testing.T) {
	for _, name := range []string{"OPERATOR_IMAGE_VERSION", "OPERAND_IMAGE_VERSION"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OPERATOR_IMAGE_VERSION", "4.99.0")
			t.Setenv("OPERAND_IMAGE_VERSION", "4.99.0")
			t.Setenv(name, "")
			require.EqualError(t, complete(&operator.Options{}),
				"environment variable "+name+" is not set: set it to the release version in the operator's Deployment")
		})
	}
}
