package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	rootSecretNamespace = "kube-system"
	configMapKind       = "ConfigMap"
	trustedCAKey        = "ca-bundle.crt"
	cloudCAKey          = "ca-bundle.pem"
	// defaultCloudConfigKey is the installer's, where the Infrastructure names a ConfigMap but no key.
	defaultCloudConfigKey = "config"
)

// inputs is what was read.
type inputs struct {
	objects        manifests
	infrastructure manifest
	// platformName is the platform as the Infrastructure has it.
	platformName string
	// images are the images of the release by tag.
	images map[string]string
	// overrides is the merge of the --config-override-files.
	overrides []byte
	// systemTrust is the bundle of the image that render runs in; empty where it has none.
	systemTrust []operand.TrustSource
}

// readInputs reads every file, each of which has to be there and in order.
func (o *options) readInputs() (*inputs, error) {
	in := &inputs{}
	var err error
	if in.objects, err = readManifests(o.renderedManifestFiles); err != nil {
		return nil, err
	}
	if o.infraConfigFile != "" {
		if err := in.addFile(o.infraConfigFile, configv1.GroupName, "Infrastructure", "", operatorclient.Instance); err != nil {
			return nil, err
		}
	}
	if o.cloudConfigFile != "" {
		err := in.addFile(o.cloudConfigFile, corev1.GroupName, configMapKind, operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
		if err != nil {
			return nil, err
		}
	}
	if err := in.checkInfrastructure(); err != nil {
		return nil, err
	}
	if in.images, err = readImages(o.imageReferences); err != nil {
		return nil, err
	}
	if in.overrides, err = readOverrides(o.configOverrideFiles); err != nil {
		return nil, err
	}
	in.systemTrust, err = readSystemTrust(o.systemTrustBundle)
	return in, err
}

// addFile adds the one object that the file has to hold.
func (in *inputs) addFile(file, group, kind, namespace, name string) error {
	objects, err := readObjects(file)
	if err != nil {
		return err
	}
	wanted := manifests(objects).find(group, kind, namespace, name)
	if len(objects) != 1 || wanted == nil {
		held := make([]string, 0, len(objects))
		for _, m := range objects {
			held = append(held, m.String())
		}
		expected := manifest{namespace: namespace, name: name}
		expected.gvk.Group, expected.gvk.Kind = group, kind
		return fmt.Errorf("%s has to hold exactly %s, but holds %s", file, expected, strings.Join(held, " and "))
	}
	in.objects, err = in.objects.add(*wanted)
	return err
}

// checkInfrastructure makes sure that the platform is known: unknown is not None.
func (in *inputs) checkInfrastructure() error {
	found := in.objects.find(configv1.GroupName, "Infrastructure", "", operatorclient.Instance)
	if found == nil {
		return fmt.Errorf("infrastructure.%s/%s is not among the manifests: give its file with --infra-config-file",
			configv1.GroupName, operatorclient.Instance)
	}
	in.infrastructure = *found
	infrastructure := &configv1.Infrastructure{}
	if err := found.decode(infrastructure); err != nil {
		return err
	}
	if _, err := platform.Of(infrastructure, nil); err != nil {
		return fmt.Errorf("%s: %w", found.file, err)
	}
	in.platformName = string(infrastructure.Status.PlatformStatus.Type)
	return nil
}

// readImages reads the release's image-references. Without the file there are none.
func readImages(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	objects, err := readObjects(file)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 || objects[0].gvk.Kind != "ImageStream" {
		return nil, fmt.Errorf("%s has to hold exactly one ImageStream: give the release's image-references", file)
	}
	var stream struct {
		Spec struct {
			Tags []struct {
				Name string `json:"name"`
				From struct {
					Name string `json:"name"`
				} `json:"from"`
			} `json:"tags"`
		} `json:"spec"`
	}
	if err := objects[0].decode(&stream); err != nil {
		return nil, err
	}
	images := map[string]string{}
	for _, tag := range stream.Spec.Tags {
		images[tag.Name] = tag.From.Name
	}
	return images, nil
}

// readOverrides checks each file on its own, so that a mistake is reported for the file that has it.
func readOverrides(files []string) ([]byte, error) {
	layers := make([][]byte, 0, len(files))
	for _, file := range files {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		if _, err := operandconfig.Decode(data); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		layers = append(layers, data)
	}
	if len(layers) == 0 {
		return nil, nil
	}
	return operandconfig.Merge(layers...)
}

// readSystemTrust reads the system's CAs. An image without them is no error: the cluster's own CAs may be enough.
func readSystemTrust(file string) ([]operand.TrustSource, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(file, err)
	}
	return []operand.TrustSource{{Source: file, Data: data}}, nil
}

// configMap returns a ConfigMap and where it comes from, or nil.
func (in *inputs) configMap(namespace, name string) (*corev1.ConfigMap, string, error) {
	found := in.objects.find(corev1.GroupName, configMapKind, namespace, name)
	if found == nil {
		return nil, fmt.Sprintf("configmap/%s in %s", name, namespace), nil
	}
	configMap := &corev1.ConfigMap{}
	return configMap, found.source(), found.decode(configMap)
}

// cloudConfig prefers what cluster-config-operator made of the user's configuration, as the operator does.
func (in *inputs) cloudConfig(ref operandconfig.CloudConfigReference) (operand.CloudConfig, error) {
	managed, managedSource, err := in.configMap(operatorclient.ManagedConfigNamespace, operatorclient.ManagedCloudConfig)
	if err != nil {
		return operand.CloudConfig{}, err
	}
	var user operand.CloudConfig
	if ref.Name != "" {
		if user, err = in.userCloudConfig(ref); err != nil {
			return operand.CloudConfig{}, err
		}
	}
	if managed == nil || managed.Data[operatorclient.ManagedCloudConfigKey] == "" {
		if ref.Name == "" {
			user.Source = in.infrastructure.source() + ", spec.cloudConfig"
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

// userCloudConfig reads the ConfigMap that the Infrastructure names.
func (in *inputs) userCloudConfig(ref operandconfig.CloudConfigReference) (operand.CloudConfig, error) {
	if ref.Key == "" {
		ref.Key = defaultCloudConfigKey
	}
	configMap, source, err := in.configMap(operatorclient.UserConfigNamespace, ref.Name)
	if err != nil {
		return operand.CloudConfig{}, err
	}
	if configMap == nil {
		return operand.CloudConfig{Source: source, Key: ref.Key,
			Problem: fmt.Sprintf("it is not among the manifests, but spec.cloudConfig in %s names it: add it", in.infrastructure.file)}, nil
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

func listed(data map[string]string) string {
	if len(data) == 0 {
		return "no key at all"
	}
	return "only " + strings.Join(slices.Sorted(maps.Keys(data)), ", ")
}

// credentials prefers the Secret that is the operand's own over the one that all others are derived from. The data is
// nil when neither is there.
func (in *inputs) credentials(c platform.Credentials) (operand.Credentials, error) {
	for _, ref := range []struct{ namespace, name string }{{operand.Namespace, c.Secret}, {rootSecretNamespace, c.RootSecret}} {
		found := in.objects.find(corev1.GroupName, "Secret", ref.namespace, ref.name)
		if found == nil {
			continue
		}
		secret := &corev1.Secret{}
		if err := found.decode(secret); err != nil {
			return operand.Credentials{}, err
		}
		data := map[string][]byte{}
		maps.Copy(data, secret.Data)
		for key, value := range secret.StringData {
			data[key] = []byte(value)
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			// Keys become file names, and no API has checked this one.
			if faults := validation.IsConfigMapKey(key); len(faults) > 0 {
				return operand.Credentials{}, fmt.Errorf("%s, key %q: %s", found.source(), key, strings.Join(faults, ", "))
			}
		}
		return operand.Credentials{Source: found.source(), Data: data}, nil
	}
	return operand.Credentials{}, nil
}

// trust is what is trusted besides the cloud configuration's own CA: the Proxy's CAs first, then the system's.
func (in *inputs) trust(trustedCA string) ([]operand.TrustSource, error) {
	if trustedCA == "" {
		return in.systemTrust, nil
	}
	configMap, source, err := in.configMap(operatorclient.UserConfigNamespace, trustedCA)
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
	return append([]operand.TrustSource{proxy}, in.systemTrust...), nil
}
