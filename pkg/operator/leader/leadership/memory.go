package leadership

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Recall makes the lease continue with what the former process in this pod saw of it, according to its file. It must be
// called before the informer of the lease starts. Otherwise a process that the operator's death spared from a release
// would keep the lease until it expires: this process cannot know that the holder is one of ours.
func Recall(lease *controlplane.Lease, file string) {
	if file == "" {
		return
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = lease.Recall(data)
	}
	if err != nil {
		klog.ErrorS(err, "Cannot continue with what the former process saw of the lease", "file", file)
	}
}

// keep writes what the next process needs to know, if it has changed. Without it, that process releases no lease until
// it has seen a renewal.
func (c *controller) keep() {
	if c.Memory == "" {
		return
	}
	data, err := c.Lease.Remember()
	switch {
	case err != nil || bytes.Equal(data, c.kept):
	case data == nil:
		err = c.forget()
	default:
		if err = nodefiles.ReplaceFile(c.Memory, data); err == nil {
			c.kept = data
		}
	}
	if err != nil {
		klog.ErrorS(err, "Cannot keep what was seen of the lease for the next process", "file", c.Memory)
	}
}

// forget removes what is kept. A lease that is released must not be restored with etcd and then count as the holder's.
func (c *controller) forget() error {
	if c.Memory == "" {
		return nil
	}
	c.kept = nil
	if err := os.Remove(c.Memory); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the holder of lease/%s: %w", operand.Lease, err)
	}
	return nil
}
