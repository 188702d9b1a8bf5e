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
	// children tells that a child ended; one signal may stand for several.
	children <-chan os.Signal
	// due receives the name of a service that ended by itself and whose delay is over.
	due chan string
}

func newSupervisor(services map[string]service, children <-chan os.Signal) *supervisor {
	return &supervisor{services: services, running: map[int]string{}, children: children, due: make(chan string)}
}

// run serves requests, one at a time, until the channel is closed.
func (s *supervisor) run(requests <-chan request, answers *json.Encoder) error {
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return nil
			}
			if err := answers.Encode(newAnswer(s.restart(r.Restart))); err != nil {
				return fmt.Errorf("answering a request: %w", err)
			}
		case <-s.children:
			s.collect(0)
		case name := <-s.due:
			if s.process(name) != 0 {
				continue
			}
			if err := s.start(name); err != nil {
				logf("%v", err)
				s.startLater(name)
			}
		}
	}
}

// restart stops the service when it runs, waits for its end and starts it.
func (s *supervisor) restart(name string) error {
	if _, ok := s.services[name]; !ok {
		return fmt.Errorf("no service is called %q", name)
	}
	if pid := s.process(name); pid != 0 {
		if err := s.stop(pid); err != nil {
			return fmt.Errorf("stopping %s: %w", name, err)
		}
	}
	return s.start(name)
}

// stop ends the process of a service and waits for its end.
func (s *supervisor) stop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	for s.running[pid] != "" {
		select {
		case <-s.children:
			s.collect(pid)
		case <-timeout.C:
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
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, errors.Join(err, log.Close()))
	}
	command := s.services[name].Command
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
	})
	if closeErr := errors.Join(null.Close(), log.Close()); err == nil {
		s.running[pid] = name
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("starting %s: %s: %w", name, command[0], err)
	}
	return nil
}

// collect waits for every child that has ended, services and orphans. A service that ended without being asked to,
// that is, any other than the process stopped, starts again after a delay.
func (s *supervisor) collect(stopped int) {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		name := s.running[pid]
		delete(s.running, pid)
		if name != "" && pid != stopped {
			logf("%s ended unexpectedly, restarting it in %s", name, restartDelay)
			s.startLater(name)
		}
	}
}

func (s *supervisor) startLater(name string) {
	time.AfterFunc(restartDelay, func() { s.due <- name })
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
