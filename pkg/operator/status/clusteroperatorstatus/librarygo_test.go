package clusteroperatorstatus

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// These are the reasons for successor: what the predecessor wrote, and an operator that has no condition yet.
func TestWhatTheStatusControllerDoesByItself(t *testing.T) {
	existing := &configv1.ClusterOperator{
		ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"},
		Status: configv1.ClusterOperatorStatus{Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: "Available", Status: "True", Reason: "AsExpected"}, {Type: "CloudConfigControllerDegraded", Status: "False"},
		}},
	}
	client := configfake.NewClientset(existing)
	clusterOperators := configinformers.NewSharedInformerFactory(client, 0).Config().V1().ClusterOperators()
	require.NoError(t, clusterOperators.Informer().GetIndexer().Add(existing))
	recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
	controller := status.NewClusterOperatorStatusController("cloud-controller-manager", nil, client.ConfigV1(),
		clusterOperators, v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, nil),
		status.NewVersionGetter(), recorder, clock.RealClock{})
	require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))

	got, err := client.ConfigV1().ClusterOperators().Get(t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	conditions := map[configv1.ClusterStatusConditionType]string{}
	for _, c := range got.Status.Conditions {
		conditions[c.Type] = string(c.Status) + " " + c.Reason
	}
	require.Equal(t, "Unknown "+noData, conditions["Available"], "it forgets the former one")
	require.Equal(t, "False ", conditions["CloudConfigControllerDegraded"], "it keeps what it does not know")
}
