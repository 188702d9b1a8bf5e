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
	got, err := json.MarshalIndent(append(Extension(Program).Tests, Extension(AWSProgram).Tests...), "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run hack/update-golden.sh if a test is new; a name never changes")
}

func TestTheProgramsShareNoTest(t *testing.T) {
	names := map[string]bool{}
	for _, program := range []string{Program, AWSProgram} {
		e := Extension(program)
		require.NotEmpty(t, e.Tests, program)
		require.NotEmpty(t, e.Suites, program)
		for _, test := range e.Tests {
			require.False(t, names[test.Name], test.Name)
			names[test.Name] = true
		}
	}
}
