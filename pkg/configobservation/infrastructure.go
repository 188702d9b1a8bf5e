package configobservation

import (
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// The lease timings of a single control-plane node, where nobody could take over: what library-go's
// LeaderElectionSNOConfig has, for fewer writes. Those of more nodes are a default of the operand's configuration.
const (
	singleNodeLeaseDuration = "270s"
	singleNodeRenewDeadline = "240s"
	singleNodeRetryPeriod   = "60s"
)

// fromInfrastructure reads a field of Infrastructure. The value is unknown without an Infrastructure;
// observePlatform reports it, once.
func fromInfrastructure(field func(*configv1.Infrastructure) any) reader {
	return func(listers Listers, _ map[string]any) (any, error) {
		infrastructure, err := getInfrastructure(listers)
		if err != nil || infrastructure.Status.PlatformStatus == nil {
			return nil, errUnknown
		}
		return field(infrastructure), nil
	}
}

func infrastructureName(i *configv1.Infrastructure) any { return i.Status.InfrastructureName }

func apiServerInternalURI(i *configv1.Infrastructure) any { return i.Status.APIServerInternalURL }

func platformSpec(i *configv1.Infrastructure) any { return i.Spec.PlatformSpec }

func platformStatus(i *configv1.Infrastructure) any { return i.Status.PlatformStatus }

// onSingleNode observes a lease timing of a single node. While the predecessor's CCM contends for the same lease, the
// timings stay those of more nodes, which the predecessor uses everywhere: a standby waits for its own lease duration,
// so one with 137 seconds would take the lease from a leader that may act for 240.
func onSingleNode(value string) reader {
	return func(listers Listers, _ map[string]any) (any, error) {
		infrastructure, err := getInfrastructure(listers)
		if err != nil || infrastructure.Status.PlatformStatus == nil {
			return nil, errUnknown
		}
		if infrastructure.Status.ControlPlaneTopology != configv1.SingleReplicaTopologyMode {
			return nil, nil
		}
		if predecessor, err := listers.Predecessor(); err != nil || predecessor {
			return nil, err
		}
		return value, nil
	}
}

func getInfrastructure(listers Listers) (*configv1.Infrastructure, error) {
	infrastructure, err := get(listers.Infrastructures, "infrastructure")
	if errors.Is(err, errUnknown) {
		return nil, fmt.Errorf("infrastructure.config.openshift.io/%s does not exist: the installer writes it, "+
			"restore it from the cluster's installation or a backup", operatorclient.Instance)
	}
	return infrastructure, err
}

// get returns a singleton of config.openshift.io, or errUnknown if it does not exist.
func get[T any](lister interface{ Get(name string) (T, error) }, resource string) (T, error) {
	object, err := lister.Get(operatorclient.Instance)
	if apierrors.IsNotFound(err) {
		return object, errUnknown
	}
	if err != nil {
		return object, fmt.Errorf("reading %s.config.openshift.io/%s: %w", resource, operatorclient.Instance, err)
	}
	return object, nil
}

// cloudConfig observes which ConfigMap holds the cloud configuration. spec.custom comes first, where it counts.
func cloudConfig(listers Listers, existing map[string]any) (operandconfig.CloudConfigReference, error) {
	d, err := decideAccepted(listers, existing)
	if err != nil {
		return operandconfig.CloudConfigReference{}, err
	}
	if d.custom != nil && d.custom.CloudConfig.Name != "" && d.Image == "" {
		custom := d.custom.CloudConfig
		return operandconfig.CloudConfigReference{Name: custom.Name, Key: ptr.Deref(custom.Key, "")}, nil
	}
	return operandconfig.CloudConfigReference(d.infrastructure.Spec.CloudConfig), nil
}

func cloudConfigName(listers Listers, existing map[string]any) (any, error) {
	reference, err := cloudConfig(listers, existing)
	return reference.Name, err
}

func cloudConfigKey(listers Listers, existing map[string]any) (any, error) {
	reference, err := cloudConfig(listers, existing)
	return reference.Key, err
}
