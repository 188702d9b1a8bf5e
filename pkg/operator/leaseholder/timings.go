package leaseholder

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// renewalDelay is how late the operator may see a renewal: the request of the holder, and the operator's watch.
const renewalDelay = 2 * time.Second

// Duration returns how long the lease lasts after a renewal, 0 if no process has held it.
func Duration(lease *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
}

// RetryPeriod returns how often the holder renews the lease. The lease has only its duration, which differs between
// OpenShift's timings: 137/107/26 seconds, and 270/240/60 on a single control-plane node. Kubernetes' own, which a
// custom cloud-controller-manager may have, are 15/10/2.
func RetryPeriod(lease *coordinationv1.Lease) time.Duration {
	switch duration := Duration(lease); duration {
	case 137 * time.Second:
		return 26 * time.Second
	case 270 * time.Second:
		return 60 * time.Second
	default:
		return duration / 5
	}
}

// Silence returns how long the holder must not have renewed the lease before it counts as silent: two retry periods,
// so that one attempt may fail.
func Silence(lease *coordinationv1.Lease) time.Duration {
	return 2*RetryPeriod(lease) + renewalDelay
}
