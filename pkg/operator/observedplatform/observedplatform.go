// Package observedplatform returns the platform in spec.observedConfig. Controllers use it instead of reading
// Infrastructure: only the config observer decides on the platform, and its decision survives a deleted
// Infrastructure.
package observedplatform

import (
	"encoding/json"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// Of returns the platform that spec.observedConfig names. known is false until a platform is observed; callers must
// then change nothing. An unknown name is an error.
func Of(spec *operatorv1.OperatorSpec) (observed platform.Platform, known bool, err error) {
	name, err := stringAt(spec, operandconfig.PlatformPath...)
	if err != nil || name == "" {
		return platform.Platform{}, false, err
	}
	observed, known = platform.ByName(name)
	if !known {
		return platform.Platform{}, false, fmt.Errorf(
			"spec.observedConfig of cloudcontrollermanager/cluster names the platform %q, which this operator version "+
				"does not support; remove the field to observe the platform again", name)
	}
	return observed, true, nil
}

// Get is Of for the operator resource in the client's cache. Without the resource, nothing is known.
func Get(client v1helpers.OperatorClient) (observed platform.Platform, known bool, err error) {
	spec, _, _, err := client.GetOperatorState()
	if apierrors.IsNotFound(err) {
		return platform.Platform{}, false, nil
	}
	if err != nil {
		return platform.Platform{}, false, fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
	}
	return Of(spec)
}

// Config decodes spec.observedConfig.
func Config(spec *operatorv1.OperatorSpec) (*operandconfig.Config, error) {
	config, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	if err != nil {
		return nil, fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	return config, nil
}

// Managed reports whether a cloud-controller-manager runs on the observed platform, and whether that is known.
func Managed(client v1helpers.OperatorClient) (managed, known bool, err error) {
	observed, known, err := Get(client)
	return observed.Managed(), known, err
}

func stringAt(spec *operatorv1.OperatorSpec, path ...string) (string, error) {
	if len(spec.ObservedConfig.Raw) == 0 {
		return "", nil
	}
	config := map[string]any{}
	if err := json.Unmarshal(spec.ObservedConfig.Raw, &config); err != nil {
		return "", fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	value, _, err := unstructured.NestedString(config, path...)
	if err != nil {
		return "", fmt.Errorf("spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
	}
	return value, nil
}
