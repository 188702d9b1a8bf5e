package digitalocean_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

func TestDigitalOceanGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "digitalocean", digitalocean.Rewrite,
		map[string]string{"access-token": "dop_v1_" + cloudtest.SecretValue})
}

func TestDigitalOceanAcceptsAnUnknownToken(t *testing.T) {
	result := digitalocean.Rewrite(clouds.Source{CredentialsUnknown: true})
	require.Empty(t, result.Diagnostics)
	require.Empty(t, result.Credentials)
}
