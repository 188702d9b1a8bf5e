// Package reconciler builds the operator's controllers, all in one way.
package reconciler

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
)

// New returns a controller that syncs after each event of the operator's resource and of the informers. A write
// conflict makes it sync again. Any other error becomes the condition NAMEDegraded.
func New(
	name string, operator v1helpers.OperatorClient, recorder events.Recorder, sync factory.SyncFunc,
	informers ...factory.Informer,
) factory.Controller {
	return From(factory.New().WithInformers(informers...), name, operator, recorder, sync)
}

// From is New for a factory that filters events, or has a sync context, a hook or informers whose events do not count.
func From(
	f *factory.Factory, name string, operator v1helpers.OperatorClient, recorder events.Recorder, sync factory.SyncFunc,
) factory.Controller {
	f = f.WithInformers(operator.Informer()).WithSyncDegradedOnError(operator)
	return Unreported(f, name, recorder, Retried(sync))
}

// Unreported is From for a sync that retries its conflicts and reports its errors itself. The factory has all
// informers.
func Unreported(
	f *factory.Factory, name string, recorder events.Recorder, sync factory.SyncFunc,
) factory.Controller {
	return f.WithSync(retriedIn(maxBackOff, sync)).ToController(name, recorder)
}

// Again returns a controller of library-go that tries again as soon as ours what has failed. informers are its own. Its
// own queue gets their events too, and has no worker.
func Again(inner factory.Controller, recorder events.Recorder, informers ...factory.Informer) factory.Controller {
	endQueue := func(ctx context.Context, _ factory.SyncContext) error {
		inner.Run(ctx, 0)
		return nil
	}
	f := factory.New().WithInformers(informers...).WithPostStartHooks(endQueue)
	return Unreported(f, inner.Name(), recorder, inner.Sync)
}

// After lets a controller sync again after a time, 0 for never.
func After(syncCtx factory.SyncContext, wait time.Duration) {
	if wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
	}
}

// maxBackOff is how long a controller waits at most before it tries again what has failed. library-go's queue waits for
// up to 1000 seconds, which double with each failure: a minute without rights would stop a rollout for minutes.
const maxBackOff = 30 * time.Second

// retriedIn returns a sync that is called again within that time after an error. The queue keeps the earlier of two
// times of a key, so its own back-off stays as long as it is shorter.
func retriedIn(wait time.Duration, sync factory.SyncFunc) factory.SyncFunc {
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := sync(ctx, syncCtx)
		if err != nil {
			syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
		}
		return err
	}
}
