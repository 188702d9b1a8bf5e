package memory_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/memory"
)

func TestOfTreeCountsDescendants(t *testing.T) {
	alone, err := memory.OfTree(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, 1, alone.Processes)
	require.Positive(t, alone.Bytes)

	child := exec.Command("/bin/sleep", "300")
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	})
	both, err := memory.OfTree(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, 2, both.Processes)
}

func TestUsageIsReadable(t *testing.T) {
	require.Equal(t, "3 MiB in 2 processes", memory.Usage{Bytes: 3 << 20, Processes: 2}.String())
}
