// Package observedplatform returns the platform in spec.observedConfig. Controllers use it instead of Infrastructure:
// only the config observer decides on the platform, and its decision survives a deleted Infrastructure.
//
// Once a removal has started, the platform is the unmanaged one, so that every controller stops as it does there. The
// condition Removing persists that.
package observedplatform

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

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
	config := map[string]any{}
	if raw := spec.ObservedConfig.Raw; len(raw) > 0 {
		if err := json.Unmarshal(raw, &config); err != nil {
			return platform.Platform{}, false, decodeError(err)
		}
	}
	name, _, err := unstructured.NestedString(config, operandconfig.PlatformPath...)
	if err = decodeError(err); err != nil || name == "" {
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

// Effective returns the platform to manage: that of Of or, once a removal has started, the one without a
// cloud-controller-manager.
func Effective(
	spec *operatorv1.OperatorSpec, status *operatorv1.OperatorStatus,
) (effective platform.Platform, known bool, err error) {
	effective, known, err = Of(spec)
	if err != nil || !known || !effective.Managed() || RemovalOf(status) == "" {
		return effective, known, err
	}
	effective, known = platform.ByName(platform.None)
	return effective, known, nil
}

// Get is Effective for the operator's resource in the client's cache. Without the resource, known is false.
func Get(client v1helpers.OperatorClient) (effective platform.Platform, known bool, err error) {
	return get(client, Effective)
}

// OfNodePods is Get for the objects of the operator's pods on the nodes, which are managed until the nodes are clean.
func OfNodePods(client v1helpers.OperatorClient) (effective platform.Platform, known bool, err error) {
	return get(client, func(spec *operatorv1.OperatorSpec, status *operatorv1.OperatorStatus) (
		platform.Platform, bool, error,
	) {
		if RemovalOf(status) == RemovingStaticPods {
			return Of(spec)
		}
		return Effective(spec, status)
	})
}

func get(
	client v1helpers.OperatorClient,
	of func(*operatorv1.OperatorSpec, *operatorv1.OperatorStatus) (platform.Platform, bool, error),
) (effective platform.Platform, known bool, err error) {
	spec, status, _, err := client.GetOperatorState()
	if apierrors.IsNotFound(err) {
		return platform.Platform{}, false, nil
	}
	if err != nil {
		return platform.Platform{}, false, err
	}
	return of(spec, status)
}

// Config decodes spec.observedConfig.
func Config(spec *operatorv1.OperatorSpec) (*operandconfig.Config, error) {
	config, err := operandconfig.Decode(spec.ObservedConfig.Raw)
	return config, decodeError(err)
}

// APIServer returns the URL of the API server for control-plane components.
func APIServer(spec *operatorv1.OperatorSpec) (*url.URL, error) {
	config, err := Config(spec)
	if err != nil {
		return nil, err
	}
	return config.APIServer()
}

// Managed reports whether a cloud-controller-manager must run, and whether that is known.
func Managed(client v1helpers.OperatorClient) (managed, known bool, err error) {
	effective, known, err := Get(client)
	return effective.Managed(), known, err
}

// FeatureGateEnabled reports whether a feature gate is observed as enabled. Only featuregate.Gates are observed.
func FeatureGateEnabled(client v1helpers.OperatorClient, gate string) (bool, error) {
	spec, _, _, err := client.GetOperatorState()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	config, err := Config(spec)
	if err != nil {
		return false, err
	}
	return slices.Contains(config.Cluster.FeatureGates, gate), nil
}

func decodeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("decoding spec.observedConfig of cloudcontrollermanager/cluster: %w", err)
}

// RemovingCondition is True from the start of a removal until everything is installed again. Its reason is the step. It
// is False while a requested removal waits, and absent otherwise.
const RemovingCondition = "Removing"

// Removal is a step of a removal, and the reason of RemovingCondition.
type Removal string

const (
	// RemovingStaticPods removes the static pods and their files from the nodes.
	RemovingStaticPods Removal = "RemovingStaticPods"

	// RemovingObjects deletes the objects of the operand, after no node has its files any more.
	RemovingObjects Removal = "RemovingObjects"

	// Removed is the state after the last step.
	Removed Removal = "Removed"

	// Restoring ends a removal: it waits for pods that still remove something.
	Restoring Removal = "Restoring"
)

// RemovalOf returns the step of the removal, "" if none has started.
func RemovalOf(status *operatorv1.OperatorStatus) Removal {
	removing := v1helpers.FindOperatorCondition(status.Conditions, RemovingCondition)
	if removing == nil || removing.Status != operatorv1.ConditionTrue {
		return ""
	}
	return Removal(removing.Reason)
}
