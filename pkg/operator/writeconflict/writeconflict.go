// Package writeconflict keeps a write that lost a race from being reported as a problem.
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
	// delay is how long the cache is given to see what the write conflicted with.
	delay = time.Second

	// maxConflicts is how many syncs in a row may end in a conflict. More of them are no race.
	maxConflicts = 10
)

// Retried returns a sync that requeues itself if sync fails only because an object was changed, created or deleted since
// the cache saw it. factory.WithSyncDegradedOnError would report that as Degraded until the next sync.
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
		klog.V(2).InfoS("Trying again after a write conflict", "error", err)
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), delay)
		return nil
	}
}

// isConflict reports whether err has conflicts and nothing else.
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
