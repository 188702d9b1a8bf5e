package operatorclient

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Find returns an object from the lister of a namespace, nil if it does not exist. Its error names the object.
func Find[T any](lister interface{ Get(name string) (*T, error) }, kind, namespace, name string) (*T, error) {
	object, err := lister.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s/%s in %s: %w", kind, name, namespace, err)
	}
	return object, nil
}
