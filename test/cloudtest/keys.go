package cloudtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// SchemaText returns one line for each key: its section, name and type. test/conformance compares it with the types of
// the real providers, which this module cannot import. A reviewer compares it with the provider's source if there is no
// module.
func SchemaText(schema []confdoc.Field) string {
	var b strings.Builder
	for _, section := range schema {
		if section.Legacy != "" {
			fmt.Fprintf(&b, "[%s] legacy\n", section.Name)
		}
		for _, key := range section.Fields {
			fmt.Fprintf(&b, "[%s] %s: %s\n", section.Name, key.Name, kindText(key))
		}
	}
	return b.String()
}

func kindText(f confdoc.Field) string {
	if f.Legacy != "" {
		return "legacy"
	}
	kind := map[confdoc.Type]string{
		confdoc.Text: "text", confdoc.Bool: "bool", confdoc.Int: "int", confdoc.Float: "float", confdoc.List: "list",
		confdoc.Any: "any", confdoc.Word: "word", confdoc.Duration: "duration", confdoc.Unsettable: "refused",
	}[f.Is]
	if f.Unsigned {
		kind = "u" + kind
	}
	if f.Bits != 0 {
		kind += fmt.Sprint(f.Bits)
	}
	if f.Pointer {
		kind += "*"
	}
	return kind
}

// RequireWrites checks that the rewriting of a source, which must make it write every key, writes the given number of
// keys and only keys that the provider reads.
func RequireWrites(t *testing.T, rewrite clouds.Rewrite, schema []confdoc.Field, config string, cluster clouds.Cluster,
	written int) {
	t.Helper()
	result := rewrite(clouds.Source{Config: []byte(config), CredentialsUnknown: true, Cluster: cluster})
	require.Empty(t, result.Errors(diagnostic.Strict))
	rewritten := bytes.ReplaceAll(result.Config, []byte("[x]"), nil)
	requireKnownTree(t, confdoc.INI, schema, rewritten)
	require.Equal(t, written, bytes.Count(rewritten, []byte("="))-strings.Count(config, "="))
}

// FieldsText returns one line for each field: its path and type. [] stands for the items of a list, {} for the names of
// a mapping.
func FieldsText(path string, fields []confdoc.Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(fieldText(confdoc.Inside(path, f.Name), f))
	}
	return b.String()
}

func fieldText(path string, f confdoc.Field) string {
	if f.Legacy != "" {
		return path + ": legacy\n"
	}
	switch f.Is {
	case confdoc.List:
		return fieldText(path+"[]", *f.Of)
	case confdoc.Map:
		return fieldText(path+"{}", *f.Of)
	case confdoc.Object:
		return FieldsText(path, f.Fields)
	default:
	}
	return path + ": " + kindText(f) + "\n"
}

// RequireWritesFields checks that the rewriting of the largest and the smallest configuration writes only keys that the
// provider reads.
func RequireWritesFields(t *testing.T, rewrite clouds.Rewrite, format confdoc.Format, fields []confdoc.Field,
	small string, src clouds.Source) {
	t.Helper()
	everything, err := filepath.Glob(filepath.Join("testdata", "*", "everything.conf"))
	require.NoError(t, err)
	require.NotEmpty(t, everything)
	large, err := os.ReadFile(everything[0])
	require.NoError(t, err)
	for _, config := range []string{string(large), small} {
		src.Config = []byte(config)
		result := rewrite(src)
		require.Empty(t, result.Errors(diagnostic.Strict))
		requireKnownTree(t, format, fields, result.Config)
	}
}

// requireKnownTree checks that a configuration contains only keys that the provider reads, spelled as the provider
// spells them.
func requireKnownTree(t *testing.T, format confdoc.Format, fields []confdoc.Field, config []byte) {
	t.Helper()
	var list diagnostic.List
	before := confdoc.Reader{Format: format, Fields: fields}.Read(config, &list)
	require.Empty(t, list)
	require.NotEmpty(t, before.Root.Entries)
	requireSpelledAsKnown(t, fields, before.Root)
}

func requireSpelledAsKnown(t *testing.T, fields []confdoc.Field, n *confdoc.Node) {
	t.Helper()
	for _, e := range n.Entries {
		known := false
		for _, f := range fields {
			if f.Name != e.Name {
				continue
			}
			known = true
			if f.Is == confdoc.Object {
				requireSpelledAsKnown(t, f.Fields, e.Value)
			}
		}
		require.True(t, known, e.Name)
	}
}

// RequireText compares the text with a file. If UPDATE_GOLDEN is set it writes the file and still fails the test.
func RequireText(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
