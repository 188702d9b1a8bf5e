package clusteroperatorstatus

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

func TestTheSummaryHasTheMostAlarmingMessage(t *testing.T) {
	const yes, no, unknown = configv1.ConditionTrue, configv1.ConditionFalse, configv1.ConditionUnknown
	condition := func(conditionType configv1.ClusterStatusConditionType, status configv1.ConditionStatus, message string) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{Type: conditionType, Status: status, Message: message}
	}
	for name, tc := range map[string]struct {
		available, progressing, degraded configv1.ConditionStatus
		want                             string
	}{
		"all is well":                       {yes, no, no, "3 of 3; one leads"},
		"a rollout":                         {yes, yes, no, "rolling"},
		"a rollout of a degraded operator":  {yes, yes, yes, "broken"},
		"an outage of a degraded operator":  {no, yes, yes, "broken"},
		"an outage in a rollout":            {no, yes, no, "3 of 3; one leads"},
		"nothing is known but availability": {yes, unknown, unknown, "3 of 3; one leads"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, &ccmv1.Summary{Available: tc.available, Progressing: tc.progressing, Degraded: tc.degraded, Message: tc.want},
				summarize([]configv1.ClusterOperatorStatusCondition{
					condition("Available", tc.available, "3 of 3\none leads"), condition("Progressing", tc.progressing, "rolling"),
					condition("Degraded", tc.degraded, "broken"), condition("Upgradeable", no, "never"),
				}))
		})
	}
	require.Equal(t, &ccmv1.Summary{Available: unknown, Progressing: unknown, Degraded: unknown}, summarize(nil))
}
