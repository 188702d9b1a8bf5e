package reconciler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
)

// reports records each status that a controller applies for TestDegraded.
type reports struct {
	v1helpers.OperatorClient
	applied chan operatorv1.ConditionStatus
}

func (r *reports) ApplyOperatorStatus(
	ctx context.Context, manager string, status *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	for _, condition := range status.Conditions {
		if *condition.Type == "TestDegraded" {
			r.applied <- *condition.Status
		}
	}
	return r.OperatorClient.ApplyOperatorStatus(ctx, manager, status)
}

// run runs a controller, after one event. Its syncs return these errors, one after the other, and then nil.
func run(t *testing.T, errs ...error) (operator *reports, synced <-chan error) {
	t.Helper()
	operator = &reports{
		OperatorClient: v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil),
		applied:        make(chan operatorv1.ConditionStatus, 10),
	}
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	syncCtx := factory.NewSyncContext("Test", recorder)
	syncCtx.Queue().Add(factory.DefaultQueueKey)
	returned := make(chan error, len(errs)+1)
	c := reconciler.From(factory.New().WithSyncContext(syncCtx), "Test", operator, recorder, func(context.Context, factory.SyncContext) error {
		var err error
		if len(errs) > 0 {
			err, errs = errs[0], errs[1:]
		}
		returned <- err
		return err
	})
	go c.Run(t.Context(), 1)
	return operator, returned
}

// next returns what the channel has next.
func next[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing came in ten seconds")
	}
	return value
}

func TestAWriteConflictIsRetriedAndNotReported(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("it has changed"))
	operator, synced := run(t, conflict)
	require.ErrorIs(t, next(t, synced), conflict)
	require.NoError(t, next(t, synced), "it syncs again by itself")
	for status := operatorv1.ConditionStatus(""); status != operatorv1.ConditionFalse; {
		status = next(t, operator.applied)
		require.NotEqual(t, operatorv1.ConditionTrue, status)
	}
}

func TestAnyOtherErrorIsACondition(t *testing.T) {
	operator, synced := run(t, errors.New("forbidden"))
	require.EqualError(t, next(t, synced), "forbidden")
	require.Equal(t, operatorv1.ConditionTrue, next(t, operator.applied))
	require.NoError(t, next(t, synced))
	require.Equal(t, operatorv1.ConditionFalse, next(t, operator.applied))
}

// library-go's queue doubles its wait with each failure, up to 1000 seconds.
func TestAControllerThatFailedForLongTriesAgainWithinHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// apimachinery's HandleError waits until a moment after the real start of this process.
		<-time.After(100 * 365 * 24 * time.Hour)
		recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
		syncCtx := factory.NewSyncContext("Test", recorder)
		syncCtx.Queue().Add(factory.DefaultQueueKey)
		var calls []time.Time
		c := reconciler.Unreported(factory.New().WithSyncContext(syncCtx), "Test", recorder,
			func(context.Context, factory.SyncContext) error {
				calls = append(calls, time.Now())
				return errors.New("forbidden")
			})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		c.Run(ctx, 1)
		longest := time.Duration(0)
		for i := 1; i < len(calls); i++ {
			longest = max(longest, calls[i].Sub(calls[i-1]))
		}
		require.Equal(t, 30*time.Second, longest.Round(time.Second))
		require.Greater(t, len(calls), 20)
	})
}
