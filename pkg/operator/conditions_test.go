package operator

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

func TestAConditionOfAnotherReleaseGoesAndTheOwnOnesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWorld(t)
		defer func() {
			synctest.Wait()
			w.stop()
			require.NoError(t, <-w.ended)
		}()
		<-time.After(time.Minute)
		var own []string
		for _, condition := range w.conditions(t) {
			own = append(own, condition.Type)
		}
		require.Contains(t, own, "NodeInstallerProgressing")

		resource := w.resource(t)
		conditions, _, err := unstructured.NestedSlice(resource.Object, "status", "conditions")
		require.NoError(t, err)
		require.NoError(t, unstructured.SetNestedSlice(resource.Object, append(conditions, map[string]any{
			"type": "FutureControllerDegraded", "status": "True", "reason": "SyncError", "message": "forbidden",
			"lastTransitionTime": "2100-01-01T00:00:00Z",
		}), "status", "conditions"))
		w.Set(t, resource)
		<-time.After(time.Minute)
		var left []string
		for _, condition := range w.conditions(t) {
			left = append(left, condition.Type)
		}
		require.Equal(t, own, left)
	})
}

// A release applies its conditions under the names of its controllers. Another release may have other names, and the
// API server keeps each field that a former name has applied and no other one applies.
func TestOfWhatAFormerFieldManagerAppliedNothingIsLeftInAnyCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWorld(t)
		defer func() {
			synctest.Wait()
			w.stop()
			require.NoError(t, <-w.ended)
		}()
		<-time.After(5 * time.Minute)
		want := w.conditions(t)
		var former []any
		for i := range want {
			former = append(former, map[string]any{
				"type": want[i].Type, "status": "Unknown", "reason": "Former", "message": "left by a former release",
				"lastTransitionTime": "2100-01-01T00:00:00Z",
			})
			want[i].LastTransitionTime = metav1.Time{}
		}
		body, err := json.Marshal(map[string]any{
			"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
			"metadata": map[string]any{"name": "cluster"}, "status": map[string]any{"conditions": former},
		})
		require.NoError(t, err)
		require.NoError(t, w.kube.CoreV1().RESTClient().Patch(types.ApplyPatchType).
			AbsPath("/apis/operator.openshift.io/v1/cloudcontrollermanagers/cluster/status").
			Param("fieldManager", "former").Param("force", "true").Body(body).Do(t.Context()).Error())
		<-time.After(10 * time.Minute)
		left := w.conditions(t)
		for i := range left {
			left[i].LastTransitionTime = metav1.Time{}
		}
		require.Equal(t, want, left)
	})
}

// Each of these may report its errors in a condition of its name.
func TestTheConditionOfEveryControllerStays(t *testing.T) {
	o, cc := assemble(t, apitest.Start(t, addToScheme))
	w, err := newWiring(o, cc)
	require.NoError(t, err)
	stay := conditionsOf(w.controllers())
	for _, name := range allControllers {
		if !slices.Contains(silentControllers, name) {
			require.Contains(t, stay, name+"Degraded")
		}
	}
}

// While another release's manifests are applied, each controller may lack a right that they take from it. Its operator
// ends seconds later.
func TestTheClusterOperatorDoesNotReportAtOnceThatAControllerLacksARight(t *testing.T) {
	for _, name := range allControllers {
		failed := operatorv1.OperatorCondition{Type: name + "Degraded", Status: operatorv1.ConditionTrue, Reason: "SyncError"}
		require.GreaterOrEqual(t, Inertia().Of(failed), 2*time.Minute, name)
	}
}

// silentControllers are those of library-go that write no condition of their own name, or one with another name.
var silentControllers = []string{
	"Installer", "PruneController", "cloud-controller-manager-InstallerState", "cloud-controller-manager-Node",
	"cloud-controller-manager-StaticPodState", "StatusSyncer_cloud-controller-manager", "cloud-controller-manager-UnsupportedConfigOverrides",
}
