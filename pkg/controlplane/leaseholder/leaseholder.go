// Package leaseholder finds the node of the process that holds the operand's lease, and defines the lease's timings.
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

// maxIdentity is the length of client-go's identities at most: a host name of 253 characters, _ and a UUID.
const maxIdentity = 253 + 1 + 36

// Identity returns the identity of a lease's holder, or "". It shortens one that no process of client-go has: others
// may write the lease, and the identity enters conditions, annotations and arguments of pods.
func Identity(lease *coordinationv1.Lease) string {
	identity := ptr.Deref(lease.Spec.HolderIdentity, "")
	return identity[:min(len(identity), maxIdentity)]
}

// Node returns the one of nodes that the lease names, or "". Whether its process is ours is up to controlplane.View.
func Node(lease *coordinationv1.Lease, nodes []string) string { return NodeOf(Identity(lease), nodes) }

// Release frees a lease, unless it has changed since it was read. In client-go's leader election, the first process
// that tries acquires a lease without a holder, regardless of its times.
func Release(ctx context.Context, client coordinationv1client.LeasesGetter, lease *coordinationv1.Lease) error {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = ptr.To("")
	if _, err := client.Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("releasing lease/%s in %s: %w", lease.Name, lease.Namespace, err)
	}
	return nil
}

// NodeOf returns the node with the identity "<hostname>_<UUID>", or "". The node name and the host name may differ in
// form: one may be the full name and the other the short name.
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

// renewalDelay is how late the operator may see a renewal: the holder's request, and the operator's watch.
const renewalDelay = 2 * time.Second

// Default returns the lease duration that the operator configures.
func Default(topology configv1.TopologyMode) time.Duration {
	if topology == configv1.SingleReplicaTopologyMode {
		return singleNode
	}
	return severalNodes
}

// Duration returns the duration in the lease, or 0 if no process has held it.
func Duration(lease *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
}

// HeldFor returns how long the holder had held the lease at its last renewal. Both times are from the node's clock.
func HeldFor(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.AcquireTime == nil || lease.Spec.RenewTime == nil {
		return 0
	}
	return max(0, lease.Spec.RenewTime.Sub(lease.Spec.AcquireTime.Time))
}

// retryPeriod returns how often the holder of a lease with that duration renews it. The lease contains only its
// duration. OpenShift's timings are 137/107/26 seconds, and 270/240/60 on a single control-plane node. Kubernetes' own,
// which a custom cloud-controller-manager may use, are 15/10/2.
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

// Silence returns how long after a renewal the holder counts as silent: two retry periods, as one attempt may fail.
func Silence(duration time.Duration) time.Duration { return 2*retryPeriod(duration) + renewalDelay }
