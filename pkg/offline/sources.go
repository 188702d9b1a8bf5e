package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	configMapKind = "ConfigMap"
	secretKind    = "Secret"
)

// Gather gathers the inputs of a candidate, including SystemTrust.
func (c *Cluster) Gather(observed *operandconfig.Config, p platform.Platform) (*inputs.Gathered, error) {
	gathered, err := inputs.Gather(c, observed, p)
	if err != nil {
		return nil, err
	}
	gathered.Trust = append(gathered.Trust, c.SystemTrust...)
	return gathered, nil
}

// ConfigMap implements inputs.Reader.
func (c *Cluster) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	configMap := &corev1.ConfigMap{}
	found, err := decodeInto(c.find(corev1.GroupName, configMapKind, namespace, name), configMap)
	if found == nil || err != nil {
		return nil, err
	}
	return configMap, nil
}

// Secret implements inputs.Reader. It moves stringData to Data, as the API server does.
func (c *Cluster) Secret(namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	found, err := decodeInto(c.find(corev1.GroupName, secretKind, namespace, name), secret)
	if found == nil || err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	for key, value := range secret.StringData {
		data[key] = []byte(value)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		// Keys become file names, and the API server has not validated them.
		if faults := validation.IsConfigMapKey(key); len(faults) > 0 {
			return nil, fmt.Errorf("%s, key %q: %s", found.Source(), key, strings.Join(faults, ", "))
		}
	}
	secret.Data = data
	return secret, nil
}

// Name implements inputs.Reader. It adds the file to the object's name.
func (c *Cluster) Name(object string) string {
	if i := slices.IndexFunc(c.objects, func(m Manifest) bool { return m.String() == object }); i >= 0 {
		return c.objects[i].Source()
	}
	return object
}

// givenCloudConfig returns the cloud configuration of a ConfigMap of any name. The key is the one that the operator
// would read: that of cluster-config-operator's ConfigMap, or the one in Infrastructure.
func (c *Cluster) givenCloudConfig(given Manifest, observed *operandconfig.Config) (operand.CloudConfig, error) {
	configMap := &corev1.ConfigMap{}
	if err := given.Decode(configMap); err != nil {
		return operand.CloudConfig{}, err
	}
	reference := observed.CloudConfig
	isManaged := given.isManagedCloudConfig()
	key, alternative := cmp.Or(reference.Key, inputs.DefaultCloudConfigKey), ""
	switch {
	case isManaged:
		key = operatorclient.ManagedCloudConfigKey
	case reference.Name == "":
		key = guessedKey(configMap)
	case key == reference.Key:
		alternative = "correct spec.cloudConfig.key in " + c.Infrastructure.File
	}
	config := inputs.CloudConfigIn(configMap, given.Source(), key, alternative)
	if isManaged && config.CABundle == nil && reference.Name != "" {
		user, err := inputs.UserCloudConfig(c, observed)
		if err != nil {
			return operand.CloudConfig{}, err
		}
		config.CABundle = user.CABundle
	}
	return config, nil
}

// isManagedCloudConfig reports whether the object is the ConfigMap that cluster-config-operator generates.
func (m Manifest) isManagedCloudConfig() bool {
	return m.Namespace == operatorclient.ManagedConfigNamespace && m.Name == operatorclient.ManagedCloudConfig
}

// guessedKey returns the key of a ConfigMap that Infrastructure does not name: the installer's key,
// cluster-config-operator's, or the only one.
func guessedKey(configMap *corev1.ConfigMap) string {
	keys := slices.Concat(slices.Collect(maps.Keys(configMap.Data)), slices.Collect(maps.Keys(configMap.BinaryData)))
	for _, key := range []string{inputs.DefaultCloudConfigKey, operatorclient.ManagedCloudConfigKey} {
		if slices.Contains(keys, key) {
			return key
		}
	}
	if keys = slices.DeleteFunc(keys, func(key string) bool { return key == inputs.CloudCAKey }); len(keys) == 1 {
		return keys[0]
	}
	return inputs.DefaultCloudConfigKey
}
