package reconciler

import (
	"context"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
)

// This is the reason for Retried.
func TestWhatAControllerReportsOfAConflictByItself(t *testing.T) {
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil)
	ctx, end := context.WithCancel(t.Context())
	syncs := 0
	factory.New().
		WithSync(func(context.Context, factory.SyncContext) error {
			syncs++
			if syncs == 2 { // the condition about the first one is written
				end()
			}
			return conflict
		}).
		WithPostStartHooks(func(_ context.Context, syncCtx factory.SyncContext) error {
			syncCtx.Queue().Add(syncCtx.QueueKey())
			return nil
		}).
		WithSyncDegradedOnError(operator).
		ToController("A", events.NewInMemoryRecorder("test", clock.RealClock{})).
		Run(ctx, 1)
	_, status, _, err := operator.GetOperatorState()
	require.NoError(t, err)
	degraded := v1helpers.FindOperatorCondition(status.Conditions, "ADegraded")
	require.NotNil(t, degraded)
	require.Equal(t, operatorv1.ConditionTrue, degraded.Status)
	require.Equal(t, conflict.Error(), degraded.Message)
}
