package payload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
)

// Apply applies the manifests in order, except for those that Delete deletes. It leaves existing create-only objects
// as they are and updates other existing objects by server-side apply. It creates a ClusterOperator without status,
// which the operator writes.
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
	if object.GetAnnotations()[createOnlyAnnotation] == "true" {
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

func update(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	_, err := resource.Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: "cluster-version-operator", Force: true})
	return err
}
