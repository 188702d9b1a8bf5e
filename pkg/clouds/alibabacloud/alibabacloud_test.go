package alibabacloud_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/alibabacloud"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestAlibabaCloudGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "alibabacloud", alibabacloud.Rewrite,
		map[string]string{"alibaba_access_key_id": "LTAI5t", "alibaba_access_key_secret": cloudtest.SecretValue})
}

func TestAlibabaCloudMergesNothingIfTheCredentialsAreUnknown(t *testing.T) {
	result := alibabacloud.Rewrite(clouds.Source{CredentialsUnknown: true,
		Credentials: cloudtest.SecretOf(map[string]string{"alibaba_access_key_id": "LTAI5t"})})
	require.Empty(t, result.Diagnostics)
	require.Equal(t, "Global: {}\n", string(result.Config))
}
