package parity_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/parity"
)

const (
	root   = "../.."
	golden = root + "/docs/parity.md"
)

func TestTheDocumentComparesWhatBothHave(t *testing.T) {
	theirs, err := parity.ReadPredecessor("predecessor.yaml")
	require.NoError(t, err)
	ours, err := parity.Ours(root)
	require.NoError(t, err)
	reasons, err := parity.ReadReasons("reasons.yaml")
	require.NoError(t, err)
	document, err := parity.Document(theirs, ours, reasons)
	require.NoError(t, err, "explain each difference in test/parity/reasons.yaml")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, document, 0o600))
	}
	documented, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(documented), string(document), "read the difference, then run make update-golden")
}
