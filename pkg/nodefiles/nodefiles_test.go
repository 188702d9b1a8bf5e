package nodefiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errCrash = errors.New("the process was killed")

// crashing ends at an operation: that one is done in part or not at all, and none after it is done.
type crashing struct {
	disk
	left int
	// full makes the operation fail like one on a full disk; the process goes on.
	full bool
}

func (c *crashing) step(do, part func() error) error {
	c.left--
	switch {
	case c.left > 0:
		return do()
	case c.left == 0 && part != nil:
		if err := part(); err != nil {
			return err
		}
	}
	if !c.full {
		return errCrash
	}
	if c.left == 0 {
		return syscall.ENOSPC
	}
	return do()
}

func (c *crashing) makeDirectory(path string) error {
	return c.step(func() error { return c.disk.makeDirectory(path) }, nil)
}

func (c *crashing) write(file File) error {
	part := File{file.Path, file.Mode, file.Data[:len(file.Data)/2]}
	return c.step(func() error { return c.disk.write(file) }, func() error { return c.disk.write(part) })
}

func (c *crashing) flush(directory string) error {
	return c.step(func() error { return c.disk.flush(directory) }, nil)
}

func (c *crashing) rename(from, to string) error {
	return c.step(func() error { return c.disk.rename(from, to) }, nil)
}

func (c *crashing) exchange(one, other string) error {
	return c.step(func() error { return c.disk.exchange(one, other) }, nil)
}

func (c *crashing) removeAll(path string) error {
	return c.step(func() error { return c.disk.removeAll(path) }, nil)
}

func replace(directory string, files Files) error {
	_, err := ReplaceDirectory(directory, files)
	return err
}

// contents returns the content of every file below a directory.
func contents(t *testing.T, directory string) Files {
	t.Helper()
	found := Files{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		found[name] = data
		return err
	}))
	return found
}

var (
	former = Files{"secrets/token/token": []byte("former"), "configmaps/ca/ca.crt": []byte("the same")}
	wanted = Files{"secrets/token/token": []byte("wanted"), "configmaps/ca/ca.crt": []byte("the same"), "pod.yaml": []byte("kind: Pod\n")}
)

// At every operation, the process is killed or the disk is full. The directory is the former one or the wanted one, and
// the next attempt succeeds and leaves nothing else behind.
func TestADirectoryIsTheFormerOrTheWantedOneWheneverTheWriterEnds(t *testing.T) {
	for name, start := range map[string]Files{"a directory that exists": former, "a new directory": nil} {
		for _, full := range []bool{false, true} {
			last := 0
			for step := 1; ; step++ {
				on := &crashing{left: step, full: full}
				parent := t.TempDir()
				directory := filepath.Join(parent, "resources", "pod-7")
				if start != nil {
					require.NoError(t, replace(directory, start))
				}
				_, err := replaceDirectory(on, directory, wanted)
				if on.left > 0 {
					require.NoError(t, err)
					break
				}
				last = step
				what := fmt.Sprintf("%s, step %d, full disk %t: %v", name, step, full, err)
				require.Error(t, err, what)
				if found := readIfExists(t, directory); found != nil || start != nil {
					require.Contains(t, []Files{start, wanted}, found, what)
				}
				require.NoError(t, replace(directory, wanted), what)
				require.Equal(t, wanted, contents(t, directory), what)
				entries, err := os.ReadDir(filepath.Dir(directory))
				require.NoError(t, err)
				require.Len(t, entries, 1, what)
			}
			require.Greater(t, last, 10, "too few operations were tried")
		}
	}
}

func readIfExists(t *testing.T, directory string) Files {
	t.Helper()
	if _, err := os.Lstat(directory); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return contents(t, directory)
}

func TestAFileIsTheFormerOrTheWantedOneWheneverTheWriterEnds(t *testing.T) {
	for _, start := range []string{"former content", ""} {
		for _, full := range []bool{false, true} {
			last := 0
			for step := 1; ; step++ {
				on := &crashing{left: step, full: full}
				file := filepath.Join(t.TempDir(), "manifests", "pod.yaml")
				if start != "" {
					require.NoError(t, ReplaceFile(file, []byte(start)))
				}
				err := replaceFiles(on, File{file, fileMode, []byte("wanted content")})
				if on.left > 0 {
					require.NoError(t, err)
					break
				}
				last = step
				what := fmt.Sprintf("from %q, step %d, full disk %t: %v", start, step, full, err)
				require.Error(t, err, what)
				data, err := os.ReadFile(file)
				if start == "" && errors.Is(err, fs.ErrNotExist) {
					err, data = nil, []byte(start)
				}
				require.NoError(t, err, what)
				require.Contains(t, []string{start, "wanted content"}, string(data), what)
				require.NoError(t, ReplaceFile(file, []byte("wanted content")), what)
				require.Equal(t, Files{"pod.yaml": []byte("wanted content")}, contents(t, filepath.Dir(file)), what)
			}
			require.GreaterOrEqual(t, last, 4, "too few operations were tried")
		}
	}
}

// At every operation, the process is killed or the disk is full. A full disk changes no file. Each file is the former one
// or the wanted one, and the next attempt completes them and leaves nothing else behind.
func TestFilesOfSeveralDirectoriesAreReplacedTogether(t *testing.T) {
	start := Files{"tls/token": []byte("former"), "tls/same": []byte("the same"), "tls/other": []byte("of another writer")}
	want := Files{"tls/token": []byte("wanted"), "tls/same": []byte("the same"), "tls/other": []byte("of another writer"),
		"manifests/deep/pod.yaml": []byte("kind: Pod"), "tls/more": []byte("more")}
	for _, full := range []bool{false, true} {
		last := 0
		for step := 1; ; step++ {
			parent := t.TempDir()
			require.NoError(t, replace(parent, start))
			var files []File
			for _, path := range []string{"tls/token", "tls/same", "tls/more", "manifests/deep/pod.yaml"} {
				files = append(files, File{filepath.Join(parent, path), fileMode, want[path]})
			}
			on := &crashing{left: step, full: full}
			err := replaceFiles(on, files...)
			if on.left > 0 {
				require.NoError(t, err)
				break
			}
			last = step
			what := fmt.Sprintf("step %d, full disk %t: %v", step, full, err)
			require.Error(t, err, what)
			found := contents(t, parent)
			for path, data := range found {
				if StagedFor(path) == path {
					require.Contains(t, [][]byte{start[path], want[path]}, data, what)
				}
			}
			if isReplacing := strings.HasPrefix(err.Error(), "replacing ") || strings.HasPrefix(err.Error(), "flushing "); full && !isReplacing {
				require.Equal(t, start, found, what)
			}
			require.NoError(t, ReplaceFiles(files...), what)
			require.Equal(t, want, contents(t, parent), what)
		}
		require.Greater(t, last, 15, "too few operations were tried")
	}
}

func TestAFileHasTheModeThatItsWriterGives(t *testing.T) {
	former := syscall.Umask(0o077)
	defer syscall.Umask(former)
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, mode := range []fs.FileMode{0o644, 0o600} {
		require.NoError(t, ReplaceFiles(File{file, mode, []byte("content")}))
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
}

func TestOnlyADirectoryThatDiffersIsReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(t *testing.T, directory string)
		replaced bool
	}{
		"nothing":      {change: func(*testing.T, string) {}},
		"a content":    {change: overwrite("secrets/token/token", "FORMER"), replaced: true},
		"another file": {change: overwrite("secrets/token/more", ""), replaced: true},
		"a missing file": {change: func(t *testing.T, directory string) {
			require.NoError(t, os.Remove(filepath.Join(directory, "secrets/token/token")))
		}, replaced: true},
		"a file that everyone can read": {change: func(t *testing.T, directory string) {
			require.NoError(t, os.Chmod(filepath.Join(directory, "secrets/token/token"), 0o644))
		}, replaced: true},
		"a file of another user": {change: func(t *testing.T, directory string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			require.NoError(t, os.Chown(filepath.Join(directory, "secrets/token/token"), 12345, -1))
		}, replaced: true},
		"a link to the same content": {change: func(t *testing.T, directory string) {
			token := filepath.Join(directory, "secrets/token/token")
			require.NoError(t, os.Rename(token, directory+".other"))
			require.NoError(t, os.Symlink(directory+".other", token))
		}, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "pod-7")
			require.NoError(t, replace(directory, former))
			tc.change(t, directory)
			before, err := os.Stat(directory)
			require.NoError(t, err)

			require.NoError(t, replace(directory, former))
			after, err := os.Stat(directory)
			require.NoError(t, err)
			require.Equal(t, former, contents(t, directory))
			require.Equal(t, tc.replaced, !os.SameFile(before, after))
			info, err := os.Lstat(filepath.Join(directory, "secrets/token/token"))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode())
		})
	}
}

func overwrite(name, data string) func(*testing.T, string) {
	return func(t *testing.T, directory string) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(data), 0o600))
	}
}

func TestAMountOfTheParentSeesTheNewFiles(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "token")
	require.NoError(t, replace(directory, Files{"token": []byte("former")}))
	parent, err := os.OpenRoot(filepath.Dir(directory))
	require.NoError(t, err)
	defer parent.Close()
	require.NoError(t, replace(directory, Files{"token": []byte("wanted")}))
	data, err := parent.ReadFile("token/token")
	require.NoError(t, err)
	require.Equal(t, "wanted", string(data))
}

func TestAnErrorNamesTheFileAndTheCause(t *testing.T) {
	parent := t.TempDir()
	occupied := filepath.Join(parent, "occupied")
	require.NoError(t, os.WriteFile(occupied, nil, 0o600))
	require.EqualError(t, replace(filepath.Join(occupied, "pod-7"), former),
		"removing "+occupied+"/.pod-7.new: unlinkat "+occupied+"/.pod-7.new: not a directory")
	require.EqualError(t, ReplaceFile(filepath.Join(occupied, "pod.yaml"), nil), "creating "+occupied+": mkdir "+occupied+": not a directory")

	on := &crashing{left: 7, full: true}
	_, err := replaceDirectory(on, filepath.Join(parent, "pod-7"), former)
	require.EqualError(t, err, "writing configmaps/ca/ca.crt: no space left on device")
}

func TestOnlyOneProcessHasTheLock(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "new")
	unlock, err := LockDirectory(t.Context(), directory)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = LockDirectory(ctx, directory)
	require.EqualError(t, err, "waiting for the lock "+directory+"/.lock: context deadline exceeded")

	second := make(chan error)
	go func() {
		_, err := LockDirectory(t.Context(), directory)
		second <- err
	}()
	unlock()
	require.NoError(t, <-second)
}

// A process that waits for the lock of a removed file must not get it beside one that locks the new file.
func TestTheLockFileMayBeRemovedByTheProcessThatHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resources", ".pod.lock")
	unlock, err := Lock(t.Context(), path)
	require.NoError(t, err)
	removed, err := os.Open(path)
	require.NoError(t, err)
	defer removed.Close()
	waiting := make(chan func())
	go func() {
		unlock, err := Lock(t.Context(), path)
		if err != nil {
			unlock = nil
		}
		waiting <- unlock
	}()
	require.NoError(t, Remove(path))
	unlock()
	unlock = <-waiting
	require.NotNil(t, unlock)

	before, err := removed.Stat()
	require.NoError(t, err)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = Lock(ctx, path)
	require.EqualError(t, err, "waiting for the lock "+path+": context deadline exceeded")
	unlock()
}

func TestWhatIsRemovedLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	directory, file := filepath.Join(parent, "pod-7"), filepath.Join(parent, "pod.yaml")
	require.NoError(t, replace(directory, former))
	require.NoError(t, replace(filepath.Join(parent, ".pod-7.new"), former))
	require.NoError(t, ReplaceFile(file, nil))
	require.NoError(t, ReplaceFile(filepath.Join(parent, ".pod.yaml.new"), nil))
	for range 2 {
		require.NoError(t, Remove(directory))
		require.NoError(t, Remove(file))
	}
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoError(t, Remove(filepath.Join(parent, "missing", "pod-7")))

	occupied := filepath.Join(parent, "occupied")
	require.NoError(t, os.WriteFile(occupied, nil, 0o600))
	require.EqualError(t, Remove(filepath.Join(occupied, "pod-7")), "removing "+occupied+"/pod-7: unlinkat "+occupied+"/pod-7: not a directory")
}

func TestTheLeftoversOfAWriterNameTheirPath(t *testing.T) {
	for path, want := range map[string]string{
		"/a/pod-7": "/a/pod-7", "/a/.pod-7.new": "/a/pod-7", "/a/.pod.lock": "/a/.pod.lock", "/a/pod-7.new": "/a/pod-7.new",
	} {
		require.Equal(t, want, StagedFor(path))
	}
}

func TestADigestTellsWhatDiffers(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "pod-7")
	for name, tc := range map[string]struct {
		damage func(t *testing.T, directory string)
		same   bool
	}{
		"nothing":           {func(*testing.T, string) {}, true},
		"another content":   {overwrite("secrets/token/token", "damaged"), false},
		"another file":      {overwrite("secrets/token/more", "damaged"), false},
		"a file is missing": {func(t *testing.T, d string) { require.NoError(t, os.Remove(filepath.Join(d, "pod.yaml"))) }, false},
		"another mode":      {func(t *testing.T, d string) { require.NoError(t, os.Chmod(filepath.Join(d, "pod.yaml"), 0o644)) }, false},
		"a link":            {func(t *testing.T, d string) { require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(d, "link"))) }, false},
		"it does not exist": {func(t *testing.T, d string) { require.NoError(t, os.RemoveAll(d)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(directory))
			require.NoError(t, replace(directory, wanted))
			tc.damage(t, directory)
			digest, err := DigestOf(directory)
			require.NoError(t, err)
			require.Equal(t, tc.same, Digest(wanted) == digest)
			require.Equal(t, name == "it does not exist", digest == "")
		})
	}
	file := filepath.Join(t.TempDir(), "pod.yaml")
	require.NoError(t, ReplaceFile(file, wanted["pod.yaml"]))
	digest, err := DigestOf(file)
	require.NoError(t, err)
	require.Equal(t, Digest(Files{"pod.yaml": wanted["pod.yaml"]}), digest)
}
