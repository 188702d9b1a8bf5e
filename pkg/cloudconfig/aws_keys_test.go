package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig/gcfg"
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
