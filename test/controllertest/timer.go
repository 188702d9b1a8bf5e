// Package controllertest runs controllers over simulated time in tests. Only the delays that a controller adds to its
// queue call it again.
package controllertest

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/client-go/util/workqueue"
)

// maxSyncs limits the syncs of one Run; a controller that requests more is polling.
const maxSyncs = 100

// Clock is a fake clock that the controller also reads, such as *clocktesting.FakePassiveClock.
type Clock interface {
	Now() time.Time
	SetTime(t time.Time)
}

// Timer is a factory.SyncContext whose queue records when the controller wants to be called. Like a real queue with
// one key, it keeps only the earliest time.
type Timer struct {
	factory.SyncContext
	clock Clock
	queue *queue
}

// NewTimer returns a Timer for a controller that reads the clock.
func NewTimer(clock Clock, recorder events.Recorder) *Timer {
	return &Timer{
		SyncContext: factory.NewSyncContext("test", recorder),
		clock:       clock,
		queue:       &queue{clock: clock},
	}
}

// Queue implements factory.SyncContext. library-go still requires the deprecated type.
func (t *Timer) Queue() workqueue.RateLimitingInterface { //nolint:staticcheck // The interface is not ours.
	return t.queue
}

// QueueKey implements factory.SyncContext.
func (t *Timer) QueueKey() string { return factory.DefaultQueueKey }

// Run calls sync immediately, as for an event, and then at each time that sync requested, while the clock advances by
// duration. It returns the offsets of the calls. No other event occurs, so state changes over time only if the
// controller set a timer.
func (t *Timer) Run(ctx context.Context, sync factory.SyncFunc, duration time.Duration) ([]time.Duration, error) {
	start := t.clock.Now()
	end := start.Add(duration)
	t.queue.due = start
	var calls []time.Duration
	for !t.queue.due.IsZero() && !t.queue.due.After(end) {
		if len(calls) == maxSyncs {
			return calls, fmt.Errorf("the controller was called %d times in %s and requests more",
				maxSyncs, t.clock.Now().Sub(start))
		}
		if t.queue.due.After(t.clock.Now()) {
			t.clock.SetTime(t.queue.due)
		}
		t.queue.due = time.Time{}
		calls = append(calls, t.clock.Now().Sub(start))
		if err := sync(ctx, t); err != nil {
			return calls, err
		}
	}
	t.clock.SetTime(end)
	return calls, nil
}

// queue implements the one method that a sync calls; every other method panics.
type queue struct {
	workqueue.TypedRateLimitingInterface[any]
	clock Clock
	due   time.Time
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(_ any, wait time.Duration) {
	if due := q.clock.Now().Add(wait); q.due.IsZero() || due.Before(q.due) {
		q.due = due
	}
}
