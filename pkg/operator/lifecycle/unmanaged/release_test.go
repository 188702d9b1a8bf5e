package unmanaged

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
)

// The availability controller may own a part of a condition, which must not remain without the rest.
func TestConditionsOfTwoOwnersAreRemovedAsAWhole(t *testing.T) {
	written := conditions("Removed", "it is removed")
	written[1] = operatorv1.OperatorCondition{Type: "CloudControllerManagerProgressing", Status: "True", Reason: "FirstRollout"}
	client := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
		ObservedConfig: runtime.RawExtension{Raw: []byte(`{"platform":"openstack"}`)},
	}, &operatorv1.OperatorStatus{Conditions: written}, nil)
	recorder := events.NewInMemoryRecorder("test", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	c := newTestController(t, client, recorder)
	require.NoError(t, c.Sync(t.Context(), factory.NewSyncContext("test", recorder)))
	patch, err := client.GetPatchedOperatorStatus().Marshal()
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"op": "test", "path": "/status/conditions/0/reason", "value": "Removed"},
		{"op": "test", "path": "/status/conditions/0/type", "value": "CloudControllerManagerAvailable"},
		{"op": "remove", "path": "/status/conditions/0"},
		{"op": "test", "path": "/status/conditions/1/reason", "value": "Removed"},
		{"op": "test", "path": "/status/conditions/1/type", "value": "CloudControllerManagerDegraded"},
		{"op": "remove", "path": "/status/conditions/1"}
	]`, string(patch))
}
