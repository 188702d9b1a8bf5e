// Package observedplatform tells which platform the operator has observed. Controllers ask here instead of reading
// Infrastructure: the config observer is the one judge, and it keeps its judgement when Infrastructure is gone.
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

// Of returns the platform that spec.observedConfig names. While nothing has been observed it is not known, and the
// caller changes nothing. A name that the registry does not have is an error.
func Of(spec *operatorv1.OperatorSpec) (observed platform.Platform, known bool, err error) {
	name, err := stringAt(spec, operandconfig.PlatformPath...)
	if err != nil || name == "" {
		return platform.Platform{}, false, err
	}
	observed, known = platform.ByName(name)
	if !known {
		return platform.Platform{}, false, fmt.Errorf(
			"spec.observedConfig of cloudcontrollermanager/cluster names the platform %q, which this version of the operator does not know; "+
				"it will be observed anew once the field is removed", name)
	}
	return observed, true, nil
}

// Get is Of for the operator resource in the client's cache. A missing resource is like one with nothing observed.
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

// Managed tells whether a cloud-controller-manager is to run here, and whether that is known at all.
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
