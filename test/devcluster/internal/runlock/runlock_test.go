package runlock_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/runlock"
)

func TestTakeNamesTheHolderUntilItReleases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "lock")
	first, err := runlock.Take(path)
	require.NoError(t, err)

	_, err = runlock.Take(path)
	var held *runlock.HeldError
	require.ErrorAs(t, err, &held)
	require.Contains(t, err.Error(), fmt.Sprintf("%s is held by process %d (runlock.test) since ", path, os.Getpid()))

	first.Release()
	second, err := runlock.Take(path)
	require.NoError(t, err)
	second.Release()
}

func TestWaitSaysWhomItWaitsForAndEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := runlock.Take(path)
	require.NoError(t, err)
	defer lock.Release()

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var progress bytes.Buffer
	_, err = runlock.Wait(ctx, path, &progress)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, bytes.Count(progress.Bytes(), []byte("waiting: "+path+" is held by process ")))
}
