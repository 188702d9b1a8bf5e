package nodeinitialization

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestItComesBackByItselfWhenANodeHasWaitedForTooLong(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	first, second := node("first", 3*time.Minute, uninit), node("second", 10*time.Second, uninit)
	require.NoError(t, c.controller.store.Replace([]any{first, second}, "1"))

	recorder := events.NewInMemoryRecorder("test", c.clock)
	calls, err := controllertest.NewTimer(c.clock, recorder).Run(t.Context(), c.controller.Sync, 5*time.Minute)
	require.NoError(t, err)
	var seconds []int
	for _, call := range calls {
		seconds = append(seconds, int(call/time.Second))
	}
	// Both are reported in time, and the cause is looked for every half minute.
	require.Equal(t, []int{0, 20, 50, 80, 110, 120, 150, 180, 210, 240, 270, 290}, seconds)
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	degraded := v1helpers.FindOperatorCondition(status.Conditions, DegradedCondition)
	require.NotNil(t, degraded)
	require.Equal(t, operatorv1.ConditionTrue, degraded.Status)
	require.Contains(t, degraded.Message,
		"node/first (since 2026-11-21T08:57:00Z), node/second (since 2026-11-21T08:59:50Z)")
}

func TestItSetsNoTimerWhileNoNodeWaits(t *testing.T) {
	c := start(t, `{"platform":"openstack"}`)
	require.NoError(t, c.controller.store.Replace([]any{node("initialized", time.Hour)}, "1"))
	calls, err := controllertest.NewTimer(c.clock, events.NewInMemoryRecorder("test", c.clock)).Run(t.Context(), c.controller.Sync, time.Hour)
	require.NoError(t, err)
	require.Len(t, calls, 1)
}
