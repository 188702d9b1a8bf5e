package inputs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// Listers is the operator's Reader. Each field is the cache of one namespace.
type Listers struct {
	// UserConfig and ManagedConfig have the ConfigMaps of openshift-config and of openshift-config-managed.
	UserConfig, ManagedConfig corelisters.ConfigMapLister

	// Secrets has the Secrets of the operand's namespace, nil for a controller that reads none. The operator may not
	// read Secrets of other namespaces.
	Secrets corelisters.SecretLister
}

// ConfigMap implements Reader.
func (l Listers) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	lister := l.UserConfig
	if namespace == operatorclient.ManagedConfigNamespace {
		lister = l.ManagedConfig
	}
	found, err := lister.ConfigMaps(namespace).Get(name)
	return found, readError("configmap", namespace, name, err)
}

// Secret implements Reader.
func (l Listers) Secret(namespace, name string) (*corev1.Secret, error) {
	if l.Secrets == nil || namespace != operand.Namespace {
		return nil, nil
	}
	found, err := l.Secrets.Secrets(namespace).Get(name)
	return found, readError("secret", namespace, name, err)
}

// Name implements Reader.
func (l Listers) Name(object string) string { return object }

// readError adds the object's name to an error. It returns nil for an object that does not exist.
func readError(kind, namespace, name string, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s/%s in %s: %w", kind, name, namespace, err)
}
