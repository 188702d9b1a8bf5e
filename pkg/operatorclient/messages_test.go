package operatorclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

func TestTheCommandThatAcceptsAValueFitsInACondition(t *testing.T) {
	const command = "oc annotate --overwrite cloudcontrollermanager cluster " +
		"cloudcontrollermanager.operator.openshift.io/accepted-preflight="
	many := strings.Repeat("0a9daf3b3cf1,", 500) + "0a9daf3b3cf2"
	for name, tc := range map[string]struct{ annotation, want string }{
		"the first one":            {"", "value"},
		"another one":              {"former", "former,value"},
		"an annotation with space": {"first, second", "first,second,value"},
		"too many":                 {many, strings.Repeat("0a9daf3b3cf1,", 30) + "0a9daf3b3cf2,value"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, command+tc.want, operatorclient.AcceptCommand(tc.annotation, "value"))
		})
	}
}

// A former release applied the message of CloudConfigDegraded as another manager. That of OtherDegraded is empty.
const healed = `{
	"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
	"metadata": {"name": "cluster", "resourceVersion": "7", "managedFields": [
		{"manager": "former", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1",
			"subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {
			"k:{\"type\":\"CloudConfigDegraded\"}": {".": {}, "f:type": {}, "f:message": {}}}}}},
		{"manager": "present", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1",
			"subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {
			"k:{\"type\":\"CloudConfigDegraded\"}": {".": {}, "f:type": {}, "f:status": {}, "f:reason": {},
				"f:lastTransitionTime": {}}}}}},
		{"manager": "other", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1",
			"subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {
			"k:{\"type\":\"OtherDegraded\"}": {".": {}, "f:type": {}, "f:status": {}, "f:reason": {}, "f:message": {},
				"f:lastTransitionTime": {}}}}}},
		{"manager": "library-go", "operation": "Apply", "apiVersion": "operator.openshift.io/v1", "fieldsType": "FieldsV1",
			"subresource": "status", "fieldsV1": {"f:status": {"f:conditions": {
			"k:{\"type\":\"InstallerDegraded\"}": {".": {}, "f:type": {}, "f:status": {}, "f:lastTransitionTime": {}}}}}}
	]},
	"status": {"conditions": [
		{"type": "CloudConfigDegraded", "status": "False", "reason": "AsExpected", "message": "unknown section",
			"lastTransitionTime": "2026-01-01T00:00:00Z"},
		{"type": "OtherDegraded", "status": "False", "reason": "AsExpected", "message": "",
			"lastTransitionTime": "2026-01-01T00:00:00Z"},
		{"type": "InstallerDegraded", "status": "False", "reason": "Error", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	]}
}`

func TestAConditionWithoutATextReplacesThatOfAFormerManager(t *testing.T) {
	applied := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			applied <- string(body)
			_, _ = io.WriteString(w, healed)
			return
		}
		_, _ = io.WriteString(w, `{"type": "ADDED", "object": `+healed+`}
			{"type": "BOOKMARK", "object": {"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
			"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	client, informers, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL})
	require.NoError(t, err)
	client.Informer()
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())

	for name, tc := range map[string]struct {
		manager   string
		condition *operatorclient.Condition
		want      string
	}{
		"the message of a former manager": {
			manager: "present", condition: operatorclient.AsExpected("CloudConfigDegraded"),
			want: `[{"type": "CloudConfigDegraded", "status": "False", "reason": "AsExpected", "message": "",
				"lastTransitionTime": "2026-01-01T00:00:00Z"}]`,
		},
		"a condition of library-go, whose controllers omit an empty message": {
			manager: "present", condition: applyoperatorv1.OperatorCondition().WithType("CloudConfigDegraded").
					WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected"),
			want: `[{"type": "CloudConfigDegraded", "status": "False", "reason": "AsExpected", "message": "",
				"lastTransitionTime": "2026-01-01T00:00:00Z"}]`,
		},
		"the reason of a former manager, which library-go's controllers omit too": {
			manager: "library-go", condition: applyoperatorv1.OperatorCondition().WithType("InstallerDegraded").
					WithStatus(operatorv1.ConditionFalse),
			want: `[{"type": "InstallerDegraded", "status": "False", "reason": "", "message": "",
				"lastTransitionTime": "2026-01-01T00:00:00Z"}]`,
		},
		"an empty message of its own is not applied again": {
			manager: "other", condition: operatorclient.AsExpected("OtherDegraded"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, client.ApplyOperatorStatus(t.Context(), tc.manager,
				applyoperatorv1.OperatorStatus().WithConditions(tc.condition)))
			if tc.want == "" {
				require.Empty(t, applied)
				return
			}
			require.NotEmpty(t, applied, "nothing was applied, so the text stays")
			var got struct {
				Status struct {
					Conditions json.RawMessage `json:"conditions"`
				} `json:"status"`
			}
			require.NoError(t, json.Unmarshal([]byte(<-applied), &got))
			require.JSONEq(t, tc.want, string(got.Status.Conditions))
		})
	}
}
