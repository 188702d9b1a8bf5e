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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/internal/controllertest"
)

// Nothing happens any more once the holder of the lease stands still: no event, and so nobody but a timer to notice.
func TestItComesBackByItselfWhenTheLeaseIsNotRenewed(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(now)
	recorder := events.NewInMemoryRecorder("test", clock)
	spec := &operatorv1.StaticPodOperatorSpec{OperatorSpec: operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
	}}
	operator := v1helpers.NewFakeStaticPodOperatorClient(spec, &operatorv1.StaticPodOperatorStatus{
		NodeStatuses: []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1}},
	}, nil, nil)
	kube := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	c := New(Options{
		Operator: operator, Pods: kube.Core().V1().Pods(), Leases: kube.Coordination().V1().Leases(),
		Clock: clock, Recorder: recorder,
	})
	require.NoError(t, kube.Core().V1().Pods().Informer().GetStore().Add(pod("master-0", true)))
	require.NoError(t, kube.Coordination().V1().Leases().Informer().GetStore().Add(lease("master-0"+uuid, 0)))
	timer := controllertest.NewTimer(clock, recorder)
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		_, before, _, err := operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		defer stamp(t, operator, before.DeepCopy(), clock.Now())
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

// stamp dates the conditions by the fake clock, as the real client does.
func stamp(
	t *testing.T, operator v1helpers.StaticPodOperatorClient, before *operatorv1.StaticPodOperatorStatus, now time.Time,
) {
	t.Helper()
	_, status, version, err := operator.GetStaticPodOperatorState()
	require.NoError(t, err)
	status = status.DeepCopy()
	// The fake client drops them.
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
