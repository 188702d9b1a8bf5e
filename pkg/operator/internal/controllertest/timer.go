// Package controllertest takes controllers through time in tests. A controller that waits for a moment asks its
// queue to be called then; nothing else wakes it.
package controllertest

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/client-go/util/workqueue"
)

// maxSyncs bounds the calls of one Run: a controller that asks for more polls.
const maxSyncs = 100

// Clock is a fake clock, such as *clocktesting.FakePassiveClock, that the controller also reads.
type Clock interface {
	Now() time.Time
	SetTime(t time.Time)
}

// Timer is a factory.SyncContext whose queue remembers for when the controller asked to be called. Like a real
// queue with one key, it keeps only the earliest moment.
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

// Queue implements factory.SyncContext. It has the type that library-go still asks for.
func (t *Timer) Queue() workqueue.RateLimitingInterface { //nolint:staticcheck // The interface is not ours.
	return t.queue
}

// QueueKey implements factory.SyncContext.
func (t *Timer) QueueKey() string { return factory.DefaultQueueKey }

// Run calls sync at once, as for an event, and then whenever sync asked for it, while the clock moves on by
// duration. It returns after how long sync was called. No event comes in between, so a state that is to change with
// time changes only if the controller has set a timer.
func (t *Timer) Run(ctx context.Context, sync factory.SyncFunc, duration time.Duration) ([]time.Duration, error) {
	start := t.clock.Now()
	end := start.Add(duration)
	t.queue.due = start
	var calls []time.Duration
	for !t.queue.due.IsZero() && !t.queue.due.After(end) {
		if len(calls) == maxSyncs {
			return calls, fmt.Errorf("the controller was called %d times in %s and asks for more",
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

// queue implements what a sync calls of a queue; everything else panics.
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
