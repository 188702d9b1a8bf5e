package operatorclient_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

func TestAnnotationsAreAddedAndNothingElseChanges(t *testing.T) {
	resource := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(withCustom), &resource.Object))
	kinds := map[schema.GroupVersionResource]string{ccmv1.Resource: "CloudControllerManagerList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, resource)
	annotate := operatorclient.Annotate(client)
	require.NoError(t, annotate(t.Context(), map[string]string{"a": "1", "b": "1"}))
	require.NoError(t, annotate(t.Context(), map[string]string{"b": "2"}))
	annotated, err := client.Resource(ccmv1.Resource).Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, annotated.GetAnnotations())
	annotated.SetAnnotations(nil)
	require.Equal(t, resource.Object, annotated.Object)

	missing := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	require.EqualError(t, operatorclient.Annotate(missing)(t.Context(), map[string]string{"a": "1"}),
		`reading cloudcontrollermanager/cluster: cloudcontrollermanagers.operator.openshift.io "cluster" not found`)
}
