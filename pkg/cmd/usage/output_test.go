package usage

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
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

func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	text := func(out io.Writer, _ bool) error {
		_, err := io.WriteString(out, "a")
		return err
	}
	for _, format := range []Format{Text, JSON} {
		require.EqualError(t, Write(broken{}, format, "a", text), "the output cannot be written: no space left on device")
	}
	require.EqualError(t, Write(broken{}, JSON, make(chan int), text),
		"writing the report as JSON: json: unsupported type: chan int")
}

// broken fails every write.
type broken struct{}

func (broken) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space left on device")}
}

func TestCounted(t *testing.T) {
	require.Equal(t, []string{"0 errors", "1 error", "2 errors"}, []string{Counted(0, "error"), Counted(1, "error"), Counted(2, "error")})
}

func TestAFlagWithAChoiceTakesNothingElse(t *testing.T) {
	var cmd cobra.Command
	var format Format
	AddFormat(&cmd, &format)
	require.Equal(t, Text, format)
	require.NoError(t, cmd.ParseFlags([]string{"-o=json"}))
	require.Equal(t, JSON, format)
	require.EqualError(t, FlagError(cmd.ParseFlags([]string{"--output=xml"})), `--output is "xml": specify text or json`)
	complete, found := cmd.GetFlagCompletionFunc("output")
	require.True(t, found)
	values, _ := complete(&cmd, nil, "")
	require.Equal(t, []cobra.Completion{"text", "json"}, values)
}
