// Package process runs the servers of the development cluster as child processes that die with their parent, write to a
// log file each, and are recorded on disk so that a later run can end what a crashed one left.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end after SIGTERM before it is killed.
const stopGrace = 5 * time.Second

// tailLines is how many log lines an error about a failed process quotes.
const tailLines = 15

// Spec describes a process.
type Spec struct {
	// Name is the process's name in messages and of its log file.
	Name string
	// Path is the absolute path of the executable.
	Path string
	// Args are the arguments without the program's name.
	Args []string
	// LogDir is the directory that receives <Name>.log, appended to on a restart.
	LogDir string
	// Record is the file with the process for EndRecorded; see Record.
	Record *Record
	// Died is called with a message when the process ends without a call of Stop or Kill. It may be nil.
	Died func(message string)
}

// Process is a running or ended child process. Its owner calls Stop.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	// wanted reports whether Stop or Kill was called.
	wanted atomic.Bool
}

// Start starts the process. It gets SIGKILL when this process dies, however that happens.
func Start(spec Spec) (*Process, error) {
	if err := os.MkdirAll(spec.LogDir, 0o755); err != nil {
		return nil, fmt.Errorf("log directory of %s: %w", spec.Name, err)
	}
	p := &Process{spec: spec, done: make(chan struct{})}
	log, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file of %s: %w", spec.Name, err)
	}
	p.cmd = exec.Command(spec.Path, spec.Args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A separate process group keeps Ctrl-C on the terminal from ending the servers in the wrong order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error, 1)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if spec.Record != nil {
		if err := spec.Record.Add(p.PID()); err != nil {
			return nil, errors.Join(err, p.Stop(context.Background()))
		}
	}
	return p, nil
}

// run starts the process and waits for it on one locked thread: the kernel sends the parent-death signal when the
// thread that forked ends, not when the process does.
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	defer func() { _ = log.Close() }()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	if p.spec.Died != nil && !p.wanted.Load() {
		p.spec.Died(fmt.Sprintf("%s has ended: %v; log: %s", p.spec.Name, p.exit(), p.LogPath()))
	}
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name returns the process's name.
func (p *Process) Name() string { return p.spec.Name }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// LogPath returns the path of the log file.
func (p *Process) LogPath() string { return filepath.Join(p.spec.LogDir, p.spec.Name+".log") }

// Stop ends the process with SIGTERM, after a grace time or when ctx ends with SIGKILL. It is idempotent and does not
// report how the process ended.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	p.wanted.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s (process %d): %w", p.spec.Name, p.PID(), err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return p.Kill()
	}
	return nil
}

// Kill ends the process with SIGKILL and waits for its end. It is idempotent.
func (p *Process) Kill() error {
	p.wanted.Store(true)
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s (process %d): %w", p.spec.Name, p.PID(), err)
	}
	<-p.done
	return nil
}

// WaitReady polls ready until it returns nil. It fails when the process ends or ctx does, with the last answer, the
// log's path and its last lines.
func (p *Process) WaitReady(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-p.done:
			return p.failure(fmt.Errorf("%s ended before it was ready: %w", p.spec.Name, p.exit()))
		case <-ctx.Done():
			return p.failure(fmt.Errorf("%s is not ready: %w: %w", p.spec.Name, ctx.Err(), err))
		}
	}
}

func (p *Process) exit() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

func (p *Process) failure(err error) error {
	return fmt.Errorf("%w\nlog: %s, its last lines:\n%s", err, p.LogPath(), Tail(p.LogPath(), tailLines))
}

// Tail returns the last n lines of a file, indented; of an unreadable file the reason.
func Tail(path string, n int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	return "  " + strings.Join(lines, "\n  ")
}
