package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// resource is the operator's resource among the manifests, or nil.
func (c *Cluster) resource() *Manifest {
	return c.objects.find(ccmv1.GroupVersion.Group, ccmv1.Kind.Kind, "", operatorclient.Instance)
}

// external is spec.external of the operator's resource, nil where no manifest sets it. It is read strictly: no API server
// has dropped yet what it has no field for, and nobody would miss a misspelt argument.
func (c *Cluster) external() (*ccmv1.External, error) {
	found := c.resource()
	if found == nil {
		return nil, nil
	}
	var resource struct {
		Spec struct {
			External json.RawMessage `json:"external"`
		} `json:"spec"`
	}
	if err := found.Decode(&resource); err != nil {
		return nil, err
	}
	if text := string(resource.Spec.External); text == "" || text == "null" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(resource.Spec.External)))
	decoder.DisallowUnknownFields()
	external := &ccmv1.External{}
	err := decoder.Decode(external)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return nil, fmt.Errorf("%s, spec.external.%s: it cannot be a %s", found.Source(), wrongType.Field, wrongType.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, spec.external: %s", found.Source(), strings.TrimPrefix(err.Error(), "json: "))
	}
	return external, nil
}

// Located names the file of the operator's resource in a problem with spec.external.
func (c *Cluster) Located(p diagnostic.Diagnostic) diagnostic.Diagnostic {
	found := c.resource()
	if found != nil && p.Object == found.String() && (strings.HasPrefix(p.Key, "spec.external") || strings.HasPrefix(p.Message, "spec.external")) {
		p.Object = found.Source()
	}
	return p
}

// ObservedCloudConfig is the cloud configuration that was observed. One that spec.external names comes before the one that
// cluster-config-operator made of Infrastructure's.
func (c *Cluster) ObservedCloudConfig(p platform.Platform, config *operandconfig.Config) (operand.CloudConfig, error) {
	if config.External == nil || config.External.CloudConfig == nil {
		return c.CloudConfig(p, config.CloudConfig)
	}
	return c.userCloudConfig(config.CloudConfig, "spec.external.cloudConfig in "+c.resource().File)
}

// ExternalSecrets puts together what the Secrets of spec.external deliver.
func (c *Cluster) ExternalSecrets(external *ccmv1.External) (operand.ExternalSecrets, error) {
	return operand.GatherSecrets(external, func(name string) (operand.SourceSecret, error) {
		found := c.objects.find(corev1.GroupName, "Secret", operand.Namespace, name)
		if found == nil {
			return operand.SourceSecret{Source: fmt.Sprintf("secret/%s in %s", name, operand.Namespace)}, nil
		}
		data, err := secretData(found)
		return operand.SourceSecret{Source: found.Source(), Data: data}, err
	})
}

// secretData is the data of a Secret, never nil.
func secretData(found *Manifest) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := found.Decode(secret); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	for key, value := range secret.StringData {
		data[key] = []byte(value)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		// Keys become file names, and no API has checked this one.
		if faults := validation.IsConfigMapKey(key); len(faults) > 0 {
			return nil, fmt.Errorf("%s, key %q: %s", found.Source(), key, strings.Join(faults, ", "))
		}
	}
	return data, nil
}
