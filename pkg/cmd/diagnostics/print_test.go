package diagnostics

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

func TestOnlyATerminalHasColors(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer terminal.Close()
	require.True(t, UseColor(terminal))
	require.False(t, UseColor(&bytes.Buffer{}))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, UseColor(null))
	t.Setenv("TERM", "dumb")
	require.False(t, UseColor(terminal))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	require.False(t, UseColor(terminal))
}

func TestPrint(t *testing.T) {
	both := []diagnostic.Diagnostic{
		{File: "a.yaml", Line: 1, Column: 2, Severity: diagnostic.Error, Message: "one"},
		{File: "b.yaml", Line: 3, Column: 4, Severity: diagnostic.Warning, Message: "two"},
	}
	for color, want := range map[bool]string{
		false: "a.yaml:1:2: error: one\nb.yaml:3:4: warning: two\n",
		true:  "\x1b[1ma.yaml:1:2:\x1b[0m \x1b[1;31merror:\x1b[0m one\n\x1b[1mb.yaml:3:4:\x1b[0m \x1b[1;33mwarning:\x1b[0m two\n",
	} {
		var out bytes.Buffer
		require.NoError(t, Print(&out, both, color))
		require.Equal(t, want, out.String())
	}
	require.EqualError(t, Print(broken{}, both, false), "the output cannot be written: no space left on device")
}

// broken fails every write.
type broken struct{}

func (broken) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space left on device")}
}

func TestCounted(t *testing.T) {
	require.Equal(t, []string{"0 errors", "1 error", "2 errors"}, []string{Counted(0, "error"), Counted(1, "error"), Counted(2, "error")})
}

func TestInputs(t *testing.T) {
	require.Equal(t, "infra.yaml", Inputs(offline.Request{Infrastructure: "infra.yaml"}))
	require.Equal(t, "a.yaml and b and c", Inputs(offline.Request{Infrastructure: "infra.yaml", CloudConfig: "a.yaml", Manifests: []string{"b", "c"}}))
}
