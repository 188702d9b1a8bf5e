package operatorclient_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

func TestEveryReadOfTheResourceThatFailsNamesIt(t *testing.T) {
	missing := apierrors.NewNotFound(ccmv1.Resource.GroupResource(), operatorclient.Instance)
	missing.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	answer, err := json.Marshal(missing.ErrStatus)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	client, _, err := operatorclient.New(clock.RealClock{}, &rest.Config{Host: server.URL})
	require.NoError(t, err)

	_, meta := client.GetObjectMeta()
	_, _, _, state := client.GetOperatorState()
	_, _, _, liveState := client.GetOperatorStateWithQuorum(t.Context())
	_, _, _, nodes := client.GetStaticPodOperatorState()
	_, _, _, liveNodes := client.GetStaticPodOperatorStateWithQuorum(t.Context())
	_, _, beforeUpdate := client.UpdateOperatorSpec(t.Context(), "7", &operatorv1.OperatorSpec{})
	for read, err := range map[string]error{
		"GetObjectMeta":                       meta,
		"GetOperatorState":                    state,
		"GetOperatorStateWithQuorum":          liveState,
		"GetStaticPodOperatorState":           nodes,
		"GetStaticPodOperatorStateWithQuorum": liveNodes,
		"the one before an update":            beforeUpdate,
	} {
		require.EqualError(t, err, "reading cloudcontrollermanager/cluster: "+
			`cloudcontrollermanagers.operator.openshift.io "cluster" not found`, read)
		require.True(t, apierrors.IsNotFound(err), read)
	}
}

func TestAVersionOfTheResourceIsDecodedOnceAndEachReadGetsACopy(t *testing.T) {
	client, informers, err := operatorclient.New(clock.RealClock{}, api(t, nil))
	require.NoError(t, err)
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())

	_, _, version, err := client.GetOperatorState()
	require.NoError(t, err)
	require.Equal(t, "7", version)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _, _, _ = client.GetStaticPodOperatorState() }), 10.0)

	spec, status, _, err := client.GetStaticPodOperatorState()
	require.NoError(t, err)
	spec.LogLevel, status.LatestAvailableRevision = operatorv1.TraceAll, 9
	meta, err := client.GetObjectMeta()
	require.NoError(t, err)
	meta.Name = "other"

	spec, status, _, err = client.GetStaticPodOperatorState()
	require.NoError(t, err)
	require.NotEqual(t, operatorv1.TraceAll, spec.LogLevel)
	require.Zero(t, status.LatestAvailableRevision)
	meta, err = client.GetObjectMeta()
	require.NoError(t, err)
	require.Equal(t, operatorclient.Instance, meta.Name)
}
