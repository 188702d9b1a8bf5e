package payload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
)

// Apply applies the manifests in order, except for those that Delete deletes. It leaves existing create-only objects
// and ClusterOperators as they are and replaces other existing objects, so what the former release had and this one has
// not goes. It creates a ClusterOperator without status, which the operator writes.
func Apply(ctx context.Context, client *objects.Client, manifests []Manifest) error {
	for _, manifest := range manifests {
		if manifest.Deleted() {
			continue
		}
		if err := applyOne(ctx, client, manifest); err != nil {
			return fmt.Errorf("payload: %s: %w", manifest, err)
		}
	}
	return nil
}

// Delete deletes the objects that manifests mark for deletion, in order. An object that does not exist is no error.
func Delete(ctx context.Context, client *objects.Client, manifests []Manifest) error {
	for _, manifest := range manifests {
		if !manifest.Deleted() {
			continue
		}
		resource, err := client.Resource(manifest.Object)
		if err != nil {
			return fmt.Errorf("payload: %s: %w", manifest, err)
		}
		err = resource.Delete(ctx, manifest.Object.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("payload: deleting %s: %w", manifest, err)
		}
	}
	return nil
}

func applyOne(ctx context.Context, client *objects.Client, manifest Manifest) error {
	object := manifest.Object.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	resource, err := client.Resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsAlreadyExists(err) {
		return awaitDefinition(ctx, client, object, err)
	}
	if object.GetAnnotations()[createOnlyAnnotation] == "true" || object.GetKind() == "ClusterOperator" {
		return nil // it exists
	}
	return update(ctx, resource, object)
}

// awaitDefinition waits until the kind that a CustomResourceDefinition defines is served.
func awaitDefinition(ctx context.Context, client *objects.Client, object *unstructured.Unstructured, err error) error {
	if err != nil || object.GetKind() != "CustomResourceDefinition" {
		return err
	}
	return client.AwaitServed(ctx, object)
}

// update writes the manifest over the existing object, if that changes anything.
func update(ctx context.Context, resource dynamic.ResourceInterface, manifest *unstructured.Unstructured) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := resource.Get(ctx, manifest.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		next := replaced(live, manifest)
		if equality.Semantic.DeepEqual(next, live) {
			return nil
		}
		_, err = resource.Update(ctx, next, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}

// merged are the fields of which the cluster-version-operator keeps what the manifest does not have, by kind, for the
// kinds with a typed builder (lib/resourcebuilder). It keeps their other labels and annotations too. Of a Deployment
// it keeps some more fields, which this payload does not use.
var merged = map[string][]string{
	"ConfigMap": {"data"}, "Namespace": nil, "Service": nil, "ServiceAccount": nil, "Deployment": nil, "DaemonSet": nil,
	"ClusterRole": nil, "ClusterRoleBinding": nil, "Role": nil, "RoleBinding": nil, "CustomResourceDefinition": nil,
}

// replaced returns the object that the cluster-version-operator writes: the manifest, with the metadata and status of
// the live object, by the rules that Drift has too.
func replaced(live, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	next, merges := live.DeepCopy(), merged[manifest.GetKind()]
	if manifest.GroupVersionKind().Group == rbacv1.GroupName {
		delete(next.Object, "rules")
		delete(next.Object, "aggregationRule")
		delete(next.Object, "subjects")
	}
	for field, value := range manifest.DeepCopy().Object {
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field):
		case slices.Contains(merges, field):
			next.Object[field] = union(live.Object[field], value)
		default:
			next.Object[field] = value
		}
	}
	labels, annotations := manifest.GetLabels(), manifest.GetAnnotations()
	if _, isTyped := merged[manifest.GetKind()]; isTyped {
		labels, annotations = with(live.GetLabels(), labels), with(live.GetAnnotations(), annotations)
	}
	next.SetLabels(labels)
	next.SetAnnotations(annotations)
	return next
}

// union returns a map with the keys of both, where b wins.
func union(a, b any) any {
	of, isMap := a.(map[string]any)
	others, areMap := b.(map[string]any)
	if !isMap || !areMap {
		return b
	}
	all := maps.Clone(of)
	maps.Copy(all, others)
	return all
}

func with(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}
