package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachineIsRestoredByTheLastNetwork(t *testing.T) {
	folder := t.TempDir()
	record := filepath.Join(folder, "record.json")
	folders := []string{folder + "/a/b", folder + "/a/c", folder}

	first, err := acquireMachine(record, folders)
	require.NoError(t, err)
	second, err := acquireMachine(record, folders)
	require.NoError(t, err)
	require.Equal(t, first.Folders, second.Folders)
	require.Equal(t, first.Sysctls, second.Sysctls)
	require.Len(t, first.Sysctls, 6)

	require.NoError(t, first.release())
	require.DirExists(t, folder+"/a/b")
	require.DirExists(t, folder+"/a/c")
	require.NoError(t, second.release())
	require.NoDirExists(t, filepath.Join(folder, "a"))
	require.NoFileExists(t, record)
}

func TestMachineKeepsWhatACrashedRunRecorded(t *testing.T) {
	folder := t.TempDir()
	record := filepath.Join(folder, "record.json")
	crashed, kept := filepath.Join(folder, "crashed"), filepath.Join(folder, "kept")
	require.NoError(t, os.Mkdir(crashed, 0o755))
	require.NoError(t, os.WriteFile(record, []byte(`{"sysctls": {"kernel/panic": "7"}, "folders": ["`+crashed+`"]}`), 0o600))

	state, err := acquireMachine(record, []string{crashed, kept})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kernel/panic": "7"}, state.Sysctls)
	require.Equal(t, []string{crashed, kept}, state.Folders)

	state.Sysctls = nil // The machine's own setting is not the test's to change.
	require.NoError(t, os.WriteFile(filepath.Join(kept, "file"), nil, 0o600))
	require.NoError(t, state.release())
	require.NoDirExists(t, crashed)
	require.FileExists(t, filepath.Join(kept, "file"))
}

func TestMachineRecordThatIsDamaged(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, os.WriteFile(record, []byte("{"), 0o600))
	_, err := acquireMachine(record, nil)
	require.EqualError(t, err, record+": unexpected end of JSON input")
}
