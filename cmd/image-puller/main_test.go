package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// build builds the program as the Makefile does.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "image-puller")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

func TestTheCopyIsTheProgramAndRunsWithoutArguments(t *testing.T) {
	program := build(t)
	path := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<23), 0o600), "what an earlier run left")
	defer syscall.Umask(syscall.Umask(0o077)) // the copy is executable nevertheless
	output, err := exec.CommandContext(t.Context(), program, path).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Empty(t, string(output))

	want, err := os.ReadFile(program)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%d bytes instead of %d", len(got), len(want))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())

	output, err = exec.CommandContext(t.Context(), path).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Empty(t, string(output))
}

// Its mode would change. The target is no device, because a program without this check would change that one's mode.
func TestAnOutputThatIsALinkIsRejected(t *testing.T) {
	dir := t.TempDir()
	foreign, link := filepath.Join(dir, "foreign"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(foreign, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink("foreign", link))
	require.EqualError(t, run([]string{link}), link+" is not a regular file")
	data, err := os.ReadFile(foreign)
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}

// It has to run in images that have no C library.
func TestTheProgramIsSmallAndNeedsNothingOfItsImage(t *testing.T) {
	program := build(t)
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(2<<20))
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	for _, header := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, header.Type, "it needs a dynamic loader")
	}
}

func TestAWrongCallIsReported(t *testing.T) {
	require.NoError(t, run(nil))
	require.EqualError(t, run([]string{"a", "b"}),
		`expected at most one argument, the path of the copy; got ["a" "b"]`)
	path := filepath.Join(t.TempDir(), "missing", "copy")
	require.EqualError(t, run([]string{path}), "open "+path+": no such file or directory")
}
