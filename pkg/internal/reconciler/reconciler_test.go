package reconciler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
)

// run runs a controller, after one event. Its syncs return these errors, one after the other, and then nil.
func run(t *testing.T, errs ...error) (operator v1helpers.OperatorClient, synced <-chan error) {
	t.Helper()
	operator = v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil)
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

func degraded(t *testing.T, operator v1helpers.OperatorClient) (status operatorv1.ConditionStatus, message string) {
	t.Helper()
	_, current, _, err := operator.GetOperatorState()
	require.NoError(t, err)
	if condition := v1helpers.FindOperatorCondition(current.Conditions, "TestDegraded"); condition != nil {
		return condition.Status, condition.Message
	}
	return "", ""
}

func TestAWriteConflictIsRetriedAndNotReported(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "a", errors.New("it has changed"))
	operator, synced := run(t, conflict)
	require.ErrorIs(t, <-synced, conflict)
	require.NoError(t, <-synced, "it syncs again by itself")
	status, _ := degraded(t, operator)
	require.NotEqual(t, operatorv1.ConditionTrue, status)
}

func TestAnyOtherErrorIsACondition(t *testing.T) {
	operator, _ := run(t, errors.New("forbidden"), errors.New("forbidden"), errors.New("forbidden"))
	require.Eventually(t, func() bool {
		status, message := degraded(t, operator)
		return status == operatorv1.ConditionTrue && message == "forbidden"
	}, 10*time.Second, time.Millisecond)
}
