package leadership

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// legacyPeriod is the maximum age of a legacy. A restore of etcd takes longer, because an administrator stops all API
	// servers first. So a restored legacy is too old.
	legacyPeriod = 2 * time.Minute

	// legacyLimit bounds the legacy, in bytes: what others write into the lease is part of it.
	legacyLimit = 8 << 10
)

// Memory is what the processes of the operator have seen of the lease. A file keeps it for the next process in this
// pod, and the operator's lock takes it to the next pod, see Leave. With it, the next process continues as if it had
// watched the lease all the time. Without it, it does not know whether the holder is a process of ours, and waits for
// the lease to expire from its own first look.
type Memory struct {
	file  string
	lease atomic.Pointer[controlplane.Lease]
}

// NewMemory returns the memory of a pod, with a file that lives as long as the pod.
func NewMemory(file string) *Memory { return &Memory{file: file} }

// legacy is the record that a process leaves for the next pod.
type legacy struct {
	// Left is the time at which the process left it, by the clock of its node.
	Left   time.Time           `json:"left"`
	Record controlplane.Record `json:"record"`
}

// Leave returns what the next pod of the operator needs to know, "" if there is nothing. It is for the operator's lock,
// although etcd may be restored: Take does not take what is old.
func (m *Memory) Leave(now time.Time) (string, error) {
	lease := m.lease.Load()
	if lease == nil {
		return "", nil
	}
	record, known := lease.Remembered()
	if !known {
		return "", nil
	}
	record.Rebase(now, now.Round(0)) // The clock may have been set since the operator saw something.
	data, err := json.Marshal(legacy{Left: now, Record: record})
	if err != nil {
		return "", fmt.Errorf("leaving what was seen of the lease: %w", err)
	}
	if len(data) > legacyLimit {
		return "", fmt.Errorf("leaving what was seen of the lease: it has %d bytes, and at most %d are left", len(data),
			legacyLimit)
	}
	return string(data), nil
}

// Take makes what the former pod of the operator left this pod's memory, unless a process of this pod has kept one. The
// nodes' clocks may differ, so the time in which no process ran counts as none.
func (m *Memory) Take(data string, now time.Time) error {
	if _, err := os.Stat(m.file); data == "" || err == nil {
		return nil
	}
	var left legacy
	if err := json.Unmarshal([]byte(data), &left); err != nil {
		return fmt.Errorf("decoding what the former pod saw of the lease: %w", err)
	}
	if now.Sub(left.Left).Abs() > legacyPeriod {
		return nil
	}
	left.Record.Rebase(left.Left, now)
	kept, err := json.Marshal(left.Record)
	if err != nil {
		return fmt.Errorf("taking what the former pod saw of the lease: %w", err)
	}
	return nodefiles.ReplaceFile(m.file, kept)
}

// Recall initializes the lease with what the former process saw of it, before the lease's informer starts.
func (m *Memory) Recall(lease *controlplane.Lease) {
	m.lease.Store(lease)
	data, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = lease.Recall(data)
	}
	if err != nil {
		klog.ErrorS(err, "Cannot continue with what the former process saw of the lease", "file", m.file)
	}
}

// keep writes to the file what has changed. Without it, the next process releases no lease before it has seen a
// renewal.
func (c *controller) keep() {
	if c.Memory == nil {
		return
	}
	data, err := c.Lease.Remember()
	switch {
	case err != nil || data != nil && bytes.Equal(data, c.kept):
	case data == nil:
		err = c.forget()
	default:
		if err = nodefiles.ReplaceFile(c.Memory.file, data); err == nil {
			c.kept = data
		}
	}
	if err != nil {
		klog.ErrorS(err, "Cannot keep what was seen of the lease for the next process", "file", c.Memory.file)
	}
}

// forget removes the file: if etcd is restored, a released lease must not count as the holder's again.
func (c *controller) forget() error {
	if c.Memory == nil {
		return nil
	}
	c.kept = nil
	if err := os.Remove(c.Memory.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the holder of lease/%s: %w", operand.Lease, err)
	}
	return nil
}
