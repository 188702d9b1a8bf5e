package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// clockTick is the unit of the CPU times in /proc on every architecture that Go supports.
const clockTick = 100

// usage is the resource usage of a process.
type usage struct {
	// resident is the resident set in MiB; anonymous is its part that is not pages of the executable, which are
	// shared and can be dropped; peak is the largest resident set so far.
	resident, anonymous, peak float64
	// cpu is the time on a CPU so far in seconds.
	cpu float64
}

func (u usage) String() string {
	return fmt.Sprintf("%.0f MiB, of it %.0f MiB not of the executable's file", u.resident, u.anonymous)
}

func usageOf(pid int) (usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, fmt.Errorf("the process: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("the process: %w", err)
	}
	return parseUsage(string(status), string(stat))
}

func parseUsage(status, stat string) (usage, error) {
	var u usage
	for _, line := range []struct {
		key  string
		into *float64
	}{{"VmRSS", &u.resident}, {"RssAnon", &u.anonymous}, {"VmHWM", &u.peak}} {
		_, rest, found := strings.Cut(status, "\n"+line.key+":")
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 {
			return usage{}, fmt.Errorf("the kernel does not tell %s of the process", line.key)
		}
		kibibytes, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return usage{}, fmt.Errorf("%s of the process: %w", line.key, err)
		}
		*line.into = kibibytes / 1024
	}
	// The command, which may contain spaces, is in parentheses; utime and stime are the 14th and the 15th field.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("the kernel does not tell the CPU time of the process")
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return usage{}, fmt.Errorf("CPU time of the process: %w", err)
		}
		u.cpu += ticks / clockTick
	}
	return u, nil
}

// The command lines of the processes in the cluster's pods, up to the first argument that distinguishes them.
const (
	operatorProcess = "/usr/bin/cluster-cloud-controller-manager-operator\x00operator\x00"
	syncerProcess   = "/usr/bin/file-syncer\x00"
	operandProcess  = "/usr/bin/openstack-cloud-controller-manager\x00"
)

// findOperator returns the process of the operator.
func findOperator() (int, error) {
	pids, err := findProcesses(operatorProcess, os.Getpid())
	if err != nil {
		return 0, err
	}
	if len(pids) != 1 {
		return 0, fmt.Errorf("%d processes of the operator run in the cluster", len(pids))
	}
	return pids[0], nil
}

// findProcesses returns the processes below an ancestor whose command lines begin so.
func findProcesses(commandLine string, ancestor int) ([]int, error) {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(command), commandLine) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && descends(pid, ancestor) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
	}
	return pid == ancestor
}
