package cloudconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
)

func TestAlibabaCloudGolden(t *testing.T) {
	requireGoldens(t, "alibabacloud", cloudconfig.AlibabaCloud, map[string]string{"alibaba_access_key_id": "LTAI5t", "alibaba_access_key_secret": secretValue})
}

func TestAlibabaCloudMergesNothingWhereNobodyKnows(t *testing.T) {
	result := cloudconfig.AlibabaCloud(cloudconfig.Source{CredentialsUnknown: true, Credentials: secretOf(map[string]string{"alibaba_access_key_id": "LTAI5t"})})
	require.Empty(t, result.Diagnostics)
	require.Equal(t, "Global: {}\n", string(result.Config))
}

func TestDigitalOceanGolden(t *testing.T) {
	requireGoldens(t, "digitalocean", cloudconfig.DigitalOcean, map[string]string{"access-token": "dop_v1_" + secretValue})
}

func TestDigitalOceanChecksNoTokenWhereNobodyKnows(t *testing.T) {
	result := cloudconfig.DigitalOcean(cloudconfig.Source{CredentialsUnknown: true})
	require.Empty(t, result.Diagnostics)
	require.Empty(t, result.Credentials)
}

func TestExternalGolden(t *testing.T) {
	requireGoldens(t, "external", cloudconfig.External, nil)
}

func TestExternalMakesAnEmptyFileOfNoConfiguration(t *testing.T) {
	result := cloudconfig.External(cloudconfig.Source{})
	require.Empty(t, result.Diagnostics)
	require.NotNil(t, result.Config)
	require.Empty(t, result.Config)
}
