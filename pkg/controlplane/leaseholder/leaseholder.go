// Package leaseholder finds the node of the process that holds the operand's lease, and has the lease's timings.
package leaseholder

import (
	"context"
	"fmt"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// Identity returns the identity of a lease's holder, "" if there is none.
func Identity(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// Node returns the one of nodes that the lease names, "" if there is none. Whether its process is one of ours and
// renews the lease is what a controlplane.View says.
func Node(lease *coordinationv1.Lease, nodes []string) string { return NodeOf(Identity(lease), nodes) }

// Release frees a lease, unless it has changed since it was read. client-go's leader election lets the first that asks
// acquire a lease without a holder, whatever its times are.
func Release(
	ctx context.Context, client coordinationv1client.LeasesGetter, lease *coordinationv1.Lease,
) error {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = ptr.To("")
	if _, err := client.Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("releasing lease/%s in %s: %w", lease.Name, lease.Namespace, err)
	}
	return nil
}

// NodeOf returns the node with the identity "<hostname>_<UUID>", or "". Node name and host name may differ in form:
// one may be the full name and the other the short one.
func NodeOf(identity string, nodes []string) string {
	host, _, _ := strings.Cut(identity, "_")
	byShortName := ""
	for _, node := range nodes {
		if node == host {
			return node
		}
		if Short(node) == Short(host) && (byShortName == "" || node < byShortName) {
			byShortName = node
		}
	}
	return byShortName
}

// Short returns a host name without its domain.
func Short(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return name
}

// OpenShift's durations of the lease (library-go's LeaderElectionDefaulting and LeaderElectionSNOConfig).
const (
	severalNodes = 137 * time.Second
	singleNode   = 270 * time.Second
)

// renewalDelay is how late the operator may see a renewal: the request of the holder, and the operator's watch.
const renewalDelay = 2 * time.Second

// Default returns the duration of the lease that the operator configures.
func Default(topology configv1.TopologyMode) time.Duration {
	if topology == configv1.SingleReplicaTopologyMode {
		return singleNode
	}
	return severalNodes
}

// Duration returns how long the lease lasts after a renewal, 0 if no process has held it.
func Duration(lease *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
}

// HeldFor returns for how long the holder had held the lease at its last renewal. The clock of its node has both times.
func HeldFor(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.AcquireTime == nil || lease.Spec.RenewTime == nil {
		return 0
	}
	return max(0, lease.Spec.RenewTime.Sub(lease.Spec.AcquireTime.Time))
}

// retryPeriod returns how often the holder renews a lease of that duration. The lease has only its duration, which
// differs between OpenShift's timings: 137/107/26 seconds, and 270/240/60 on a single control-plane node. Kubernetes'
// own, which a custom cloud-controller-manager may have, are 15/10/2.
func retryPeriod(duration time.Duration) time.Duration {
	switch duration {
	case severalNodes:
		return 26 * time.Second
	case singleNode:
		return 60 * time.Second
	default:
		return duration / 5
	}
}

// Overdue returns how long after a renewal the next one is late.
func Overdue(duration time.Duration) time.Duration { return retryPeriod(duration) + renewalDelay }

// Silence returns how long the holder must not have renewed the lease before it counts as silent: two retry periods,
// so that one attempt may fail.
func Silence(duration time.Duration) time.Duration { return 2*retryPeriod(duration) + renewalDelay }
