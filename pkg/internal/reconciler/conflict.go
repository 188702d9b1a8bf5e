package reconciler

import (
	"context"
	"errors"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// delay is how long to wait for the cache after a conflict.
	delay = time.Second

	// racePeriod is how long every sync may end in a conflict. It is not a number of syncs, because the events of other
	// objects cause many syncs while a cache is behind.
	racePeriod = 10 * time.Second
)

// Retried returns a sync that requeues itself after a conflict: an object was changed, created or deleted after the
// cache saw it. factory.WithSyncDegradedOnError would report Degraded until the next sync.
func Retried(sync factory.SyncFunc) factory.SyncFunc { return retried(sync, clock.RealClock{}) }

func retried(sync factory.SyncFunc, clock clock.PassiveClock) factory.SyncFunc {
	var conflicts patience.Since[bool]
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := sync(ctx, syncCtx)
		now := clock.Now()
		since := conflicts.See(isConflict(err), now)
		if !conflicts.Value() || now.Sub(since) >= racePeriod {
			return err
		}
		klog.V(2).InfoS("Retrying after a write conflict", "error", err)
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), delay)
		return nil
	}
}

func isConflict(err error) bool {
	if err == nil {
		return false
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !isConflict(e) {
				return false
			}
		}
		return true
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return isConflict(wrapped)
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || isDeleted(err)
}

// isDeleted reports whether a written object no longer exists. A missing namespace is not a race.
func isDeleted(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		(status.Status().Details == nil || status.Status().Details.Kind != "namespaces")
}
