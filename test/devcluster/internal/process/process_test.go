package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/process"
)

// childEnv makes this test binary act as the parent that starts a child process and waits to be killed.
const childEnv = "PROCESS_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		p, err := process.Start(process.Spec{Name: "child", Path: "/bin/sleep", Args: []string{"300"}, LogDir: dir})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
		<-p.Done()
		return
	}
	os.Exit(m.Run())
}

func TestStopEndsTheProcessAndIsIdempotent(t *testing.T) {
	p, err := process.Start(process.Spec{Name: "sleeper", Path: "/bin/sleep", Args: []string{"300"},
		LogDir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, p.Stop(t.Context()))
	require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH)
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Kill())
}

func TestWaitReadyQuotesTheLogOfAProcessThatEnded(t *testing.T) {
	dir := t.TempDir()
	p, err := process.Start(process.Spec{Name: "failing", Path: "/bin/ls", Args: []string{"/does-not-exist"},
		LogDir: dir})
	require.NoError(t, err)
	err = p.WaitReady(t.Context(), func(context.Context) error { return errors.New("no answer") })
	require.ErrorContains(t, err, "failing ended before it was ready: exit status 2\nlog: "+filepath.Join(dir,
		"failing.log")+", its last lines:\n  ")
	require.ErrorContains(t, err, "No such file or directory")
}

func TestAnUnexpectedExitIsReported(t *testing.T) {
	dir := t.TempDir()
	messages := make(chan string, 2)
	spec := process.Spec{Name: "etcd", Path: "/bin/sleep", Args: []string{"300"}, LogDir: dir,
		Died: func(message string) { messages <- message }}
	stopped, err := process.Start(spec)
	require.NoError(t, err)
	require.NoError(t, stopped.Stop(t.Context()))
	killed, err := process.Start(spec)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(killed.PID(), syscall.SIGKILL))
	<-killed.Done()
	require.Equal(t, "etcd has ended: signal: killed; log: "+filepath.Join(dir, "etcd.log"), <-messages)
	require.Empty(t, messages)
}

func TestStartNamesWhatCannotBeStarted(t *testing.T) {
	_, err := process.Start(process.Spec{Name: "etcd", Path: "/does-not-exist", LogDir: t.TempDir()})
	require.EqualError(t, err, "start etcd: fork/exec /does-not-exist: no such file or directory")
}

func TestAProcessDiesWithItsParent(t *testing.T) {
	executable, err := os.Executable()
	require.NoError(t, err)
	parent := exec.Command(executable)
	parent.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var child int
	_, err = fmt.Fscan(out, &child)
	require.NoError(t, err)
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, 10*time.Millisecond)
}

func TestEndRecordedKillsOnlyTheProcessThatWasRecorded(t *testing.T) {
	dir := t.TempDir()
	record := &process.Record{Path: filepath.Join(dir, "processes")}
	left, err := process.Start(process.Spec{Name: "left", Path: "/bin/sleep", Args: []string{"300"}, LogDir: dir,
		Record: record})
	require.NoError(t, err)
	other, err := process.Start(process.Spec{Name: "other", Path: "/bin/sleep", Args: []string{"300"}, LogDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Kill()) })

	content, err := os.ReadFile(record.Path)
	require.NoError(t, err)
	recycled := fmt.Sprintf("%d 1\n", other.PID())
	require.NoError(t, os.WriteFile(record.Path, append(content, recycled+"77"...), 0o600))

	killed, err := record.EndRecorded()
	require.NoError(t, err)
	require.Equal(t, []int{left.PID()}, killed)
	<-left.Done()
	require.NoError(t, syscall.Kill(other.PID(), 0))
	require.NoFileExists(t, record.Path)

	killed, err = record.EndRecorded()
	require.NoError(t, err)
	require.Empty(t, killed)
}
