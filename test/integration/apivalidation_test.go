package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// validationSuite has the format of openshift/api's validation tests.
type validationSuite struct {
	APIVersion   string   `json:"apiVersion"`
	Name         string   `json:"name"`
	CRDName      string   `json:"crdName"`
	FeatureGates []string `json:"featureGates"`
	Tests        struct {
		OnCreate []struct {
			Name          string `json:"name"`
			Initial       string `json:"initial"`
			Expected      string `json:"expected"`
			ExpectedError string `json:"expectedError"`
		} `json:"onCreate"`
		OnUpdate []struct {
			Name                string `json:"name"`
			Initial             string `json:"initial"`
			Updated             string `json:"updated"`
			Expected            string `json:"expected"`
			ExpectedError       string `json:"expectedError"`
			ExpectedStatusError string `json:"expectedStatusError"`
		} `json:"onUpdate"`
	} `json:"tests"`
}

// TestTheValidationTestsForOpenShiftAPI runs the file that docs/onboarding/openshift-api.patch adds to openshift/api, in
// the way of that repository: it creates and updates objects, status separately, and compares errors and results.
func TestTheValidationTestsForOpenShiftAPI(t *testing.T) {
	t.Parallel()
	const api = "../../pkg/apis/operator/v1/testdata/StaticPodCloudControllerManager.yaml"
	var suite validationSuite
	content, err := os.ReadFile(api)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, &suite))
	require.Equal(t, ccmv1.Kind.Kind, suite.Name)
	require.NotEmpty(t, suite.Tests.OnCreate)
	require.NotEmpty(t, suite.Tests.OnUpdate)

	resources, _ := serveResource(t, currentCRD, suite.CRDName)
	for _, test := range suite.Tests.OnCreate {
		t.Run(test.Name, func(t *testing.T) {
			t.Cleanup(func() { deleteResource(t, resources) })
			require.False(t, test.Expected != "" && test.ExpectedError != "", "a test expects either an error or an object")
			_, err := resources.Create(t.Context(), parse(t, test.Initial), metav1.CreateOptions{})
			if requireExpectedError(t, err, test.ExpectedError) {
				return
			}
			requireStored(t, resources, test.Expected, test.Initial)
		})
	}
	for _, test := range suite.Tests.OnUpdate {
		t.Run(test.Name, func(t *testing.T) {
			t.Cleanup(func() { deleteResource(t, resources) })
			initial := parse(t, test.Initial)
			stored, err := resources.Create(t.Context(), initial.DeepCopy(), metav1.CreateOptions{})
			require.NoError(t, err)
			stored, err = updateStatus(t.Context(), resources, stored, initial)
			require.NoError(t, err)

			wanted := parse(t, test.Updated)
			update := wanted.DeepCopy()
			update.SetResourceVersion(stored.GetResourceVersion())
			stored, err = resources.Update(t.Context(), update, metav1.UpdateOptions{})
			if requireExpectedError(t, err, test.ExpectedError) {
				return
			}
			_, err = updateStatus(t.Context(), resources, stored, wanted)
			if requireExpectedError(t, err, test.ExpectedStatusError) {
				return
			}
			requireStored(t, resources, test.Expected, test.Updated)
		})
	}
}

// serveResource starts an API server that serves the CRD, and returns a client for its resource and for the server.
func serveResource(t *testing.T, crdFile, name string) (dynamic.ResourceInterface, *rest.Config) {
	t.Helper()
	started, err := devcluster.Start(t.Context(), devcluster.Options{
		Dir: filepath.Join(t.TempDir(), "run"), WithoutPayload: true, Progress: t.Output(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, started.Stop(context.WithoutCancel(t.Context()))) })
	client, err := dynamic.NewForConfig(started.RESTConfig())
	require.NoError(t, err)
	crd, err := os.ReadFile(crdFile)
	require.NoError(t, err)
	crds := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	created, err := crds.Create(t.Context(), parse(t, string(crd)), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, name, created.GetName())
	resources := client.Resource(ccmv1.Resource)
	await(t, "the API server to serve the CRD", func(ctx context.Context) error {
		_, err := resources.List(ctx, metav1.ListOptions{})
		return err
	})
	return resources, started.RESTConfig()
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	require.NoError(t, object.UnmarshalJSON(content))
	return object
}

// updateStatus writes the status of an object, if it has one, to the stored object.
func updateStatus(
	ctx context.Context, resources dynamic.ResourceInterface, stored, from *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	status, has := from.Object["status"]
	if !has {
		return stored, nil
	}
	stored.Object["status"] = status
	return resources.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
}

// requireExpectedError reports whether an error was expected.
func requireExpectedError(t *testing.T, err error, expected string) bool {
	t.Helper()
	if expected == "" {
		require.NoError(t, err)
		return false
	}
	require.ErrorContains(t, err, expected)
	return true
}

// requireStored compares the stored object with the expected one, which defaults to what was written.
func requireStored(t *testing.T, resources dynamic.ResourceInterface, expected, written string) {
	t.Helper()
	if expected == "" {
		expected = written
	}
	got, err := resources.Get(t.Context(), ccmv1.InstanceName, metav1.GetOptions{})
	require.NoError(t, err)
	got.Object["metadata"] = map[string]any{"name": got.GetName()}
	require.Equal(t, parse(t, expected).Object, got.Object)
}

func deleteResource(t *testing.T, resources dynamic.ResourceInterface) {
	t.Helper()
	err := resources.Delete(context.WithoutCancel(t.Context()), ccmv1.InstanceName, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
}
