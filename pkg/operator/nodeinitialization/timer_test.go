package nodeinitialization

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/internal/controllertest"
)

func TestItComesBackByItselfWhenANodeHasWaitedForTooLong(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	recorder := events.NewInMemoryRecorder("test", clock)
	operator := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
	}, &operatorv1.OperatorStatus{}, nil)
	c := New(Options{Operator: operator, Clock: clock, Recorder: recorder}).(*controller)
	first, second := node("first", 3*time.Minute, uninit), node("second", 10*time.Second, uninit)
	require.NoError(t, c.store.Replace([]any{first, second}, "1"))

	calls, err := controllertest.NewTimer(clock, recorder).Run(t.Context(), c.Sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 20 * time.Second, 2 * time.Minute, 4*time.Minute + 50*time.Second}, calls)
	_, status, _, err := operator.GetOperatorState()
	require.NoError(t, err)
	degraded := v1helpers.FindOperatorCondition(status.Conditions, DegradedCondition)
	require.NotNil(t, degraded)
	require.Equal(t, operatorv1.ConditionTrue, degraded.Status)
	require.Contains(t, degraded.Message,
		"node/first (since 2026-11-21T08:57:00Z), node/second (since 2026-11-21T08:59:50Z)")
}
