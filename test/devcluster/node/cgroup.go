package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollInterval is how often a state that nothing announces is looked at again.
const pollInterval = 20 * time.Millisecond

// cgroup is the path of a control group below the root of every hierarchy, such as "devcluster/master-0".
type cgroup string

// cgroupHierarchies returns the mount points of the cgroup v2 hierarchy and of every v1 hierarchy, whichever the
// machine has, and among them that of the v1 cpuset hierarchy.
func cgroupHierarchies() (mounts []string, cpuset string, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, "", err
	}
	for line := range strings.Lines(string(table)) {
		// Fields: id parent major:minor root mount-point options [optional...] - type source super-options.
		before, after, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(types) < 3 || (types[0] != "cgroup" && types[0] != "cgroup2") {
			continue
		}
		mounts = append(mounts, fields[4])
		for _, option := range strings.Split(types[2], ",") {
			if option == "cpuset" {
				cpuset = fields[4]
			}
		}
	}
	return mounts, cpuset, nil
}

// join moves a process into the group in every hierarchy, creating the group.
func (c cgroup) join(pid int) error {
	mounts, cpuset, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		folder := mount
		for _, part := range strings.Split(string(c), "/") {
			parent := folder
			folder = filepath.Join(folder, part)
			if err := os.Mkdir(folder, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if mount == cpuset {
				if err := copyCpuset(parent, folder); err != nil {
					return err
				}
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("moving process %d into cgroup %s: %w", pid, folder, err)
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
		//nolint:gosec // The folder is one of the kernel's, below a mount point of a cgroup hierarchy.
		if err := os.WriteFile(filepath.Join(folder, file), content, 0); err != nil {
			return err
		}
	}
	return nil
}

// remove kills every process in the group and below and removes the groups. A group that does not exist is fine.
func (c cgroup) remove(ctx context.Context) error {
	mounts, _, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		folder := filepath.Join(mount, string(c))
		err := poll(ctx, func() error { return removeCgroupFolder(folder) })
		if err != nil {
			return fmt.Errorf("removing cgroup %s: %w", folder, err)
		}
	}
	return nil
}

// removeCgroupFolder makes one attempt; the kernel refuses to remove a group while its processes are ending.
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

// poll calls done until it returns nil, and returns its last error together with the context's when that ends first.
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
