package cloudconfig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The files are what test/conformance compares with the types of the real providers, which this module cannot import, and
// what a reviewer compares with their sources where no module exists.
func TestSchemaGoldens(t *testing.T) {
	for name, schema := range map[string]iniSchema{"aws": awsSchema, "gcp": gcpSchema, "ibmcloud": ibmSchema, "powervs": powerVSSchema} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+"-keys.golden")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file, []byte(schemaText(schema)), 0o600))
				t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
				return
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), schemaText(schema))
		})
	}
}

func schemaText(schema iniSchema) string {
	kinds := map[iniType]string{textValue: "text", boolValue: "bool", int32Value: "int32", listValue: "list"}
	var b strings.Builder
	for _, section := range schema {
		for _, key := range section.keys {
			kind := kinds[key.kind]
			if key.legacy != "" {
				kind = "legacy"
			}
			fmt.Fprintf(&b, "[%s] %s: %s\n", section.name, key.name, kind)
		}
	}
	return b.String()
}

// Every one of these sources makes its rewriting write all that it ever writes.
func TestRewritingWritesOnlyKeysThatTheProviderReads(t *testing.T) {
	ibmConfig := "[global]\nversion=1.1.0\n[provider]\naccountID=a\nclusterID=c\ncluster-default-provider=g2\nregion=r\n" +
		"g2ResourceGroupName=g\ng2VpcName=v\ng2VpcSubnetNames=s\nzone=z\n"
	ibmEndpoints := []configv1.IBMCloudServiceEndpoint{{Name: "IAM", URL: "https://i"}, {Name: "VPC", URL: "https://v"}, {Name: "ResourceManager", URL: "https://r"}}
	powerVSEndpoints := []configv1.PowerVSServiceEndpoint{{Name: "IAM", URL: "https://i"}, {Name: "VPC", URL: "https://v"},
		{Name: "ResourceManager", URL: "https://r"}, {Name: "ResourceController", URL: "https://c"}, {Name: "Power", URL: "https://p"}}
	for name, c := range map[string]struct {
		rewrite Rewrite
		schema  iniSchema
		config  string
		status  configv1.PlatformStatus
		written int // how many lines the result has more than the source
	}{
		"aws": {AWS, awsSchema, "", configv1.PlatformStatus{AWS: &configv1.AWSPlatformStatus{Region: "r", ServiceEndpoints: []configv1.AWSServiceEndpoint{
			{Name: "ec2", URL: "https://e"}, {Name: "elasticloadbalancing", URL: "https://l"}, {Name: "kms", URL: "https://k"}}}}, 3 + 4*4},
		"gcp":      {GCP, gcpSchema, "[x]\n", configv1.PlatformStatus{}, 1},
		"ibmcloud": {IBMCloud, ibmSchema, ibmConfig, configv1.PlatformStatus{IBMCloud: &configv1.IBMCloudPlatformStatus{ServiceEndpoints: ibmEndpoints}}, 2 + 3 - 1},
		"powervs": {PowerVS, powerVSSchema, ibmConfig + "powerVSRegion=r\npowerVSZone=z\npowerVSCloudInstanceID=i\n",
			configv1.PlatformStatus{PowerVS: &configv1.PowerVSPlatformStatus{ServiceEndpoints: powerVSEndpoints}}, 2 + 5 - 1},
	} {
		t.Run(name, func(t *testing.T) {
			result := c.rewrite(Source{Config: []byte(c.config), CredentialsUnknown: true, Cluster: Cluster{Status: c.status, FeatureGates: []string{awsNLBGate}}})
			require.Empty(t, result.Errors(diagnostic.Strict))
			config := bytes.ReplaceAll(result.Config, []byte("[x]"), nil)
			requireKnown(t, c.schema, config)
			require.Equal(t, c.written, bytes.Count(config, []byte("="))-strings.Count(c.config, "="))
		})
	}
}

// requireKnown checks that a configuration has nothing but what the provider reads, spelt as it does.
func requireKnown(t *testing.T, schema iniSchema, config []byte) {
	t.Helper()
	sections, errs := gcfg.Parse(config)
	require.Empty(t, errs)
	for _, s := range sections {
		known, ok := schema.section(s.Name)
		require.True(t, ok, s.Name)
		require.Equal(t, known.name, s.Name)
		for _, e := range s.Entries {
			key, ok := known.key(e.Name)
			require.True(t, ok, e.Name)
			require.Equal(t, key.name, e.Name)
			require.Empty(t, key.legacy)
		}
	}
}
