package clusteroperatorstatus

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	configfake "github.com/openshift/client-go/config/clientset/versioned/fake"
	configv1listers "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func TestThePredecessorsStatusIsContinued(t *testing.T) {
	clusterOperator := func(conditions ...configv1.ClusterOperatorStatusCondition) *configv1.ClusterOperator {
		return &configv1.ClusterOperator{
			ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager"}, Status: configv1.ClusterOperatorStatus{Conditions: conditions},
		}
	}
	is := func(conditionType configv1.ClusterStatusConditionType, status configv1.ConditionStatus, reason string) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{Type: conditionType, Status: status, Reason: reason}
	}
	for name, tc := range map[string]struct {
		existing, wanted, updated []configv1.ClusterOperatorStatusCondition
	}{
		"a condition without data keeps its value": {
			existing: []configv1.ClusterOperatorStatusCondition{is("Available", "True", "AsExpected")},
			wanted:   []configv1.ClusterOperatorStatusCondition{is("Available", "Unknown", "NoData"), is("Degraded", "False", "AsExpected")},
			updated:  []configv1.ClusterOperatorStatusCondition{is("Available", "True", "AsExpected"), is("Degraded", "False", "AsExpected")},
		},
		"a new ClusterOperator has no value to keep": {
			wanted:  []configv1.ClusterOperatorStatusCondition{is("Available", "Unknown", "NoData")},
			updated: []configv1.ClusterOperatorStatusCondition{is("Available", "Unknown", "NoData")},
		},
		"a condition with data replaces the predecessor's": {
			existing: []configv1.ClusterOperatorStatusCondition{is("Available", "True", "AsExpected")},
			wanted:   []configv1.ClusterOperatorStatusCondition{is("Available", "False", "NoReadyPod")},
			updated:  []configv1.ClusterOperatorStatusCondition{is("Available", "False", "NoReadyPod")},
		},
		"the conditions of the predecessor's controllers go": {
			wanted: []configv1.ClusterOperatorStatusCondition{
				is("CloudConfigControllerAvailable", "True", "AsExpected"), is("CloudConfigControllerDegraded", "True", "SyncFailed"),
				is("TrustedCABundleControllerControllerAvailable", "True", "AsExpected"),
				is("TrustedCABundleControllerControllerDegraded", "False", "AsExpected"), is("Upgradeable", "True", "AsExpected"),
			},
			updated: []configv1.ClusterOperatorStatusCondition{is("Upgradeable", "True", "AsExpected")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
			require.NoError(t, indexer.Add(clusterOperator(tc.existing...)))
			client := configfake.NewClientset(clusterOperator(tc.existing...))
			wanted := clusterOperator(tc.wanted...)
			updated, err := successor{client.ConfigV1().ClusterOperators(), configv1listers.NewClusterOperatorLister(indexer)}.ClusterOperators().
				UpdateStatus(t.Context(), wanted, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.updated, updated.Status.Conditions)
			require.Equal(t, tc.wanted, wanted.Status.Conditions, "the caller's object stays")
		})
	}
}
