package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// restartDelay is how long a service that ended by itself stays down, as RestartSec does in a systemd unit.
	restartDelay = time.Second
	// stopTimeout is how long a service may take to end before it is killed.
	stopTimeout = 5 * time.Second
)

// supervisor keeps services running. All its fields belong to the goroutine of run.
type supervisor struct {
	services map[string]service
	// running maps the process of each service that runs to the service's name.
	running map[int]string
	// due receives the name of a service that ended and whose delay is over.
	due chan string
	// overdue receives the process that was asked to end and had its time.
	overdue chan int
}

func newSupervisor(services map[string]service) *supervisor {
	return &supervisor{
		services: services,
		running:  map[int]string{},
		due:      make(chan string),
		overdue:  make(chan int),
	}
}

// run serves requests, one at a time, until the channel is closed.
func (s *supervisor) run(requests <-chan request, children <-chan os.Signal, answers *json.Encoder) error {
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if err := answers.Encode(newAnswer(s.restart(r.Restart, children))); err != nil {
				return fmt.Errorf("answering a request: %w", err)
			}
		case <-children:
			for _, name := range s.collect() {
				logf("%s ended by itself, starting it again", name)
				time.AfterFunc(restartDelay, func() { s.due <- name })
			}
		case name := <-s.due:
			if s.process(name) != 0 {
				continue
			}
			if err := s.start(name); err != nil {
				logf("%v", err)
			}
		}
	}
}

// restart stops the service when it runs, waits for its end and starts it.
func (s *supervisor) restart(name string, children <-chan os.Signal) error {
	if _, ok := s.services[name]; !ok {
		return fmt.Errorf("no service is called %q", name)
	}
	if pid := s.process(name); pid != 0 {
		if err := s.stop(pid, children); err != nil {
			return fmt.Errorf("stopping %s: %w", name, err)
		}
	}
	return s.start(name)
}

// stop ends one process and waits for it; other services that end meanwhile are started again as usual.
func (s *supervisor) stop(pid int, children <-chan os.Signal) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	timeout := time.AfterFunc(stopTimeout, func() { s.overdue <- pid })
	defer timeout.Stop()
	for s.running[pid] != "" {
		select {
		case <-children:
			stopping := s.running[pid]
			for _, name := range s.collect() {
				if name != stopping {
					time.AfterFunc(restartDelay, func() { s.due <- name })
				}
			}
		case <-s.overdue:
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *supervisor) process(name string) int {
	for pid, running := range s.running {
		if running == name {
			return pid
		}
	}
	return 0
}

func (s *supervisor) start(name string) error {
	log, err := os.OpenFile(s.services[name].Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	defer null.Close()
	command := s.services[name].Command
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %s: %w", name, command[0], err)
	}
	s.running[pid] = name
	return nil
}

// collect waits for every child that has ended, services and orphans, and returns the services among them.
func (s *supervisor) collect() []string {
	var ended []string
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return ended
		}
		if name := s.running[pid]; name != "" {
			delete(s.running, pid)
			ended = append(ended, name)
		}
	}
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
