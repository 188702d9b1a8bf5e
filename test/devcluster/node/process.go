package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// agentSettings, agentService, agentRequest and agentAnswer mirror the types of the same meaning in agent/init.go.
type agentSettings struct {
	Hostname   string                  `json:"hostname"`
	Root       string                  `json:"root"`
	Folders    []string                `json:"folders"`
	Files      []string                `json:"files"`
	IPCommands []string                `json:"ipCommands"`
	Services   map[string]agentService `json:"services"`
}

type agentService struct {
	Command []string `json:"command"`
	Log     string   `json:"log"`
}

type agentRequest struct {
	Restart string `json:"restart"`
}

type agentAnswer struct {
	Error string `json:"error"`
}

// agentProcess is the first process of a running node.
type agentProcess struct {
	cmd      *exec.Cmd
	requests io.WriteCloser
	// answers is closed when the process ends.
	answers chan agentAnswer
	// ended is closed when the process and all others in its PID namespace are gone.
	ended chan struct{}
}

// startAgent starts the process in its own namespaces. It reads its settings from a pipe and ends when the pipe is
// closed, including by the end of this process. It has its own session, so that Ctrl-C in a terminal reaches only
// this process and nodes stop in order.
func startAgent(path, logPath string) (*agentProcess, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	// Without a context, because the node outlives the call that starts it; kill ends the process.
	cmd := exec.Command(path, "init")
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC |
			syscall.CLONE_NEWPID,
	}
	requests, inErr := cmd.StdinPipe()
	answers, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	p := &agentProcess{
		cmd: cmd, requests: requests, answers: make(chan agentAnswer, 1), ended: make(chan struct{}),
	}
	go p.wait(bufio.NewReader(answers))
	return p, nil
}

// wait passes answers on until the process ends, then waits until its namespace is empty.
func (p *agentProcess) wait(answers io.Reader) {
	decoder := json.NewDecoder(answers)
	for {
		var answer agentAnswer
		if err := decoder.Decode(&answer); err != nil {
			break
		}
		p.answers <- answer
	}
	close(p.answers)
	// The exit status is meaningless: the process always ends by a signal.
	_ = p.cmd.Wait()
	close(p.ended)
}

func (p *agentProcess) pid() int { return p.cmd.Process.Pid }

// ask sends one message and waits for its answer. Calls must not overlap.
func (p *agentProcess) ask(ctx context.Context, message any) error {
	if err := json.NewEncoder(p.requests).Encode(message); err != nil {
		return fmt.Errorf("asking the node's first process: %w", err)
	}
	select {
	case answer, ok := <-p.answers:
		if !ok {
			return errors.New("the node's first process has ended")
		}
		if answer.Error != "" {
			return errors.New(answer.Error)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the node's first process: %w", ctx.Err())
	}
}

// kill ends the process, and with it every process of the node, and waits until they are gone.
func (p *agentProcess) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", p.pid(), err)
	}
	<-p.ended
	return nil
}
