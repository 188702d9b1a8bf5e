package resourcesynccontroller

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Sources finds the objects that the raw copies are made from. A source that does not exist is nil.
type Sources struct {
	// UserConfig and ManagedConfig list the ConfigMaps of openshift-config and of openshift-config-managed.
	UserConfig, ManagedConfig corelisters.ConfigMapLister

	// Secrets lists the Secrets of the operand's namespace.
	Secrets corelisters.SecretNamespaceLister
}

// CloudConfig returns the source of RawCloudConfig. It prefers what cluster-config-operator made of the user's
// ConfigMap, with two exceptions: a ConfigMap that spec.external names, of which cluster-config-operator makes nothing,
// and a platform on which this operator itself may write the managed ConfigMap from the user's.
func (s Sources) CloudConfig(current platform.Platform, observed *operandconfig.Config) (*corev1.ConfigMap, error) {
	named := observed.External != nil && observed.External.CloudConfig != nil
	if !named && !current.WritesManagedConfig() {
		managed, err := getConfigMap(s.ManagedConfig, operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
		if err != nil {
			return nil, err
		}
		if managed != nil && managed.Data[operatorclient.ManagedCloudConfigKey] != "" {
			return managed, nil
		}
	}
	return getConfigMap(s.UserConfig, operatorclient.UserConfigNamespace, observed.CloudConfig.Name)
}

// TrustedCA returns the source of RawTrustedCA.
func (s Sources) TrustedCA(observed *operandconfig.Config) (*corev1.ConfigMap, error) {
	return getConfigMap(s.UserConfig, operatorclient.UserConfigNamespace, observed.TrustedCA)
}

// Secret returns a Secret of the operand's namespace, the source of RawCloudCredentials if it has that name.
func (s Sources) Secret(name string) (*corev1.Secret, error) {
	source, err := s.Secrets.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secret/%s in %s: %w", name, operatorclient.TargetNamespace, err)
	}
	return source, nil
}

// getConfigMap returns nil for a ConfigMap that does not exist, as one without a name never does.
func getConfigMap(lister corelisters.ConfigMapLister, namespace, name string) (*corev1.ConfigMap, error) {
	source, err := lister.ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configmap/%s in %s: %w", name, namespace, err)
	}
	return source, nil
}

// ConfigMapIsCopied reports whether raw is what the resource sync makes of source. Both may be nil.
func ConfigMapIsCopied(source, raw *corev1.ConfigMap) bool {
	if source == nil || raw == nil {
		return source == nil && raw == nil
	}
	return raw.Annotations[SourceAnnotation] == sourceOf(source) &&
		maps.Equal(source.Data, raw.Data) && SameData(source.BinaryData, raw.BinaryData)
}

// SecretIsCopied reports whether raw is what the resource sync makes of source. Both may be nil.
func SecretIsCopied(source, raw *corev1.Secret) bool {
	if source == nil || raw == nil {
		return source == nil && raw == nil
	}
	return raw.Annotations[SourceAnnotation] == sourceOf(source) && SameData(source.Data, raw.Data)
}

func sourceOf(source metav1.Object) string { return source.GetNamespace() + "/" + source.GetName() }
