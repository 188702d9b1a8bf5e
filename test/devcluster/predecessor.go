package devcluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/objects"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
)

//go:embed predecessor.yaml
var predecessorManifests []byte

// Predecessor configures InstallPredecessor.
type Predecessor struct {
	// OnPort makes its pods listen on port 10258, as those of IBM Cloud and Power VS do, and those of every platform
	// did before autumn 2025.
	OnPort bool
}

// InstallPredecessor creates what the Deployment-based predecessor leaves in a cluster WithoutPayload, its Deployment
// included, or, in a cluster with a payload, what is missing of it. Its operator does not run. Call LoadImages before
// it.
func (c *Cluster) InstallPredecessor(ctx context.Context, options Predecessor) error {
	fmt.Fprintln(c.progress, "installing the predecessor")
	c.succeeds = true
	client, err := objects.NewClient(c.config)
	if err != nil {
		return err
	}
	reader := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(predecessorManifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := reader.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("predecessor.yaml: %w", err)
		}
		if object.GetKind() == "Deployment" {
			if err := c.adaptPredecessor(object, options); err != nil {
				return err
			}
		}
		if err := createIfMissing(ctx, client, object); err != nil {
			return err
		}
	}
	var trust string
	if c.cloud != nil {
		trust = string(c.cloud.CABundle())
		if err := createIfMissing(ctx, client, c.credentialsSecret()); err != nil {
			return err
		}
	}
	return createIfMissing(ctx, client, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: seed.TargetNamespace, Name: "ccm-trusted-ca"},
		Data:       map[string]string{"ca-bundle.crt": trust},
	})
}

func createIfMissing(ctx context.Context, client *objects.Client, object runtime.Object) error {
	if err := client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("predecessor: %w", err)
	}
	return nil
}

// adaptPredecessor fills in the image, the API server's address, the number of replicas and the port.
func (c *Cluster) adaptPredecessor(object *unstructured.Unstructured, options Predecessor) error {
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
		return fmt.Errorf("predecessor.yaml: %w", err)
	}
	if c.options.Nodes == 1 {
		deployment.Spec.Replicas = ptr.To[int32](1)
	}
	container := &deployment.Spec.Template.Spec.Containers[0]
	container.Image = ImageRef(deployment.Name)
	container.Env = []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: c.layout.address},
		{Name: "KUBERNETES_SERVICE_PORT", Value: apiServerPort},
	}
	if options.OnPort {
		at := slices.Index(container.Command, "--secure-port=0")
		container.Command = slices.Delete(container.Command, at, at+1)
	}
	var err error
	object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return fmt.Errorf("predecessor.yaml: %w", err)
	}
	dropNullTimes(object)
	return nil
}

// dropNullTimes removes the creation times that a typed object serializes as null.
func dropNullTimes(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "spec", "template", "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(object.Object, "status")
}
