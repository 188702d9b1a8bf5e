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
)

// faulty is a disk that fails.
type faulty struct {
	// after is the number of operations that succeed.
	after int
	// full makes all later operations that need space fail; otherwise one operation of any kind fails, once.
	full bool
	// met reports whether the failure occurred.
	met bool
}

func (f *faulty) fail(op, path string, needsSpace bool) error {
	if f.full && !needsSpace || !f.full && f.met {
		return nil
	}
	f.after--
	if f.after >= 0 {
		return nil
	}
	f.met = true
	if f.full {
		return &fs.PathError{Op: op, Path: path, Err: syscall.ENOSPC}
	}
	return &fs.PathError{Op: op, Path: path, Err: syscall.EIO}
}

func (f *faulty) disk() disk {
	sound := osDisk()
	return disk{
		mkdir: func(path string, mode os.FileMode) error {
			if err := f.fail("mkdir", path, true); err != nil {
				return err
			}
			return sound.mkdir(path, mode)
		},
		write: func(path string, data []byte, mode os.FileMode) error {
			if err := f.fail("write", path, true); err != nil {
				// Half of the data fits.
				return firstError(sound.write(path, data[:len(data)/2], mode), err)
			}
			return sound.write(path, data, mode)
		},
		link: func(from, to string) error {
			if err := f.fail("link", from, true); err != nil {
				return err
			}
			return sound.link(from, to)
		},
		rename: func(from, to string) error {
			if err := f.fail("rename", from, false); err != nil {
				return err
			}
			return sound.rename(from, to)
		},
		remove: func(path string) error {
			if err := f.fail("remove", path, false); err != nil {
				return err
			}
			return sound.remove(path)
		},
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// earlier prepares a directory in which a run must create, replace, keep and remove files.
func earlier(t *testing.T) (outputs []output, stale []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	for path, data := range map[string]string{
		"tls/changed": "old", "tls/equal": "equal", "tls/foreign": "foreign", "pods/stale": "stale",
		"tls/" + newPrefix + "killed": "half",
	} {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
	require.NoError(t, os.Symlink("foreign", filepath.Join(dir, "tls/link")))
	for _, name := range []string{"tls/changed", "tls/equal", "tls/more", "tls/missing", "config/deep/missing"} {
		outputs = append(outputs, output{filepath.Join(dir, name), secretMode, []byte(filepath.Base(name))})
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
	require.NoError(t, write(osDisk(), outputs, stale))
	require.Equal(t, after, tree(t, dir))
	requireNothingHidden(t, dir)
}

func TestWriteIsAllOrNothingWhereverItFails(t *testing.T) {
	for name, full := range map[string]bool{"on a disk that is full": true, "when one operation fails": false} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				outputs, stale, dir := earlier(t)
				fault := &faulty{after: n, full: full}
				err := write(fault.disk(), outputs, stale)
				if !fault.met {
					require.NoError(t, err)
					require.Greater(t, n, 5, "every operation has failed once")
					return
				}
				switch {
				case err == nil:
					// Only an empty directory may remain.
					require.False(t, full)
					require.DirExists(t, filepath.Join(dir, "pods"))
				case strings.HasPrefix(err.Error(), "all outputs are written, but "):
					require.False(t, full)
					require.Equal(t, "changed", tree(t, dir)["tls/changed"])
				default:
					require.Equal(t, before, tree(t, dir), "operation %d: %v", n, err)
					require.NotContains(t, err.Error(), "\n")
				}
				require.NoError(t, write(osDisk(), outputs, stale), "the next run on a sound disk")
			}
		})
	}
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
			all := append(slices.Clone(outputs), output{path, secretMode, []byte("x")})
			require.EqualError(t, write(osDisk(), all, stale), path+" cannot be written: "+want)
			now, err := os.Lstat(path)
			require.NoError(t, err)
			require.True(t, os.SameFile(known, now))
			require.FileExists(t, filepath.Join(dir, "pods/stale"))
		})
	}
}

func TestAFullDiskIsNamed(t *testing.T) {
	outputs, stale, dir := earlier(t)
	fault := &faulty{after: 1, full: true}
	require.EqualError(t, write(fault.disk(), outputs, stale), "writing "+dir+"/tls/more: no space left on device")
	requireNothingHidden(t, dir)
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
