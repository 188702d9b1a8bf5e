package integration_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheLinkerLeavesOutMethodsThatNobodyCalls fails when something brings back what looks methods up by name: then the
// linker keeps every method of every type. `go build -ldflags=-dumpdep` and ReflectMethod in its output tell who does it.
func TestTheLinkerLeavesOutMethodsThatNobodyCalls(t *testing.T) {
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	// The names of all functions are in the binary, stripped or not. The content itself is nothing to print.
	for function, why := range map[string]string{
		"text/template.(*state).evalField":  "it is built with the tag grpcnotrace; who else executes templates?",
		"github.com/google/go-cmp/cmp.Diff": "it compares values for tests and logs; nothing that runs needs it",
	} {
		require.Falsef(t, bytes.Contains(content, []byte(function)), "the binary has %s: %s", function, why)
	}
	require.Less(t, len(content), 62_000_000, "it was 58 MB, and 86 MB with every method")
}
