package controllertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func TestAControllerIsCalledWhenItAskedForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		// asks are the delays that each call requests.
		asks [][]time.Duration
		want []time.Duration
	}{
		"without a timer it is called once": {want: []time.Duration{0}},
		"with a timer it is called again": {
			asks: [][]time.Duration{{time.Minute}}, want: []time.Duration{0, time.Minute},
		},
		"of several timers the earliest counts": {
			asks: [][]time.Duration{{time.Hour, time.Minute, 2 * time.Minute}}, want: []time.Duration{0, time.Minute},
		},
		"a timer for the last moment counts": {
			asks: [][]time.Duration{{2 * time.Hour}}, want: []time.Duration{0, 2 * time.Hour},
		},
		"a timer beyond the end does not": {asks: [][]time.Duration{{2*time.Hour + 1}}, want: []time.Duration{0}},
		"a timer in the past is for now":  {asks: [][]time.Duration{{-time.Minute}}, want: []time.Duration{0, 0}},
		"a timer after a timer counts from there": {
			asks: [][]time.Duration{{time.Hour}, {time.Minute}}, want: []time.Duration{0, time.Hour, 61 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(start)
			call := 0
			sync := func(_ context.Context, syncCtx factory.SyncContext) error {
				if call < len(tc.asks) {
					for _, wait := range tc.asks[call] {
						syncCtx.Queue().AddAfter(syncCtx.QueueKey(), wait)
					}
				}
				call++
				return nil
			}
			calls, err := newTestTimer(clock).Run(t.Context(), sync, 2*time.Hour)
			require.NoError(t, err)
			require.Equal(t, tc.want, calls)
			require.Equal(t, start.Add(2*time.Hour), clock.Now())
		})
	}
}

func TestAControllerThatPollsIsAnError(t *testing.T) {
	poll := func(_ context.Context, syncCtx factory.SyncContext) error {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), time.Second)
		return nil
	}
	_, err := newTestTimer(clocktesting.NewFakePassiveClock(start)).Run(t.Context(), poll, time.Hour)
	require.EqualError(t, err, "the controller was called 100 times in 1m39s and requests more")
}

func TestTheErrorOfASyncIsReturned(t *testing.T) {
	failed := errors.New("failed")
	fail := func(context.Context, factory.SyncContext) error { return failed }
	_, err := newTestTimer(clocktesting.NewFakePassiveClock(start)).Run(t.Context(), fail, time.Hour)
	require.ErrorIs(t, err, failed)
}

func newTestTimer(clock *clocktesting.FakePassiveClock) *Timer {
	return NewTimer(clock, events.NewInMemoryRecorder("test", clock))
}
