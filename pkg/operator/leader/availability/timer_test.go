package availability

import (
	"context"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

// No event occurs after the lease's holder stops, so only a timer can detect the expiry.
func TestItComesBackByItselfWhenTheLeaseIsNotRenewed(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(begin)
	recorder := events.NewInMemoryRecorder("test", clock)
	c, operator := threeMasters().controller(t, "openstack", clock)
	timer := controllertest.NewTimer(clock, recorder)
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		_, before, _, err := operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		defer dateConditions(t, operator, before.DeepCopy(), clock.Now())
		return c.Sync(ctx, syncCtx)
	}
	status := func(conditionType string) operatorv1.ConditionStatus {
		_, current, _, err := operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		found := v1helpers.FindOperatorCondition(current.Conditions, conditionType)
		require.NotNil(t, found, conditionType)
		return found.Status
	}

	_, err := timer.Run(t.Context(), sync, time.Minute)
	require.NoError(t, err)
	require.Equal(t, operatorv1.ConditionTrue, status(AvailableCondition), "the lease lasts for another minute")
	_, err = timer.Run(t.Context(), sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, operatorv1.ConditionFalse, status(AvailableCondition))
	require.Equal(t, operatorv1.ConditionTrue, status(DegradedCondition))
}

// dateConditions sets the conditions' transition times from the fake clock, as the real client does.
func dateConditions(
	t *testing.T, operator v1helpers.StaticPodOperatorClient, before *operatorv1.StaticPodOperatorStatus, now time.Time,
) {
	t.Helper()
	_, status, version, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	status = status.DeepCopy()
	// The fake client drops the transition times.
	status.NodeStatuses = before.NodeStatuses
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastTransitionTime = metav1.NewTime(now)
		if previous := v1helpers.FindOperatorCondition(before.Conditions, c.Type); previous != nil && previous.Status == c.Status {
			c.LastTransitionTime = previous.LastTransitionTime
		}
	}
	_, err = operator.UpdateStaticPodOperatorStatus(t.Context(), version, status)
	require.NoError(t, err)
}
