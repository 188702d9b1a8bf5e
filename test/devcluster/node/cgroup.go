package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollInterval is the interval of polling a state without events.
const pollInterval = 20 * time.Millisecond

// cgroup is the path of a control group below the root of every hierarchy, such as "devcluster/master-0".
type cgroup string

// hierarchy is the mount point of one cgroup hierarchy.
type hierarchy struct {
	path string
	// v2 says that it is the one of version 2. cpuset says that it has the cpuset controller of version 1.
	v2, cpuset bool
}

// cgroupHierarchies returns the hierarchies that the machine has, be it one of version 2 or several of version 1.
func cgroupHierarchies() ([]hierarchy, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for line := range strings.Lines(string(table)) {
		// Fields: id parent major:minor root mount-point options [optional...] - type source super-options.
		before, after, _ := strings.Cut(line, " - ")
		mount, super := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(super) < 3 {
			continue
		}
		switch super[0] {
		case "cgroup":
			cpuset := slices.Contains(strings.Split(super[2], ","), "cpuset")
			found = append(found, hierarchy{path: mount[4], cpuset: cpuset})
		case "cgroup2":
			found = append(found, hierarchy{path: mount[4], v2: true})
		}
	}
	return found, nil
}

// join moves a process into the group in every hierarchy, creating the group.
func (c cgroup) join(pid int) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		folder := h.path
		for part := range strings.SplitSeq(string(c), "/") {
			parent := folder
			folder = filepath.Join(folder, part)
			if err := h.create(parent, folder); err != nil {
				return fmt.Errorf("creating cgroup %s: %w", folder, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("moving process %d into cgroup %s: %w", pid, folder, err)
		}
	}
	return nil
}

// create makes a group with what its parent has.
func (h hierarchy) create(parent, folder string) error {
	if err := os.Mkdir(folder, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A group counts like one process beside the machine's others, but a node is a dozen. Where a hierarchy has no such
	// file the kernel forbids to create it.
	for file, weight := range map[string]string{"cpu.shares": "10240", "cpu.weight": "1000"} {
		err := os.WriteFile(filepath.Join(folder, file), []byte(weight), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if h.cpuset {
		return copyCpuset(parent, folder)
	}
	if !h.v2 {
		return nil
	}
	controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(controllers)) {
		err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0)
		if err != nil {
			return fmt.Errorf("passing on controller %s: %w", controller, err)
		}
	}
	return nil
}

// copyCpuset gives a v1 cpuset group its parent's processors and memory; without any it accepts no process.
func copyCpuset(parent, folder string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file), content, 0); err != nil {
			return err
		}
	}
	return nil
}

// remove kills every process in the group and below and removes the groups. A group that does not exist is fine.
func (c cgroup) remove(ctx context.Context) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		folder := filepath.Join(h.path, string(c))
		err := poll(ctx, func() error { return removeCgroupFolder(folder) })
		if err != nil {
			return fmt.Errorf("removing cgroup %s: %w", folder, err)
		}
	}
	return nil
}

// removeCgroupFolder makes one attempt; the kernel rejects to remove a group while its processes are ending.
func removeCgroupFolder(folder string) error {
	var groups []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(groups) - 1; i >= 0; i-- {
		if err := killGroup(groups[i]); err != nil {
			return err
		}
		if err := syscall.Rmdir(groups[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", groups[i], err)
		}
	}
	return nil
}

func killGroup(folder string) error {
	content, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
		return err
	}
	for _, line := range strings.Fields(string(content)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			return fmt.Errorf("%s/cgroup.procs: %w", folder, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing process %d: %w", pid, err)
		}
	}
	return nil
}

// poll calls done until it returns nil or the context ends. It then returns the last error with the context's.
func poll(ctx context.Context, done func() error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-ticker.C:
		}
	}
}
