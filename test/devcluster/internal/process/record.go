package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Record is a file with one line "<pid> <start time>" per process of a run. The start time, in clock ticks since boot,
// keeps a recycled process id from being mistaken for ours.
type Record struct {
	// Path is the file's path.
	Path string

	mutex sync.Mutex
}

// Add records a running process.
func (r *Record) Add(pid int) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	started, err := startTime(pid)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it has ended already
	}
	if err != nil {
		return err
	}
	file, err := os.OpenFile(r.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("process record: %w", err)
	}
	_, err = fmt.Fprintf(file, "%d %s\n", pid, started)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("process record %s: %w", r.Path, err)
	}
	return nil
}

// EndRecorded kills the processes that are recorded and still run, waits for their end, removes the record and returns
// the ids of those it killed. A missing record means that there is nothing to do.
func (r *Record) EndRecorded() ([]int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	file, err := os.Open(r.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("process record: %w", err)
	}
	defer func() { _ = file.Close() }()
	var killed []int
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		pid, started, ok := parseRecord(lines.Text())
		if !ok {
			continue // a line cut short by the crash
		}
		if now, err := startTime(pid); err != nil || now != started {
			continue
		}
		if err := killAndAwait(pid, started); err != nil {
			return killed, err
		}
		killed = append(killed, pid)
	}
	if err := lines.Err(); err != nil {
		return killed, fmt.Errorf("process record %s: %w", r.Path, err)
	}
	return killed, os.Remove(r.Path)
}

func parseRecord(line string) (pid int, started string, ok bool) {
	first, started, found := strings.Cut(line, " ")
	pid, err := strconv.Atoi(first)
	return pid, started, found && err == nil && started != ""
}

func killAndAwait(pid int, started string) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill leftover process %d: %w", pid, err)
	}
	deadline := time.After(stopGrace)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if now, err := startTime(pid); err != nil || now != started {
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline:
			return fmt.Errorf("leftover process %d does not end after SIGKILL", pid)
		}
	}
}

// startTime returns field 22 of /proc/<pid>/stat; a zombie counts as ended (os.ErrNotExist).
func startTime(pid int) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, syscall.ESRCH) {
		return "", os.ErrNotExist
	}
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	// The second field, the command, may contain spaces and parentheses.
	_, rest, found := cutLast(string(content), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return "", fmt.Errorf("process %d: unexpected content of its stat file", pid)
	}
	if fields[0] == "Z" {
		return "", os.ErrNotExist
	}
	return fields[19], nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	index := strings.LastIndex(text, separator)
	if index < 0 {
		return text, "", false
	}
	return text[:index], text[index+len(separator):], true
}
