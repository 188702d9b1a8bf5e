package inputs

import (
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Listers is the operator's Reader. Each field is the cache of one namespace.
type Listers struct {
	// UserConfig and ManagedConfig read the ConfigMaps of openshift-config and openshift-config-managed.
	UserConfig, ManagedConfig corelisters.ConfigMapLister

	// Secrets reads the Secrets of the operand's namespace; nil for a controller that reads none. The operator may not
	// read Secrets of other namespaces.
	Secrets corelisters.SecretLister
}

// ConfigMap implements Reader.
func (l Listers) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	lister := l.UserConfig
	if namespace == operatorclient.ManagedConfigNamespace {
		lister = l.ManagedConfig
	}
	return operatorclient.Find(lister.ConfigMaps(namespace), "configmap", namespace, name)
}

// Secret implements Reader.
func (l Listers) Secret(namespace, name string) (*corev1.Secret, error) {
	if l.Secrets == nil || namespace != operand.Namespace {
		return nil, nil
	}
	return operatorclient.Find(l.Secrets.Secrets(namespace), "secret", namespace, name)
}

// Name implements Reader.
func (l Listers) Name(object string) string { return object }
