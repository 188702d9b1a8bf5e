// Package objects writes objects of any kind to the development cluster.
package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// serveLimit is how long a CustomResourceDefinition may take to be served.
const serveLimit = 30 * time.Second

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// Client writes objects whose kinds it learns from the cluster.
type Client struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient returns a client for the cluster of config.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // such as for a format that only OpenShift's API server knows
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	return &Client{dynamic: dynamicClient,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))}, nil
}

// Resource returns the interface to the object's resource, in its namespace if it has one. A kind that the cluster does
// not serve is an error for which meta.IsNoMatchError is true.
func (c *Client) Resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	resource := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	return resource.Namespace(object.GetNamespace()), nil
}

// Create creates a typed object that carries its apiVersion and kind, and then its status if the kind has that as a
// subresource.
func (c *Client) Create(ctx context.Context, typed runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return fmt.Errorf("convert %T: %w", typed, err)
	}
	// Some types serialize unset fields as null, even fields that the default variant of the API lacks.
	dropNulls(content)
	object := &unstructured.Unstructured{Object: content}
	if err := c.create(ctx, object); err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func dropNulls(content map[string]any) {
	for key, value := range content {
		if nested, ok := value.(map[string]any); ok {
			dropNulls(nested)
		}
		if value == nil {
			delete(content, key)
		}
	}
}

func (c *Client) create(ctx context.Context, object *unstructured.Unstructured) error {
	status, hasStatus := object.Object["status"]
	resource, err := c.Resource(object)
	if err != nil {
		return err
	}
	created, err := resource.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return err
	}
	if content, ok := status.(map[string]any); !hasStatus || !ok || len(content) == 0 {
		return nil
	}
	created.Object["status"] = status
	_, err = resource.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsNotFound(err) {
		return nil // no status subresource: Create stored it
	}
	return err
}

// Merge merges content into an object without a namespace.
func (c *Client) Merge(ctx context.Context, kind schema.GroupVersionKind, name string, content map[string]any) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	resource, err := c.Resource(object)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("patch of %s %s: %w", kind.Kind, name, err)
	}
	_, err = resource.Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", kind.Kind, name, err)
	}
	return nil
}

// AwaitServed waits until the kind that a CustomResourceDefinition defines can be used.
func (c *Client) AwaitServed(ctx context.Context, definition *unstructured.Unstructured) error {
	name := definition.GetName()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, serveLimit, true,
		func(ctx context.Context) (bool, error) {
			current, err := c.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			if err != nil || !hasTrueCondition(current, "Established") {
				return false, err
			}
			// Discovery lags behind the condition.
			_, err = c.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
			if meta.IsNoMatchError(err) {
				c.mapper.Reset()
				return false, nil
			}
			return err == nil, err
		})
	if err != nil {
		return fmt.Errorf("customresourcedefinition %s is not served: %w", name, err)
	}
	return nil
}

func hasTrueCondition(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, ok := entry.(map[string]any)
		if ok && condition["type"] == kind && condition["status"] == "True" {
			return true
		}
	}
	return false
}
