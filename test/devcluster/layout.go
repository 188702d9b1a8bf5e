package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/process"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/runlock"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

const (
	// maxNodes is the limit for an etcd on a laptop, and more than a control plane needs.
	maxNodes = 9
	// maxMachines limits the nodes that a cluster has one after the other: each has an address of its own.
	maxMachines = 24
	// slots is the maximum number of clusters with nodes on one machine.
	slots = 4
	// lockDir has the locks on machine-wide names. It is empty after a reboot, like those names.
	lockDir = "/run/lock"
)

// layout holds the addresses and names of a run.
type layout struct {
	// slot numbers the runs with nodes; -1 for one without.
	slot                            int
	bridge                          string
	address, serviceIP, serviceCIDR string
	podCIDR                         string
}

// loopback is the layout of a cluster without nodes. The ranges of Services and pods exist on paper only.
func loopback() layout {
	return layout{slot: -1, address: "127.0.0.1", serviceIP: "10.96.0.1", serviceCIDR: "10.96.0.0/16",
		podCIDR: "10.201.0.0/16"}
}

// bridged is the layout of the cluster with nodes in a slot.
func bridged(slot int) layout {
	return layout{
		slot:        slot,
		bridge:      fmt.Sprintf("ccmdev%d", slot),
		address:     fmt.Sprintf("10.200.%d.1", slot),
		serviceIP:   fmt.Sprintf("10.96.%d.1", slot),
		serviceCIDR: fmt.Sprintf("10.96.%d.0/24", slot),
		podCIDR:     fmt.Sprintf("10.%d.0.0/16", 201+slot),
	}
}

func (l layout) networkOptions() node.NetworkOptions {
	return node.NetworkOptions{Bridge: l.bridge, HostIP: l.address + "/24", ServiceIP: l.serviceIP + "/32",
		PodRange: l.podCIDR}
}

// takeRun locks a run's directory. The lock is beside the directory, which is recreated.
func takeRun(dir string) (*runlock.Lock, error) {
	lock, err := runlock.Take(dir + ".lock")
	if err != nil {
		return nil, fmt.Errorf("a development cluster is running: %w", err)
	}
	return lock, nil
}

// takeSlot locks the first slot without a running cluster.
func takeSlot() (int, *runlock.Lock, error) {
	var holders []string
	for slot := range slots {
		lock, err := runlock.Take(slotLockPath(slot))
		var held *runlock.HeldError
		if errors.As(err, &held) {
			holders = append(holders, held.Holder)
			continue
		}
		return slot, lock, err
	}
	return 0, nil, fmt.Errorf("%d clusters with nodes run on this machine already: %s", slots,
		strings.Join(holders, "; "))
}

func slotLockPath(slot int) string {
	return filepath.Join(lockDir, fmt.Sprintf("ccm-devcluster-%d.lock", slot))
}

func recordPath(dir string) string { return filepath.Join(dir, "processes") }

func slotPath(dir string) string { return filepath.Join(dir, "slot") }

// remember records the slot, so that a later run can clean up after a crash.
func (l layout) remember(dir string) error {
	if err := os.WriteFile(slotPath(dir), []byte(strconv.Itoa(l.slot)), 0o644); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	return nil
}

// removeLeftovers ends the processes of a crashed run in dir, removes its network and empties the directory.
func removeLeftovers(ctx context.Context, dir string, progress io.Writer) error {
	killed, err := (&process.Record{Path: recordPath(dir)}).EndRecorded()
	if err != nil {
		return err
	}
	if len(killed) > 0 {
		fmt.Fprintf(progress, "ended %d processes of a crashed run\n", len(killed))
	}
	content, err := os.ReadFile(slotPath(dir))
	if err == nil {
		if err := removeNetwork(ctx, strings.TrimSpace(string(content))); err != nil {
			return err
		}
		fmt.Fprintln(progress, "removed the network of a crashed run")
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("run directory: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	return nil
}

// removeNetwork removes the network of a slot unless another run has taken that slot since and so removed it.
func removeNetwork(ctx context.Context, text string) error {
	slot, err := strconv.Atoi(text)
	if err != nil {
		return nil // cut short by the crash, before anything was made
	}
	lock, err := runlock.Take(slotLockPath(slot))
	var held *runlock.HeldError
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	// Making the network removes what a crashed run with its bridge left.
	network, err := node.NewNetwork(ctx, bridged(slot).networkOptions())
	if err != nil {
		return fmt.Errorf("network of a crashed run: %w", err)
	}
	return network.Close()
}

// clearRun removes all but the logs of a run.
func clearRun(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if entry.Name() != "logs" && entry.Name() != "nodes" {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// FindRepository returns the directory of the operator's module at or above dir.
func FindRepository(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("repository: %w", err)
	}
	for dir = start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil &&
			strings.Contains(string(content),
				"module github.com/openshift/cluster-cloud-controller-manager-operator\n") {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("repository: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of cluster-cloud-controller-manager-operator", start)
		}
	}
}
