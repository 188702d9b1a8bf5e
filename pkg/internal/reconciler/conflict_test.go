package reconciler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	secrets  = schema.GroupResource{Resource: "secrets"}
	conflict = apierrors.NewConflict(secrets, "cloud-tokens", errors.New("the object has been modified"))
	exists   = apierrors.NewAlreadyExists(secrets, "cloud-tokens")
)

func TestOnlyAConflictIsRetriedSilently(t *testing.T) {
	for name, tc := range map[string]struct {
		err       error
		wantErr   string
		wantAfter []time.Duration
	}{
		"no error":                       {},
		"a conflict":                     {err: conflict, wantAfter: []time.Duration{time.Second}},
		"an object that exists already":  {err: exists, wantAfter: []time.Duration{time.Second}},
		"an object that was deleted":     {err: apierrors.NewNotFound(secrets, "cloud-tokens"), wantAfter: []time.Duration{time.Second}},
		"a wrapped conflict":             {err: fmt.Errorf("secret/cloud-tokens: %w", conflict), wantAfter: []time.Duration{time.Second}},
		"several conflicts":              {err: errors.Join(conflict, fmt.Errorf("a: %w", exists)), wantAfter: []time.Duration{time.Second}},
		"a namespace that was deleted":   {err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), wantErr: "namespaces \"a\" not found"},
		"another error":                  {err: errors.New("no quota"), wantErr: "no quota"},
		"a conflict beside another":      {err: errors.Join(errors.New("no quota"), exists), wantErr: "no quota\nsecrets \"cloud-tokens\" already exists"},
		"a wrapped conflict and another": {err: fmt.Errorf("a: %w", errors.Join(exists, errors.New("b"))), wantErr: "a: secrets \"cloud-tokens\" already exists\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			queue := &delays{}
			err := Retried(func(context.Context, factory.SyncContext) error { return tc.err })(t.Context(), syncContext(queue))
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.wantAfter, queue.after)
		})
	}
}

func TestConflictsThatDoNotEndAreReported(t *testing.T) {
	var result error
	passes := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	sync := retried(func(context.Context, factory.SyncContext) error { return result }, passes)
	run := func(after time.Duration, err error) error {
		result = err
		passes.SetTime(passes.Now().Add(after))
		return sync(t.Context(), syncContext(&delays{}))
	}
	for range 20 {
		require.NoError(t, run(0, conflict), "events of other objects cause syncs while the cache is behind")
	}
	require.NoError(t, run(9*time.Second, conflict))
	require.NoError(t, run(0, nil), "the race is over")
	require.NoError(t, run(time.Second, conflict))
	require.Equal(t, conflict, run(10*time.Second, conflict))
}

// delays records the delays that are added to it.
type delays struct {
	workqueue.TypedRateLimitingInterface[any]
	after []time.Duration
}

func (q *delays) AddAfter(_ any, d time.Duration) { q.after = append(q.after, d) }

type contextWithQueue struct {
	factory.SyncContext
	queue *delays
}

func (c contextWithQueue) Queue() workqueue.RateLimitingInterface { return c.queue } //nolint:staticcheck // The type of factory.SyncContext.

func syncContext(queue *delays) factory.SyncContext {
	return contextWithQueue{factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock.RealClock{})), queue}
}
