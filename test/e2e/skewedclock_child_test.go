package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const clockChild = "E2E_CLOCK_CHILD"

// clock is a process that prints its time.
type clock struct {
	pid   int
	lines *bufio.Scanner
}

func startClock(t *testing.T) *clock {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), clockChild+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() }) // It ends by the signal.
	return &clock{pid: cmd.Process.Pid, lines: bufio.NewScanner(out)}
}

// behind returns how far the process's clock is behind.
func (c *clock) behind(t *testing.T) time.Duration {
	t.Helper()
	for c.lines.Scan() {
		text, found := strings.CutPrefix(c.lines.Text(), "now ")
		if !found {
			continue
		}
		milliseconds, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		return time.Since(time.UnixMilli(milliseconds))
	}
	require.Fail(t, "the process has ended", "%v", c.lines.Err())
	return 0
}

// await reads until the clock is behind by the offset; the first lines may be of before.
func (c *clock) await(t *testing.T, offset time.Duration) {
	t.Helper()
	const attempts = 1000
	var behind time.Duration
	for range attempts {
		if behind = c.behind(t); (behind - offset).Abs() < 10*time.Second {
			return
		}
	}
	require.Failf(t, "the clock is not as it should be", "it is %s behind instead of %s", behind, offset)
}
