package integration_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheLinkerOmitsUnusedMethods fails if a dependency looks up methods by name: the linker then keeps every method
// of every type. ReflectMethod in the output of `go build -ldflags=-dumpdep` shows the cause.
func TestTheLinkerOmitsUnusedMethods(t *testing.T) {
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	// The binary contains the names of all functions, stripped or not. The assertion does not print its content.
	for function, why := range map[string]string{
		"text/template.(*state).evalField":  "it is built with the tag grpcnotrace; who else executes templates?",
		"github.com/google/go-cmp/cmp.Diff": "it compares values for tests and logs; nothing that runs needs it",
	} {
		require.Falsef(t, bytes.Contains(content, []byte(function)), "the binary has %s: %s", function, why)
	}
	require.Less(t, len(content), 61<<20, "it was 60.1 MiB, and 82 MiB with every method")
}
