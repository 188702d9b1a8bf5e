package operatorclient

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Find returns an object from a lister, nil if it does not exist. Its error names the object. namespace is "" for an
// object without one.
func Find[T any](lister interface{ Get(name string) (*T, error) }, kind, namespace, name string) (*T, error) {
	object, err := lister.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", objectName(kind, namespace, name), err)
	}
	return object, nil
}

func objectName(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + name + " in " + namespace
}

type lister[T any] interface {
	List(selector labels.Selector) ([]*T, error)
}

// All returns all objects of a lister. Its error names them.
func All[T any](from lister[T], objects string) ([]*T, error) {
	all, err := from.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", objects, err)
	}
	return all, nil
}

// Objects returns the objects of the operand's namespace.
func Objects(
	configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister,
) (o operand.Objects, err error) {
	if o.ConfigMaps, err = All(configMaps, "configmaps in "+operand.Namespace); err != nil {
		return o, err
	}
	o.Secrets, err = All(secrets, "secrets in "+operand.Namespace)
	return o, err
}

// Delete deletes an object if it exists, and with preconditions only if they hold: otherwise the object was replaced or
// has changed, and the caller decides again when its cache has that. Its error names the object.
func Delete(
	ctx context.Context, remove func(context.Context, string, metav1.DeleteOptions) error, kind, namespace, name string,
	options metav1.DeleteOptions,
) error {
	err := remove(ctx, name, options)
	if err == nil || apierrors.IsNotFound(err) || options.Preconditions != nil && apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", objectName(kind, namespace, name), err)
}

// GetFunc is a typed client's Get.
type GetFunc[T any] func(ctx context.Context, name string, options metav1.GetOptions) (T, error)

// Cached returns a Get that reads from a lister, and from the API what the lister does not have: its cache may be
// behind, may not run, or may have only some of the objects.
func Cached[T any](fromLister func(name string) (T, error), live GetFunc[T]) GetFunc[T] {
	return func(ctx context.Context, name string, options metav1.GetOptions) (T, error) {
		if object, err := fromLister(name); err == nil {
			return object, nil
		}
		return live(ctx, name, options)
	}
}
