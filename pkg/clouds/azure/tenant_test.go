package azure_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAForeignTenantOfTheNetworkIsNamed(t *testing.T) {
	const want = "cloud config:1:28: networkResourceTenantID differs from tenantId: the cloud-controller-manager " +
		"logs in " +
		"to that tenant too, with the same client secret or identity; remove it unless the network belongs to that tenant"
	const own, foreign = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
	for name, test := range map[string]struct {
		network, tenant string
		unknown         bool
		want            []string
	}{
		"another one":                      {network: foreign, tenant: own, want: []string{want}},
		"another one than the Secret's":    {network: foreign, want: []string{want}},
		"another one, without credentials": {network: foreign, tenant: own, unknown: true, want: []string{want}},
		"the same one":                     {network: own, tenant: own},
		"the same one as the Secret's":     {network: own},
		"none":                             {tenant: own},
		"one beside an unknown one":        {network: foreign, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			src := clouds.Source{
				Config: []byte(`{"networkResourceTenantID":"` + test.network + `","tenantId":"` + test.tenant +
					`","subscriptionId":"66666666-7777-8888-9999-000000000000","resourceGroup":"r"}`),
				Credentials: cloudtest.SecretOf(azureLogin), Paths: cloudtest.StaticPodPaths,
			}
			if test.unknown {
				src.Credentials, src.CredentialsUnknown = nil, true
			}
			for _, rewrite := range []clouds.Rewrite{azure.Rewrite, azureStack} {
				result := rewrite(src)
				require.Empty(t, result.Errors(diagnostic.Strict))
				require.Equal(t, test.want, cloudtest.Messages(result, diagnostic.Insecure))
			}
		})
	}
}
