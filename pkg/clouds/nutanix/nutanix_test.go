package nutanix_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

// nutanixLogin is the data that ccoctl writes into the Secret.
var nutanixLogin = map[string]string{
	"credentials": `[{"type":"basic_auth","data":{"prismCentral":{"username":"ccm","password":"` +
		cloudtest.SecretValue + `"},"prismElements":null}}]`,
}

func TestNutanixGolden(t *testing.T) {
	cloudtest.RequireGoldens(t, "nutanix", nutanix.Rewrite, nutanixLogin)
}

func TestNutanixDeliversNoCredentials(t *testing.T) {
	src := clouds.Source{Config: []byte(`{"prismCentral": {"address": "a", "port": 1}}`),
		Credentials: cloudtest.SecretOf(nutanixLogin)}
	result := nutanix.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	require.Empty(t, result.Credentials)
	require.NotContains(t, string(result.Config), cloudtest.SecretValue)
}

func TestNutanixAcceptsUnknownCredentials(t *testing.T) {
	require.Empty(t, nutanix.Rewrite(clouds.Source{
		Config: []byte(`{"prismCentral": {"address": "a", "port": 1}}`), CredentialsUnknown: true}).Errors(
		diagnostic.Strict))
}

// FuzzNutanix checks the guarantees of a Rewrite for any configuration and credentials.
func FuzzNutanix(f *testing.F) {
	files, err := filepath.Glob("testdata/nutanix/*.conf")
	require.NoError(f, err)
	for _, file := range files {
		config, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(config, []byte(nutanixLogin["credentials"]))
	}
	f.Add([]byte(`{"a": [{"b": null}]}`), []byte(`[{"type": 1}, 2, null]`))
	f.Fuzz(func(t *testing.T, config, credentials []byte) {
		src := clouds.Source{Config: config, Paths: cloudtest.StaticPodPaths,
			Credentials: map[string][]byte{"credentials": credentials}}
		cloudtest.RequireFuzzed(t, nutanix.Rewrite, src)
		if string(credentials) == nutanixLogin["credentials"] {
			for _, diag := range nutanix.Rewrite(src).Diagnostics {
				require.NotContains(t, diag.Message, cloudtest.SecretValue)
			}
		}
	})
}
