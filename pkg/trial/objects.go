package trial

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Objects are those of the operand's namespace: the last candidate, and the revisions.
type Objects struct {
	ConfigMaps []*corev1.ConfigMap
	Secrets    []*corev1.Secret
}

// ObjectsOf returns the objects of the operand's namespace.
func ObjectsOf(
	configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister,
) (o Objects, err error) {
	if o.ConfigMaps, err = configMaps.List(labels.Everything()); err != nil {
		return o, fmt.Errorf("listing configmaps in %s: %w", operand.Namespace, err)
	}
	if o.Secrets, err = secrets.List(labels.Everything()); err != nil {
		return o, fmt.Errorf("listing secrets in %s: %w", operand.Namespace, err)
	}
	return o, nil
}

// ConfigMap returns a ConfigMap, nil if it does not exist.
func (o Objects) ConfigMap(name string) *corev1.ConfigMap { return find(o.ConfigMaps, name) }

// Secret returns a Secret, nil if it does not exist.
func (o Objects) Secret(name string) *corev1.Secret { return find(o.Secrets, name) }

func find[T interface{ GetName() string }](objects []T, name string) (found T) {
	for _, object := range objects {
		if object.GetName() == name {
			return object
		}
	}
	return found
}

// StartsWith returns the digests of what the cloud-controller-manager of a revision starts with, or with 0 that of the
// last candidate.
func (o Objects) StartsWith(revision int32) operand.StartDigests {
	return operand.StartsWith(o.ConfigMaps, o.Secrets, revision)
}

// Changes returns the digests of what a revision changes that the cloud-controller-manager starts with, none if the
// former one was pruned: then there is nothing to go back to.
func (o Objects) Changes(revision, former int32) operand.StartDigests {
	before := o.StartsWith(former)
	if len(before) == 0 {
		return nil
	}
	return o.StartsWith(revision).Changed(before)
}
