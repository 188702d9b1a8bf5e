package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/bindata"
)

const managedByLabel = "app.kubernetes.io/managed-by"

// assetResources are the resources of the static resources' kinds.
var assetResources = map[string]schema.GroupVersionResource{
	"ClusterRoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1",
		Resource: "clusterrolebindings"},
	"RoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	"ValidatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicybindings"},
	"DaemonSet":      {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Service":        {Version: "v1", Resource: "services"},
	"ServiceAccount": {Version: "v1", Resource: "serviceaccounts"},
	"Secret":         {Version: "v1", Resource: "secrets"},
}

// assets decodes the operator's assets that match a pattern.
func assets(t *testing.T, pattern string) []*unstructured.Unstructured {
	t.Helper()
	files, err := fs.Glob(bindata.FS(), pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	var objects []*unstructured.Unstructured
	for _, file := range files {
		content, err := bindata.Read(file)
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, &object.Object), file)
		require.Contains(t, assetResources, object.GetKind(), file)
		objects = append(objects, object)
	}
	return objects
}

func (s *suite) client(object *unstructured.Unstructured) dynamic.ResourceInterface {
	client := s.dynamic.Resource(assetResources[object.GetKind()])
	if object.GetNamespace() == "" {
		return client
	}
	return client.Namespace(object.GetNamespace())
}

// createLeftovers creates the objects that the operator would have left on a cluster that was on Azure before. No
// node runs its DaemonSet.
func (s *suite) createLeftovers(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	leftovers := assets(t, path.Join("assets", "platforms", "azure", "resources", "*.yaml"))
	leftovers = append(leftovers, assets(t, path.Join("assets", "node-manager", "resources", "*.yaml"))...)
	daemonSet := assets(t, path.Join("assets", "node-manager", "daemonset.yaml"))[0]
	template := map[string]any{
		"nodeSelector": map[string]any{"no-such": "node"},
		"containers":   []any{map[string]any{"name": "cloud-node-manager", "image": "none"}},
	}
	require.NoError(t, unstructured.SetNestedField(daemonSet.Object, template, "spec", "template", "spec"))
	for _, object := range append(leftovers, daemonSet) {
		_, err := s.client(object).Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err, "%s/%s", object.GetKind(), object.GetName())
	}
	return append(leftovers, daemonSet)
}

// requireGone waits until none of the objects exists.
func (s *suite) requireGone(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		s.await(t, fmt.Sprintf("the end of %s/%s", object.GetKind(), object.GetName()), briefly, func(ctx context.Context) error {
			_, err := s.client(object).Get(ctx, object.GetName(), metav1.GetOptions{})
			return gone(err)
		})
	}
}

// testCorrection removes from each static resource the label that the operator selects by, and then deletes one.
func (s *suite) testCorrection(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	objects := assets(t, path.Join("assets", "resources", "*.yaml"))
	objects = append(objects, assets(t, path.Join("assets", "metrics", "*.yaml"))...)
	objects = append(objects, assets(t, path.Join("assets", "platforms", "openstack", "resources", "*.yaml"))...)
	for _, object := range objects {
		if object.GetKind() == "Secret" {
			continue // Others fill these, so the operator only creates them.
		}
		patch := fmt.Sprintf(`{"metadata": {"labels": {%q: null}}}`, managedByLabel)
		_, err := s.client(object).Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		require.NoError(t, err)
		s.awaitLabel(t, object)
	}
	last := objects[len(objects)-1]
	require.NoError(t, s.client(last).Delete(t.Context(), last.GetName(), metav1.DeleteOptions{}))
	s.awaitLabel(t, last)
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly), "no new revision")
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}

func (s *suite) awaitLabel(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	s.await(t, fmt.Sprintf("%s/%s to be as in the assets", object.GetKind(), object.GetName()), briefly, func(ctx context.Context) error {
		found, err := s.client(object).Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.GetLabels()[managedByLabel] != object.GetLabels()[managedByLabel] {
			return fmt.Errorf("its labels are %v", found.GetLabels())
		}
		return nil
	})
}
