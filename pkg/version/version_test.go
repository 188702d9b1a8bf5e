package version

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGetReportsTheStampAndTheToolchain(t *testing.T) {
	got := Get()
	require.Equal(t, "unknown", got.GitVersion, "a test binary carries no stamp")
	require.Equal(t, "unknown", got.GitCommit)
	require.Equal(t, runtime.Version(), got.GoVersion)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, got.Platform)
}
