package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// hierarchy is one mounted cgroup hierarchy.
type hierarchy struct {
	path, fsType, options string
}

// enterCgroups makes the control groups that this process is in the roots of what the node sees, so that the node's
// runtime and kubelet cannot meet those of another node. It must run on the thread that starts the node's processes.
func enterCgroups() error {
	hierarchies, err := readHierarchies()
	if err != nil {
		return fmt.Errorf("listing the cgroup hierarchies: %w", err)
	}
	if err := syscall.Unshare(cloneNewCgroup); err != nil {
		return fmt.Errorf("entering a new cgroup namespace: %w", err)
	}
	for _, h := range hierarchies {
		if err := syscall.Unmount(h.path, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", h.path, err)
		}
		if err := syscall.Mount(h.fsType, h.path, h.fsType, 0, h.options); err != nil {
			return fmt.Errorf("mounting the node's own %s: %w", h.path, err)
		}
		if h.fsType != "cgroup2" {
			continue
		}
		// In version 2 a group with processes cannot give controllers to groups below it.
		if err := moveInto(filepath.Join(h.path, "system")); err != nil {
			return err
		}
	}
	return nil
}

// cloneNewCgroup is CLONE_NEWCGROUP of linux/sched.h, which package syscall lacks.
const cloneNewCgroup = 0x02000000

func moveInto(group string) error {
	if err := os.Mkdir(group, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
}

func readHierarchies() ([]hierarchy, error) {
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
			found = append(found, hierarchy{path: mount[4], fsType: "cgroup", options: controllers(super[2])})
		case "cgroup2":
			found = append(found, hierarchy{path: mount[4], fsType: "cgroup2"})
		}
	}
	return found, nil
}

// controllers leaves those of a hierarchy's options that say which hierarchy it is.
func controllers(options string) string {
	kept := slices.DeleteFunc(strings.Split(options, ","), func(option string) bool {
		return slices.Contains([]string{"rw", "ro", "xattr", "clone_children", "noprefix", "cpuset_v2_mode"}, option) ||
			strings.HasPrefix(option, "release_agent=")
	})
	if len(kept) == 1 && strings.HasPrefix(kept[0], "name=") {
		kept = []string{"none", kept[0]}
	}
	return strings.Join(kept, ",")
}
