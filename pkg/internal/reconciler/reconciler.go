// Package reconciler builds all controllers of the operator.
package reconciler

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
)

// New returns a controller that syncs after each event of the operator's resource and of the informers. It retries
// after a write conflict. Any other error becomes the condition NAMEDegraded.
func New(
	name string, operator v1helpers.OperatorClient, recorder events.Recorder, sync factory.SyncFunc,
	informers ...factory.Informer,
) factory.Controller {
	return From(factory.New().WithInformers(informers...), name, operator, recorder, sync)
}

// From is New for a factory with event filters, a sync context, a hook, or informers whose events are ignored.
func From(
	f *factory.Factory, name string, operator v1helpers.OperatorClient, recorder events.Recorder, sync factory.SyncFunc,
) factory.Controller {
	f = f.WithInformers(operator.Informer()).WithSyncDegradedOnError(operator)
	return Unreported(f, name, recorder, Retried(sync))
}

// Unreported is From for a sync that retries conflicts and reports errors itself. The factory must have all informers.
func Unreported(
	f *factory.Factory, name string, recorder events.Recorder, sync factory.SyncFunc,
) factory.Controller {
	return f.WithSync(retriedIn(maxBackOff, sync)).ToController(name, recorder)
}

// Again returns a controller of library-go that retries as soon as ours. informers are its own. They also fill its own
// queue, which has no worker.
func Again(inner factory.Controller, recorder events.Recorder, informers ...factory.Informer) factory.Controller {
	endQueue := func(ctx context.Context, _ factory.SyncContext) error {
		inner.Run(ctx, 0)
		return nil
	}
	f := factory.New().WithInformers(informers...).WithPostStartHooks(endQueue)
	return Unreported(f, inner.Name(), recorder, inner.Sync)
}

// After makes a controller sync again after a time; 0 means never.
func After(syncCtx factory.SyncContext, wait time.Duration) {
	if wait > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
	}
}

// maxBackOff is the maximum time until a controller retries. library-go's queue backs off for up to 1000 seconds,
// doubling with each failure: a minute without rights would stop a rollout for minutes.
const maxBackOff = 30 * time.Second

// retriedIn returns a sync that is retried within that time after an error. The queue uses the earlier of two times of
// a key, so its own back-off applies while it is shorter.
func retriedIn(wait time.Duration, sync factory.SyncFunc) factory.SyncFunc {
	return func(ctx context.Context, syncCtx factory.SyncContext) error {
		err := sync(ctx, syncCtx)
		if err != nil {
			syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
		}
		return err
	}
}
