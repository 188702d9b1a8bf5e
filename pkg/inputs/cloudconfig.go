package inputs

import (
	"bytes"
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// DefaultCloudConfigKey is the installer's key. It applies if Infrastructure names a ConfigMap without a key.
	DefaultCloudConfigKey = "config"

	// CloudCAKey is the key of the cloud's CA bundle in the ConfigMap with the cloud configuration.
	CloudCAKey = "ca-bundle.pem"
)

// cloudConfig prefers the ConfigMap that cluster-config-operator derives from the user's, with two exceptions.
// cluster-config-operator ignores a ConfigMap that spec.custom names. On a platform where this operator may write the
// managed ConfigMap, the user's ConfigMap is the source.
func (g *Gathered) cloudConfig(r Reader, observed *operandconfig.Config, p platform.Platform) error {
	user, err := UserCloudConfig(r, observed)
	if err != nil {
		return err
	}
	g.CloudConfig = user.CloudConfig
	if !isCustom(observed) && !p.WritesManagedConfig() {
		managed, name, err := read(
			r.ConfigMap, r, "configmap", operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
		if err != nil {
			return err
		}
		if managed != nil && managed.Data[operatorclient.ManagedCloudConfigKey] != "" {
			g.CloudConfig = derived(managed, name, user.CloudConfig)
			return nil
		}
	}
	switch {
	case observed.CloudConfig.Name == "":
	case user.Object == nil:
		g.Absent[user.Source] = Administrator
	default:
		g.recordMissingKey(user.hasKey, user.Source, user.Key)
	}
	return nil
}

// derived returns the managed ConfigMap as a cloud configuration, with the user's as its source if the text is equal.
func derived(managed *corev1.ConfigMap, name string, user operand.CloudConfig) operand.CloudConfig {
	config := CloudConfigIn(managed, name, operatorclient.ManagedCloudConfigKey, "")
	if config.CABundle == nil {
		config.CABundle = user.CABundle
	}
	if bytes.Equal(user.Data, config.Data) {
		config.Source, config.Key = user.Source, user.Key
	}
	return config
}

// UserConfig is the user's cloud configuration.
type UserConfig struct {
	operand.CloudConfig
	// Object is nil if the ConfigMap does not exist or none is named.
	Object *corev1.ConfigMap

	hasKey bool
}

// UserCloudConfig reads the ConfigMap that Infrastructure or spec.custom names.
func UserCloudConfig(r Reader, observed *operandconfig.Config) (UserConfig, error) {
	reference := observed.CloudConfig
	if reference.Name == "" {
		return UserConfig{CloudConfig: operand.CloudConfig{Source: r.Name(infrastructure) + ", spec.cloudConfig"}}, nil
	}
	key := cmp.Or(reference.Key, DefaultCloudConfigKey)
	alternative := "correct spec.cloudConfig of " + r.Name(infrastructure)
	if isCustom(observed) {
		alternative = "correct spec.custom.cloudConfig of " + r.Name(ownResource)
	}
	object, source, err := read(r.ConfigMap, r, "configmap", operatorclient.UserConfigNamespace, reference.Name)
	user := UserConfig{CloudConfig: operand.CloudConfig{Source: source, Key: key}, Object: object}
	switch {
	case err != nil:
		return UserConfig{}, err
	case object == nil:
		user.Diagnostic = missing(alternative)
	case reference.Key == "" && len(object.Data)+len(object.BinaryData) == 0:
		// Clusters from before 4.14 may have an empty ConfigMap. The platform's check reports whether it needs content.
		user.hasKey = true
	default:
		user.CloudConfig = CloudConfigIn(object, source, key, alternative)
		_, _, user.hasKey = value(object, key, alternative)
	}
	return user, nil
}

func isCustom(observed *operandconfig.Config) bool {
	return observed.Custom != nil && observed.Custom.CloudConfig.Name != ""
}

// CloudConfigIn returns the cloud configuration under a key of a ConfigMap, whose name in messages is source.
// alternative is another way to correct a missing key, and may be empty.
func CloudConfigIn(configMap *corev1.ConfigMap, source, key, alternative string) operand.CloudConfig {
	config := operand.CloudConfig{Source: source, Key: key, Keys: otherKeys(configMap, key)}
	config.Data, config.Diagnostic, _ = value(configMap, key, alternative)
	if bundle, exists := configMap.Data[CloudCAKey]; exists {
		config.CABundle = []byte(bundle)
	}
	if _, binary := configMap.BinaryData[CloudCAKey]; binary && config.Diagnostic == "" {
		config.Key, config.Diagnostic = CloudCAKey, binaryDataMessage
	}
	return config
}

func otherKeys(configMap *corev1.ConfigMap, key string) map[string][]byte {
	var keys map[string][]byte
	for other, text := range configMap.Data {
		if other == key || other == CloudCAKey {
			continue
		}
		if keys == nil {
			keys = map[string][]byte{}
		}
		keys[other] = []byte(text)
	}
	return keys
}
