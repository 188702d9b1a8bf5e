package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// openshift-tests knows a test by its name in all releases, so a name that vanishes loses its history.
func TestTheTestsKeepTheirNames(t *testing.T) {
	golden := filepath.Join("testdata", "tests.golden.json")
	got, err := json.MarshalIndent(Extension().Tests, "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run hack/update-golden.sh if a test is new; a name never changes")
}
