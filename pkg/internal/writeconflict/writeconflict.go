// Package writeconflict keeps write conflicts from degrading the operator.
package writeconflict

import (
	"context"
	"errors"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

const (
	// delay is how long to wait for the cache after a conflict.
	delay = time.Second

	// maxConflicts is how many consecutive syncs may end in a conflict. More of them are not a race.
	maxConflicts = 10
)

// Retried returns a sync that requeues itself after a conflict: an object was changed, created or deleted after the
// cache saw it. factory.WithSyncDegradedOnError would report Degraded until the next sync.
func Retried(sync factory.SyncFunc) factory.SyncFunc {
	conflicts := 0
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := sync(ctx, syncCtx)
		if !isConflict(err) {
			conflicts = 0
			return err
		}
		conflicts++
		if conflicts > maxConflicts {
			return err
		}
		klog.V(2).InfoS("Retrying after a write conflict", "error", err)
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), delay)
		return nil
	}
}

// isConflict reports whether err consists only of conflicts.
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
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}
