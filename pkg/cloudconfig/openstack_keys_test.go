package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The file is what test/conformance compares with the types of the real provider, which this module cannot import.
func TestOpenStackSchemaGolden(t *testing.T) {
	kinds := map[iniType]string{
		textValue: "text", wordValue: "word", boolValue: "bool", intValue: "int", uintValue: "uint",
		durationValue: "duration", listValue: "list", refusedValue: "refused",
	}
	var b strings.Builder
	for _, section := range openStackSchema {
		if section.legacy != "" {
			fmt.Fprintf(&b, "[%s] legacy\n", section.name)
		}
		for _, key := range section.keys {
			kind := kinds[key.kind]
			if key.legacy != "" {
				kind = "legacy"
			}
			fmt.Fprintf(&b, "[%s] %s: %s\n", section.name, key.name, kind)
		}
	}
	file := filepath.Join("testdata", "openstack-keys.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
		t.Errorf("%s was written: read it, then run the test without UPDATE_GOLDEN", file)
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
