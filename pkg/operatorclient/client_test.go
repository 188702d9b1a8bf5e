package operatorclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// resource is the operator resource after two managers have applied a condition each.
const resource = `{
	"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
	"metadata": {"name": "cluster", "managedFields": [
		{"manager": "first", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1", "subresource": "status",
			"fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"FirstDegraded\"}": {".": {}, "f:type": {}, "f:status": {}}}}}},
		{"manager": "second", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1", "subresource": "status",
			"fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"SecondDegraded\"}": {".": {}, "f:type": {}, "f:status": {}}}}}},
		{"manager": "second", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1",
			"fieldsV1": {"f:spec": {"f:logLevel": {}}}}
	]},
	"spec": {"logLevel": "Debug", "managementState": "Managed"},
	"status": {"conditions": [
		{"type": "FirstDegraded", "status": "True"},
		{"type": "SecondDegraded", "status": "False"}
	]}
}`

func TestAManagerOwnsWhatItAppliedAndNothingElse(t *testing.T) {
	object := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(resource), &object.Object))
	for name, tc := range map[string]struct {
		manager              string
		wantStatus, wantSpec string
	}{
		"the first":                           {manager: "first", wantStatus: `{"conditions": [{"type": "FirstDegraded", "status": "True"}]}`, wantSpec: `null`},
		"the second":                          {manager: "second", wantStatus: `{"conditions": [{"type": "SecondDegraded", "status": "False"}]}`, wantSpec: `{"logLevel": "Debug"}`},
		"one that has never applied anything": {manager: "third", wantStatus: `null`, wantSpec: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := (&decoded{}).appliedStatus(object, tc.manager)
			require.NoError(t, err)
			got, err := json.Marshal(status)
			require.NoError(t, err)
			require.JSONEq(t, tc.wantStatus, string(got))

			spec, err := appliedSpec(object, tc.manager)
			require.NoError(t, err)
			got, err = json.Marshal(spec)
			require.NoError(t, err)
			require.JSONEq(t, tc.wantSpec, string(got))
		})
	}
}

func TestAResourceOfAnotherShapeIsAnError(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "cluster"}, "status": "none"}}
	_, err := (&decoded{}).appliedStatus(object, "first")
	require.ErrorContains(t, err, "reading cloudcontrollermanager/cluster: ")
}

func TestWhatAManagerAppliedIsExtractedOncePerObjectOfTheInformer(t *testing.T) {
	var statuses decoded
	types := func(object *unstructured.Unstructured, manager string) []string {
		t.Helper()
		status, err := statuses.appliedStatus(object, manager)
		require.NoError(t, err)
		var got []string
		for _, condition := range status.Conditions {
			got = append(got, *condition.Type)
		}
		// A caller that reorders or empties its list does not change the next answer.
		clear(status.Conditions)
		return got
	}
	object := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(resource), &object.Object))
	require.Equal(t, []string{"FirstDegraded"}, types(object, "first"))
	require.Equal(t, []string{"FirstDegraded"}, types(object, "first"))
	require.Equal(t, []string{"SecondDegraded"}, types(object, "second"))
	again := testing.AllocsPerRun(10, func() { types(object, "first") })
	require.Less(t, again, 10.0)

	// The informer replaces its object, here by one with the same resource version.
	other := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(resource, "FirstDegraded", "OtherDegraded")), &other.Object))
	require.Equal(t, []string{"OtherDegraded"}, types(other, "first"))
	require.Equal(t, []string{"FirstDegraded"}, types(object, "first"))
}
