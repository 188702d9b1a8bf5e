package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// settings is the first line on standard input.
type settings struct {
	// Hostname is set in the node's UTS namespace.
	Hostname string `json:"hostname"`
	// Root is the host directory that holds the node's own copy of each of Folders.
	Root string `json:"root"`
	// Folders are absolute paths; each is replaced by the directory of that path below Root.
	Folders []string `json:"folders"`
	// Files are absolute paths; each is replaced by the file of that path below Root.
	Files []string `json:"files"`
	// IPCommands are the lines given to "ip -batch" inside the node's network namespace.
	IPCommands []string `json:"ipCommands"`
	// Services are the programs to keep running. They start when a request names them.
	Services map[string]service `json:"services"`
}

// service is a program that the agent keeps running.
type service struct {
	// Command is the absolute path of the program and its arguments.
	Command []string `json:"command"`
	// Log is the host path of the file that gets its output.
	Log string `json:"log"`
}

// request asks for one service to be started, or to be stopped and started again when it runs.
type request struct {
	Restart string `json:"restart"`
}

// answer follows the settings and every request. An empty Error means that it was done.
type answer struct {
	Error string `json:"error,omitempty"`
}

// runInit sets the node up and serves requests until in ends.
func runInit(in io.Reader, out io.Writer) error {
	// The cgroup namespace belongs to a thread and passes to the processes that this thread starts: all of them
	// start here.
	runtime.LockOSThread()
	decoder := json.NewDecoder(bufio.NewReader(in))
	encoder := json.NewEncoder(out)
	var s settings
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("reading the node's settings: %w", err)
	}
	err := s.apply()
	if answerErr := encoder.Encode(newAnswer(err)); answerErr != nil {
		return fmt.Errorf("answering the settings: %w", answerErr)
	}
	if err != nil {
		return err
	}
	// Children are collected by the supervisor alone, so from here on nothing may use os/exec.
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	requests := make(chan request)
	go readRequests(decoder, requests)
	return newSupervisor(s.Services, children).run(requests, encoder)
}

// readRequests passes requests on and closes the channel when standard input ends.
func readRequests(decoder *json.Decoder, requests chan<- request) {
	defer close(requests)
	for {
		var r request
		if err := decoder.Decode(&r); err != nil {
			return
		}
		requests <- r
	}
}

func newAnswer(err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{}
}

func (s *settings) apply() error {
	if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("setting the host name %s: %w", s.Hostname, err)
	}
	// Everything is private first, so that no mount reaches the host, and shared at the end, because the kubelet
	// needs mounts to reach the pods.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the node's mounts private: %w", err)
	}
	if err := enterCgroups(); err != nil {
		return err
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("making the node's mounts shared: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("turning on forwarding: %w", err)
	}
	return s.network()
}

// mount gives the node its own processes, directories and files.
func (s *settings) mount() error {
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	for _, path := range append(s.Folders, s.Files...) {
		if err := syscall.Mount(filepath.Join(s.Root, path), path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting the node's own %s: %w", path, err)
		}
	}
	return nil
}

func (s *settings) network() error {
	var batch bytes.Buffer
	for _, line := range s.IPCommands {
		fmt.Fprintln(&batch, line)
	}
	// It needs no context: it ends with this process, which is killed with the node.
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = &batch
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("configuring the node's network: %w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}
