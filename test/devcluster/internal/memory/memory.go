// Package memory adds up the memory of a process and its descendants.
package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage is the memory of a tree of processes.
type Usage struct {
	// Bytes is the sum of the proportional set sizes: shared pages count once in all.
	Bytes int64
	// Processes is the number of processes.
	Processes int
}

// String implements fmt.Stringer.
func (u Usage) String() string {
	return fmt.Sprintf("%d MiB in %d processes", u.Bytes>>20, u.Processes)
}

// OfTree returns the usage of the process with the id and of its descendants, those in other namespaces included.
// Processes that end meanwhile are left out.
func OfTree(root int) (Usage, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("memory: %w", err)
	}
	children := map[int][]int{}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pid, parent, ok := parseStat(string(content))
		if ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var usage Usage
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		queue = append(queue, children[queue[0]]...)
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", queue[0]))
		if err != nil {
			continue
		}
		usage.Bytes += proportional(string(content))
		usage.Processes++
	}
	return usage, nil
}

// parseStat reads "pid (command) state parent …"; the command may contain spaces and parentheses.
func parseStat(stat string) (pid, parent int, ok bool) {
	index := strings.LastIndexByte(stat, ')')
	first, _, found := strings.Cut(stat, " ")
	if index < 0 || !found {
		return 0, 0, false
	}
	fields := strings.Fields(stat[index+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	pid, pidErr := strconv.Atoi(first)
	parent, parentErr := strconv.Atoi(fields[1])
	return pid, parent, pidErr == nil && parentErr == nil
}

func proportional(rollup string) int64 {
	for line := range strings.Lines(rollup) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "Pss:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return kibibytes << 10
			}
		}
	}
	return 0
}
