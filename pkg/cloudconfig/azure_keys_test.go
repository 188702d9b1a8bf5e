package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// The files are what test/conformance compares with the types of the real providers, which this module cannot import, and
// what a reviewer compares with their sources where no module exists.
func TestTreeSchemaGoldens(t *testing.T) {
	for name, fields := range map[string][]treeField{
		"azure": azureFields, "azure-endpoints": azureEndpointsFields, "nutanix": nutanixFields,
		"nutanix-credentials": nutanixLogin, "alibabacloud": alibabaFields,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+"-keys.golden")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file, []byte(fieldsText("", fields)), 0o600))
				t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
				return
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), fieldsText("", fields))
		})
	}
}

// fieldsText has one line per field: its path and type. [] stands for the items of a list, {} for the names of a mapping.
func fieldsText(path string, fields []treeField) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(fieldText(inside(path, f.name), f))
	}
	return b.String()
}

func fieldText(path string, f treeField) string {
	if f.legacy != "" {
		return path + ": legacy\n"
	}
	switch f.is {
	case listTree:
		return fieldText(path+"[]", *f.of)
	case mapTree:
		return fieldText(path+"{}", *f.of)
	case objectTree:
		return fieldsText(path, f.fields)
	case textTree, boolTree, intTree, floatTree, anyTree:
	}
	kind := map[treeType]string{textTree: "text", boolTree: "bool", intTree: "int", floatTree: "float", anyTree: "any"}[f.is]
	if f.bits != 0 {
		kind += fmt.Sprint(f.bits)
	}
	return path + ": " + kind + "\n"
}

// For these clouds there is no module whose types could be compared: what we write for the largest and the smallest
// configurations has nothing but what the tables above know.
func TestRewrittenTreesHaveNothingUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		format  treeFormat
		fields  []treeField
		rewrite Rewrite
		small   string
	}{
		"azure":        {yamlAsJSONTree, azureFields, Azure, `{"subscriptionId": "s", "resourceGroup": "r"}`},
		"nutanix":      {jsonTree, nutanixFields, Nutanix, `{"prismCentral": {"address": "a", "port": 1}}`},
		"alibabacloud": {yamlAsJSONTree, alibabaFields, AlibabaCloud, ""},
	} {
		t.Run(name, func(t *testing.T) {
			everything, err := os.ReadFile(filepath.Join("testdata", name, "everything.conf"))
			require.NoError(t, err)
			for _, config := range []string{string(everything), c.small} {
				src := Source{Config: []byte(config), Credentials: map[string][]byte{
					"azure_client_id": []byte("id"), "azure_federated_token_file": []byte("x"), "azure_tenant_id": []byte("t"),
					"credentials":           []byte(`[{"type": "basic_auth", "data": {"prismCentral": {"username": "u", "password": "p"}}}]`),
					"alibaba_access_key_id": []byte("i"), "alibaba_access_key_secret": []byte("s"),
				}}
				src.Cluster.Status = configv1.PlatformStatus{
					Azure: &configv1.AzurePlatformStatus{ARMEndpoint: "https://management.example.com/"}, AlibabaCloud: &configv1.AlibabaCloudPlatformStatus{Region: "cn-hangzhou"}}
				result := c.rewrite(src)
				require.Empty(t, result.Errors(diagnostic.Strict))
				requireKnownTree(t, c.format, c.fields, result.Config)
			}
		})
	}
}

// requireKnownTree checks that a configuration has nothing but what the provider reads, spelt as it does.
func requireKnownTree(t *testing.T, format treeFormat, fields []treeField, config []byte) {
	t.Helper()
	var fs findings
	before := treeReader{format: format, fields: fields}.read(config, &fs)
	require.Empty(t, fs)
	requireSpeltAsKnown(t, fields, before.root)
}

func requireSpeltAsKnown(t *testing.T, fields []treeField, n *treeNode) {
	t.Helper()
	for _, e := range n.entries {
		known := false
		for _, f := range fields {
			if f.name != e.name {
				continue
			}
			known = true
			if f.is == objectTree {
				requireSpeltAsKnown(t, f.fields, e.value)
			}
		}
		require.True(t, known, e.name)
	}
}
