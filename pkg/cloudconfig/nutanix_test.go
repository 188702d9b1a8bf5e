package cloudconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// nutanixLogin is what ccoctl writes into the Secret.
var nutanixLogin = map[string]string{
	"credentials": `[{"type":"basic_auth","data":{"prismCentral":{"username":"ccm","password":"` + secretValue + `"},"prismElements":null}}]`,
}

func TestNutanixGolden(t *testing.T) {
	requireGoldens(t, "nutanix", cloudconfig.Nutanix, nutanixLogin)
}

func TestFindingsOfTreesHaveNoSecrets(t *testing.T) {
	for _, platform := range []string{"azure", "azurestack", "nutanix", "alibabacloud", "digitalocean", "external"} {
		files, err := filepath.Glob(filepath.Join("testdata", platform, "*.golden"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			findings, _, _ := strings.Cut(string(golden), "-- cloud.conf --")
			require.NotContains(t, findings, "s3cr3t", file)
		}
	}
}

func TestNutanixDeliversNoCredentials(t *testing.T) {
	src := cloudconfig.Source{Config: []byte(`{"prismCentral": {"address": "a", "port": 1}}`), Credentials: secretOf(nutanixLogin)}
	result := cloudconfig.Nutanix(src)
	require.Empty(t, result.Errors(diagnostic.Strict))
	require.Empty(t, result.Credentials)
	require.NotContains(t, string(result.Config), secretValue)
}

func TestNutanixChecksNoCredentialsWhereNobodyKnows(t *testing.T) {
	require.Empty(t, cloudconfig.Nutanix(cloudconfig.Source{
		Config: []byte(`{"prismCentral": {"address": "a", "port": 1}}`), CredentialsUnknown: true}).Errors(diagnostic.Strict))
}

// FuzzNutanix proves what FuzzAzure proves.
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
		src := cloudconfig.Source{Config: config, Paths: staticPodPaths, Credentials: map[string][]byte{"credentials": credentials}}
		requireFuzzed(t, cloudconfig.Nutanix, src)
		if string(credentials) == nutanixLogin["credentials"] {
			for _, finding := range cloudconfig.Nutanix(src).Diagnostics {
				require.NotContains(t, finding.Message, secretValue)
			}
		}
	})
}
