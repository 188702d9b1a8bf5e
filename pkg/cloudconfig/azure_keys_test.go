package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files are what test/conformance compares with the types of the real providers, which this module cannot import, and
// what a reviewer compares with their sources where no module exists.
func TestTreeSchemaGoldens(t *testing.T) {
	for name, fields := range map[string][]treeField{
		"azure": azureFields, "azure-endpoints": azureEndpointsFields,
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
