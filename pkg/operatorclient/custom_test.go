package operatorclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	withCustom = `{"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager", "metadata": {"name": "cluster", "resourceVersion": "7"},
		"spec": {"managementState": "Managed", "removalPolicy": "Force", "nodeInitialization": {"maxConcurrentNodes": 7}, "custom": {"image": "registry/ccm:1", "env": [{"name": "A", "value": ""}],
			"secrets": [{"name": "a", "delivery": "Reloaded"}], "probe": {"port": 9999}}},
		"status": {}}`
	// The first events of a watch: all objects, then the end of the list.
	initial = `{"type": "ADDED", "object": ` + withCustom + `}
		{"type": "BOOKMARK", "object": {"apiVersion": "operator.openshift.io/v1", "kind": "CloudControllerManager",
			"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}}`
)

// api serves the operator resource and sends every update to updates.
func api(t *testing.T, updates chan<- map[string]any) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method {
		case http.MethodPut:
			body, err := io.ReadAll(r.Body)
			object := map[string]any{}
			if err != nil || json.Unmarshal(body, &object) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			updates <- object
			_, _ = w.Write(body)
		default:
			_, _ = io.WriteString(w, initial)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// library-go knows only the fields of its own types. Its updates must keep our other fields.
func TestNoUpdateLosesSpecCustom(t *testing.T) {
	updates := make(chan map[string]any, 2)
	client, informers, err := operatorclient.New(clock.RealClock{}, api(t, updates))
	require.NoError(t, err)
	custom, policy := operatorclient.Field(informers, operatorclient.Custom), operatorclient.Field(informers, operatorclient.RemovalPolicy)
	initialization := operatorclient.Field(informers, operatorclient.NodeInitialization)
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())

	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(withCustom), &want))
	wantCustom := want["spec"].(map[string]any)["custom"]
	observed := runtime.RawExtension{Raw: []byte(`{"platform":"external"}`)}

	_, _, err = client.UpdateOperatorSpec(t.Context(), "7", &operatorv1.OperatorSpec{ManagementState: operatorv1.Managed, ObservedConfig: observed})
	require.NoError(t, err)
	updated := <-updates
	require.Equal(t, wantCustom, updated["spec"].(map[string]any)["custom"])
	require.Equal(t, map[string]any{"platform": "external"}, updated["spec"].(map[string]any)["observedConfig"])
	require.Equal(t, "Force", updated["spec"].(map[string]any)["removalPolicy"])
	require.Equal(t, map[string]any{"maxConcurrentNodes": float64(7)}, updated["spec"].(map[string]any)["nodeInitialization"])

	_, _, err = client.UpdateStaticPodOperatorSpec(t.Context(), "7", &operatorv1.StaticPodOperatorSpec{
		OperatorSpec: operatorv1.OperatorSpec{ManagementState: operatorv1.Managed, ObservedConfig: observed}, ForceRedeploymentReason: "because",
	})
	require.NoError(t, err)
	updated = <-updates
	require.Equal(t, wantCustom, updated["spec"].(map[string]any)["custom"])

	read, err := custom()
	require.NoError(t, err)
	require.Equal(t, &ccmv1.CustomCloudControllerManager{
		Image:   "registry/ccm:1",
		Env:     []ccmv1.CustomCloudControllerManagerEnvVar{{Name: "A", Value: ptr.To("")}},
		Secrets: []ccmv1.CustomCloudControllerManagerSecret{{Name: "a", Delivery: ccmv1.CustomCloudControllerManagerSecretDeliveryReloaded}},
		Probe:   &ccmv1.CustomCloudControllerManagerProbe{Port: 9999},
	}, read)
	wanted, err := initialization()
	require.NoError(t, err)
	require.Equal(t, &ccmv1.CloudControllerManagerNodeInitialization{MaxConcurrentNodes: 7}, wanted)
	force, err := policy()
	require.NoError(t, err)
	require.Equal(t, ccmv1.CloudControllerManagerRemovalPolicyForce, force)
}

func TestARemovalIsSafeUnlessTheResourceSaysOtherwise(t *testing.T) {
	_, informers, err := operatorclient.New(clock.RealClock{}, &rest.Config{})
	require.NoError(t, err)
	policy, err := operatorclient.Field(informers, operatorclient.RemovalPolicy)()
	require.NoError(t, err)
	require.Equal(t, ccmv1.CloudControllerManagerRemovalPolicySafe, policy)
}

func TestWithoutTheResourceThereIsNoSpecCustom(t *testing.T) {
	_, informers, err := operatorclient.New(clock.RealClock{}, &rest.Config{})
	require.NoError(t, err)
	read, err := operatorclient.Field(informers, operatorclient.Custom)()
	require.NoError(t, err)
	require.Nil(t, read)
}

func TestWithoutTheResourceThePlatformDecidesHowManyNodesAreInitializedAtATime(t *testing.T) {
	_, informers, err := operatorclient.New(clock.RealClock{}, &rest.Config{})
	require.NoError(t, err)
	wanted, err := operatorclient.Field(informers, operatorclient.NodeInitialization)()
	require.NoError(t, err)
	require.Nil(t, wanted)
}
