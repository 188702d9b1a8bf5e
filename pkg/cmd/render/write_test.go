package render

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
)

// earlier prepares a directory in which a run must create, replace, keep and remove files.
func earlier(t *testing.T) (outputs []output, stale []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	for path, data := range map[string]string{
		"tls/changed": "old", "tls/equal": "equal", "tls/foreign": "foreign", "pods/stale": "stale",
		"tls/.missing.new": "half", "pods/.stale.new": "half",
	} {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	require.NoError(t, os.Symlink("foreign", filepath.Join(dir, "tls/link")))
	for _, name := range []string{"tls/changed", "tls/equal", "tls/more", "tls/missing", "config/deep/missing"} {
		outputs = append(outputs, output{Path: filepath.Join(dir, name), Mode: secretMode, Data: []byte(filepath.Base(name))})
	}
	return outputs, []string{filepath.Join(dir, "pods/stale")}, dir
}

// tree returns every directory and file except for the hidden ones.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if strings.HasPrefix(entry.Name(), ".") {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		switch entry.Type() {
		case 0:
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			found[name] = string(data)
		case fs.ModeSymlink:
			found[name], err = os.Readlink(path)
			require.NoError(t, err)
		default:
			found[name] = "directory"
		}
		return nil
	}))
	return found
}

var (
	before = map[string]string{
		".": "directory", "pods": "directory", "pods/stale": "stale",
		"tls": "directory", "tls/changed": "old", "tls/equal": "equal", "tls/foreign": "foreign", "tls/link": "foreign",
	}
	after = map[string]string{
		".":                   "directory",
		"config":              "directory",
		"config/deep":         "directory",
		"config/deep/missing": "missing",
		"tls":                 "directory",
		"tls/changed":         "changed",
		"tls/equal":           "equal",
		"tls/foreign":         "foreign",
		"tls/link":            "foreign",
		"tls/missing":         "missing",
		"tls/more":            "more",
	}
)

func TestWriteMakesReplacesKeepsAndRemoves(t *testing.T) {
	outputs, stale, dir := earlier(t)
	require.NoError(t, write(outputs, stale))
	require.Equal(t, after, tree(t, dir))
	requireNothingHidden(t, dir)
}

// A rename over a device, or over a link such as /dev/stdout, would break the machine. The test names no path
// outside its directory, because a writer without this check would replace it.
func TestAnOutputThatIsNoRegularFileIsRejected(t *testing.T) {
	outputs, stale, dir := earlier(t)
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "tls/null")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "tls/pipe"), 0o600))
	for name, want := range map[string]string{
		"tls/null": "it is a symbolic link to /dev/null; give a regular file",
		"tls/link": "it is a symbolic link to foreign; give a regular file",
		"tls/pipe": "it is a named pipe; give a regular file",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			known, err := os.Lstat(path)
			require.NoError(t, err)
			all := append(slices.Clone(outputs), output{Path: path, Mode: secretMode, Data: []byte("x")})
			require.EqualError(t, write(all, stale), path+" cannot be written: "+want)
			now, err := os.Lstat(path)
			require.NoError(t, err)
			require.True(t, os.SameFile(known, now))
			require.FileExists(t, filepath.Join(dir, "pods/stale"))
		})
	}
}

func TestAnOutputThatCannotBeWrittenChangesNothing(t *testing.T) {
	outputs, stale, dir := earlier(t)
	outputs = append(outputs, output{Path: filepath.Join(dir, "tls", strings.Repeat("x", 252)), Mode: secretMode})
	require.EqualError(t, write(outputs, stale),
		"removing "+nodefiles.StagingName(outputs[len(outputs)-1].Path)+": unlinkat "+
			nodefiles.StagingName(outputs[len(outputs)-1].Path)+": file name too long")
	found := tree(t, dir)
	delete(found, "config")
	delete(found, "config/deep")
	require.Equal(t, before, found)
	for _, o := range outputs[:len(outputs)-1] {
		require.NoFileExists(t, nodefiles.StagingName(o.Path))
	}
}

// requireNothingHidden checks that no secret remains in a hidden file.
func requireNothingHidden(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(entry.Name(), "."), path)
		return nil
	}))
}
