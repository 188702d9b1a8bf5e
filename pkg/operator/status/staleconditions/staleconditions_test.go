package staleconditions_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/staleconditions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestConditionsOfAnotherReleaseAreRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		types []string
		want  string
	}{
		"those of this release stay": {types: []string{"CloudConfigDegraded", "PreflightNotices"}},
		"a later release's controller failed while this release's rights were applied": {
			types: []string{"CloudConfigDegraded", "FutureControllerDegraded", "PreflightNotices"},
			want: `[{"op":"test","path":"/status/conditions/1/reason","value":"SyncError"},` +
				`{"op":"test","path":"/status/conditions/1/type","value":"FutureControllerDegraded"},` +
				`{"op":"remove","path":"/status/conditions/1"}]`,
		},
		"every suffix that the ClusterOperator or a report reads": {
			types: []string{"FutureAvailable", "FutureProgressing", "FutureUpgradeable", "FutureNotices"},
			want: `[{"op":"test","path":"/status/conditions/0/reason","value":"SyncError"},` +
				`{"op":"test","path":"/status/conditions/0/type","value":"FutureAvailable"},` +
				`{"op":"remove","path":"/status/conditions/0"},` +
				`{"op":"test","path":"/status/conditions/0/reason","value":"SyncError"},` +
				`{"op":"test","path":"/status/conditions/0/type","value":"FutureProgressing"},` +
				`{"op":"remove","path":"/status/conditions/0"},` +
				`{"op":"test","path":"/status/conditions/0/reason","value":"SyncError"},` +
				`{"op":"test","path":"/status/conditions/0/type","value":"FutureUpgradeable"},` +
				`{"op":"remove","path":"/status/conditions/0"},` +
				`{"op":"test","path":"/status/conditions/0/reason","value":"SyncError"},` +
				`{"op":"test","path":"/status/conditions/0/type","value":"FutureNotices"},` +
				`{"op":"remove","path":"/status/conditions/0"}]`,
		},
		"the record of a step stays, because the next release goes on from it": {types: []string{"FutureStep", "Removing"}},
	} {
		t.Run(name, func(t *testing.T) {
			status := &operatorv1.OperatorStatus{}
			for _, conditionType := range tc.types {
				status.Conditions = append(status.Conditions, operatorv1.OperatorCondition{
					Type: conditionType, Status: operatorv1.ConditionTrue, Reason: "SyncError",
				})
			}
			client := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{}, status, nil)
			recorder := events.NewInMemoryRecorder("test", clock.RealClock{})
			controller := staleconditions.New(
				controllertest.Complete(t, dependencies.Deps{Operator: controllertest.StaticPods(client), Recorder: recorder}),
				[]string{"CloudConfigDegraded", "PreflightNotices"},
			)
			require.NoError(t, controller.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
			if tc.want == "" {
				require.Nil(t, client.GetPatchedOperatorStatus())
				return
			}
			patch, err := client.GetPatchedOperatorStatus().Marshal()
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(patch))
		})
	}
}
