package offline

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// RootSecretNamespace is where the installer writes the Secret that all others are derived from.
const RootSecretNamespace = "kube-system"

const (
	configMapKind = "ConfigMap"
	trustedCAKey  = "ca-bundle.crt"
	cloudCAKey    = "ca-bundle.pem"
	// defaultCloudConfigKey is the installer's, where the Infrastructure names a ConfigMap but no key.
	defaultCloudConfigKey = "config"
)

// configMap returns a ConfigMap and where it comes from, or nil.
func (c *Cluster) configMap(namespace, name string) (*corev1.ConfigMap, string, error) {
	found := c.objects.find(corev1.GroupName, configMapKind, namespace, name)
	if found == nil {
		return nil, fmt.Sprintf("configmap/%s in %s", name, namespace), nil
	}
	configMap := &corev1.ConfigMap{}
	return configMap, found.Source(), found.Decode(configMap)
}

// CloudConfig prefers what cluster-config-operator made of the user's configuration, as the operator does. Where the operator
// can be the one that writes it, out of the user's, it is no source.
func (c *Cluster) CloudConfig(p platform.Platform, ref operandconfig.CloudConfigReference) (operand.CloudConfig, error) {
	managed, managedSource, err := c.configMap(operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
	if err != nil {
		return operand.CloudConfig{}, err
	}
	var user operand.CloudConfig
	if ref.Name != "" {
		if user, err = c.userCloudConfig(ref, c.infrastructuresReference()); err != nil {
			return operand.CloudConfig{}, err
		}
	}
	if managed == nil || managed.Data[operatorclient.ManagedCloudConfigKey] == "" || p.WritesManagedConfig() {
		if ref.Name == "" {
			user.Source = c.Infrastructure.Source() + ", spec.cloudConfig"
		}
		return user, nil
	}
	derived := cloudConfigOf(managed, managedSource, operatorclient.ManagedCloudConfigKey)
	if derived.CABundle == nil {
		derived.CABundle = user.CABundle
	}
	if bytes.Equal(user.Data, derived.Data) {
		// A copy: the user's own is the one to correct.
		derived.Source, derived.Key = user.Source, user.Key
	}
	return derived, nil
}

// infrastructuresReference is where the Infrastructure names the cloud configuration.
func (c *Cluster) infrastructuresReference() string {
	return "spec.cloudConfig in " + c.Infrastructure.File
}

// userCloudConfig reads the ConfigMap that somebody names.
func (c *Cluster) userCloudConfig(ref operandconfig.CloudConfigReference, namedBy string) (operand.CloudConfig, error) {
	named := ref.Key != ""
	ref.Key = cmp.Or(ref.Key, defaultCloudConfigKey)
	configMap, source, err := c.configMap(operatorclient.UserConfigNamespace, ref.Name)
	if err != nil {
		return operand.CloudConfig{}, err
	}
	if configMap == nil {
		return operand.CloudConfig{Source: source, Key: ref.Key,
			Problem: fmt.Sprintf("it is not among the manifests, but %s names it: add it", namedBy)}, nil
	}
	if !named && len(configMap.Data)+len(configMap.BinaryData) == 0 {
		// Clusters from before 4.14 may have such an object; the platform says whether it needs more.
		return operand.CloudConfig{Source: source, Key: ref.Key}, nil
	}
	return cloudConfigOf(configMap, source, ref.Key), nil
}

func cloudConfigOf(configMap *corev1.ConfigMap, source, key string) operand.CloudConfig {
	c := operand.CloudConfig{Source: source, Key: key}
	if bundle, exists := configMap.Data[cloudCAKey]; exists {
		c.CABundle = []byte(bundle)
	}
	for other, text := range configMap.Data {
		if other != key && other != cloudCAKey {
			if c.Keys == nil {
				c.Keys = map[string][]byte{}
			}
			c.Keys[other] = []byte(text)
		}
	}
	data, exists := configMap.Data[key]
	_, isBinary := configMap.BinaryData[key]
	_, bundleIsBinary := configMap.BinaryData[cloudCAKey]
	switch {
	case bundleIsBinary:
		c.Key, c.Problem = cloudCAKey, "it is binary data: write it as text under data"
	case exists:
		c.Data = []byte(data)
	case isBinary:
		c.Problem = "it is binary data: write it as text under data"
	default:
		c.Problem = fmt.Sprintf("the key is missing, there is %s: write the cloud configuration under it", listed(configMap.Data))
	}
	return c
}

// GivenCloudConfig is a cloud configuration in a ConfigMap of any name. It is under the key that the operator would read: the one of
// cluster-config-operator's ConfigMap, or the one that ref names.
func (c *Cluster) GivenCloudConfig(given Manifest, ref operandconfig.CloudConfigReference) (operand.CloudConfig, error) {
	configMap := &corev1.ConfigMap{}
	if err := given.Decode(configMap); err != nil {
		return operand.CloudConfig{}, err
	}
	isManaged := given.Namespace == operatorclient.ManagedConfigNamespace && given.Name == operatorclient.ManagedCloudConfig
	key := cmp.Or(ref.Key, defaultCloudConfigKey)
	switch {
	case isManaged:
		key = operatorclient.ManagedCloudConfigKey
	case ref.Name == "":
		key = guessedKey(configMap)
	}
	config := cloudConfigOf(configMap, given.Source(), key)
	_, isText := configMap.Data[key]
	_, isBinary := configMap.BinaryData[key]
	if key == ref.Key && !isText && !isBinary {
		config.Problem += fmt.Sprintf(", or correct spec.cloudConfig.key in %s", c.Infrastructure.File)
	}
	if isManaged && config.CABundle == nil && ref.Name != "" {
		user, err := c.userCloudConfig(ref, c.infrastructuresReference())
		if err != nil {
			return operand.CloudConfig{}, err
		}
		config.CABundle = user.CABundle
	}
	return config, nil
}

// guessedKey is for a ConfigMap that no Infrastructure names yet: the installer's key, cluster-config-operator's, or the only one.
func guessedKey(configMap *corev1.ConfigMap) string {
	keys := slices.Concat(slices.Collect(maps.Keys(configMap.Data)), slices.Collect(maps.Keys(configMap.BinaryData)))
	for _, key := range []string{defaultCloudConfigKey, operatorclient.ManagedCloudConfigKey} {
		if slices.Contains(keys, key) {
			return key
		}
	}
	if keys = slices.DeleteFunc(keys, func(key string) bool { return key == cloudCAKey }); len(keys) == 1 {
		return keys[0]
	}
	return defaultCloudConfigKey
}

func listed(data map[string]string) string {
	if len(data) == 0 {
		return "no key at all"
	}
	return "only " + strings.Join(slices.Sorted(maps.Keys(data)), ", ")
}

// Credentials prefers the Secret that is the operand's own over the one that all others are derived from. The data is
// nil when neither is there.
func (c *Cluster) Credentials(names platform.Credentials) (operand.Credentials, error) {
	for _, ref := range []struct{ namespace, name string }{{operand.Namespace, names.Secret}, {RootSecretNamespace, names.RootSecret}} {
		found := c.objects.find(corev1.GroupName, "Secret", ref.namespace, ref.name)
		if found == nil {
			continue
		}
		data, err := secretData(found)
		if err != nil {
			return operand.Credentials{}, err
		}
		return operand.Credentials{Source: found.Source(), Data: data}, nil
	}
	return operand.Credentials{}, nil
}

// Trust is what is trusted besides the cloud configuration's own CA: the Proxy's CAs first, then the system's.
func (c *Cluster) Trust(trustedCA string) ([]operand.TrustSource, error) {
	if trustedCA == "" {
		return c.SystemTrust, nil
	}
	configMap, source, err := c.configMap(operatorclient.UserConfigNamespace, trustedCA)
	if err != nil {
		return nil, err
	}
	proxy := operand.TrustSource{Source: source, Key: trustedCAKey}
	switch {
	case configMap == nil:
		proxy.Problem = "it is not among the manifests, but the Proxy names it in spec.trustedCA: add it, or its CAs are not trusted"
	case configMap.Data[trustedCAKey] == "":
		proxy.Problem = "the key is missing or empty, so it adds no trust: put the CA certificates there in PEM"
	default:
		proxy.Data = []byte(configMap.Data[trustedCAKey])
	}
	return append([]operand.TrustSource{proxy}, c.SystemTrust...), nil
}
