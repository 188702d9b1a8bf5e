package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeMachine has its kernel settings and directories in a directory of the test.
func fakeMachine(t *testing.T) machine {
	t.Helper()
	root := t.TempDir()
	for _, name := range changedSysctls {
		path := root + "/sys/" + name
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o600))
	}
	return machine{
		record:  root + "/record.json",
		sysctls: root + "/sys/",
		folders: []string{root + "/a/b", root + "/a/c", root},
	}
}

func requireSysctl(t *testing.T, m machine, name, want string) {
	t.Helper()
	content, err := os.ReadFile(m.sysctls + name)
	require.NoError(t, err)
	require.Equal(t, want, string(content))
}

func TestMachineIsRestoredByTheLastNetwork(t *testing.T) {
	m := fakeMachine(t)
	first, err := m.acquire()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(m.sysctls+"kernel/panic", []byte("10"), 0o600))
	second, err := m.acquire()
	require.NoError(t, err)
	require.DirExists(t, m.folders[0])
	require.DirExists(t, m.folders[1])

	require.NoError(t, first.release())
	require.DirExists(t, m.folders[0])
	require.DirExists(t, m.folders[1])
	requireSysctl(t, m, "kernel/panic", "10")
	requireSysctl(t, m, "fs/inotify/max_user_instances", "1024")

	require.NoError(t, second.release())
	require.NoDirExists(t, filepath.Dir(m.folders[0]))
	require.NoFileExists(t, m.record)
	requireSysctl(t, m, "kernel/panic", "1")
	requireSysctl(t, m, "fs/inotify/max_user_instances", "1")
}

func TestAMachineWithEnoughInotifyInstancesIsLeftAlone(t *testing.T) {
	m := fakeMachine(t)
	require.NoError(t, os.WriteFile(m.sysctls+"fs/inotify/max_user_instances", []byte("8192\n"), 0o600))
	state, err := m.acquire()
	require.NoError(t, err)
	requireSysctl(t, m, "fs/inotify/max_user_instances", "8192\n")
	require.NoError(t, state.release())
}

func TestMachineIsRestoredAfterACrash(t *testing.T) {
	m := fakeMachine(t)
	require.NoError(t, os.MkdirAll(m.folders[0], 0o755))
	record := `{"sysctls": {"kernel/panic": "7"}, "folders": ["` + m.folders[0] + `"]}`
	require.NoError(t, os.WriteFile(m.record, []byte(record), 0o600))
	state, err := m.acquire()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(m.folders[1]+"/file", nil, 0o600))

	require.NoError(t, state.release())
	requireSysctl(t, m, "kernel/panic", "7")
	requireSysctl(t, m, "kernel/panic_on_oops", "1\n")
	require.NoDirExists(t, m.folders[0])
	require.FileExists(t, m.folders[1]+"/file")
}

func TestMachineRecordThatIsDamaged(t *testing.T) {
	m := fakeMachine(t)
	require.NoError(t, os.WriteFile(m.record, []byte("{"), 0o600))
	_, err := m.acquire()
	require.EqualError(t, err, m.record+": unexpected end of JSON input")
}
