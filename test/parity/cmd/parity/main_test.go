package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The facts name a commit, so they must be those of the commit.
func TestACheckoutWithChangesIsRejected(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, exec.Command("git", "init", dir).Run())
	file := filepath.Join(dir, "manifests", "a.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.EqualError(t, run(dir, "facts.yaml"), dir+" differs from its commit:\n?? manifests/")
	require.EqualError(t, run("", "facts.yaml"), "--checkout is required")
}
