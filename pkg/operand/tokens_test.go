package operand_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

func TestFederatedCredentialsNameTheDeliveredToken(t *testing.T) {
	for name, audience := range map[string]string{"aws": "sts.amazonaws.com", "azure": "openshift", "gcp": "openshift"} {
		t.Run(name, func(t *testing.T) {
			p, _ := platform.ByName(name)
			in := inputs(t, p, operand.OperatorPhase())
			static, err := operand.Render(in)
			require.NoError(t, err)
			require.Empty(t, static.Tokens)

			in.Credentials.Data = readFolder(t, name, "federated")
			federated, err := operand.Render(in)
			require.NoError(t, err)
			want := []clouds.Token{{Key: "token", Audience: audience}}
			require.Equal(t, want, federated.Tokens)
			pod := federated.ConfigMaps[len(federated.ConfigMaps)-1]
			fromPod, err := operand.TokensOf(pod)
			require.NoError(t, err)
			require.Equal(t, want, fromPod)

			// A static pod does not have the path that other tools wrote into the Secret.
			files := string(dump(t, federated))
			require.Contains(t, files, "/etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token")
			require.NotContains(t, files, "/var/run/secrets/openshift")
		})
	}
}
