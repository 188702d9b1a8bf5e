package start

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// federated starts a provider with a Secret that asks for a federated token, and returns the one that it was given.
func federated(t *testing.T, in operand.Inputs, secret map[string]string) (*process, string) {
	t.Helper()
	fresh(t)
	in.Credentials.Data = map[string][]byte{}
	for key, value := range secret {
		in.Credentials.Data[key] = []byte(value)
	}
	h, resources := install(t, in)
	minted, err := os.ReadFile(filepath.Join(h.dir, "/etc/kubernetes/static-pod-resources", operand.CertDir, "secrets", operand.CloudTokensSecret, "token"))
	require.NoError(t, err)
	return h.newContainer(t, resources.Pod.Spec, nil).start(t), string(minted)
}

func TestAzureLogsInWithTheMintedToken(t *testing.T) {
	p, minted := federated(t, inputs(t, "azure", operand.OperatorPhase()), map[string]string{
		"azure_client_id": "id", "azure_tenant_id": azureTenant, "azure_federated_token_file": "/var/run/secrets/openshift/serviceaccount/token",
	})
	p.await(t, "login", func(context.Context) error {
		return cloud.seen("POST login.microsoftonline.com/"+azureTenant+"/oauth2/v2.0/token", "client_assertion="+minted)
	})
	p.await(t, "health", p.healthy(roots(t, operand.OperatorPhase())))
}

// With no more than what the installer writes, AWS looks itself up: it takes the role with the minted token, and asks the
// endpoint that Infrastructure names.
func TestAWSLogsInWithTheMintedTokenAndAsksTheEndpointOfInfrastructure(t *testing.T) {
	in := inputs(t, "aws", operand.OperatorPhase())
	in.CloudConfig.Data = []byte("[Global]\n")
	p, minted := federated(t, in, map[string]string{
		"credentials": "[default]\nrole_arn = arn:aws:iam::123456789012:role/ccm\nweb_identity_token_file = /var/run/secrets/openshift/serviceaccount/token\n",
	})
	p.await(t, "login", func(context.Context) error {
		return cloud.seen("POST sts.eu-central-1.amazonaws.com/", "WebIdentityToken="+minted)
	})
	p.await(t, "request of the endpoint", func(context.Context) error {
		return cloud.seen("POST vpce-0c1.ec2.eu-central-1.vpce.amazonaws.com/", "Action=DescribeInstances")
	})
	p.await(t, "health", p.healthy(roots(t, operand.OperatorPhase())))
	p.await(t, "lease", leads)
}
