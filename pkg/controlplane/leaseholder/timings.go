package leaseholder

import (
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

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
