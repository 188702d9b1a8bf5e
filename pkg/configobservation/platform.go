package configobservation

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// observePlatform observes the platform. A running cluster never changes it, with two exceptions. An unmanaged platform
// may become managed, because this version knows it, or because the administrator of an External cluster sets
// spec.custom. That administrator may later change spec.custom, but removing it does not stop what runs.
func observePlatform(listers Listers, existing map[string]any) (any, error) {
	d, err := decide(listers, existing)
	switch {
	case err != nil:
		return nil, err
	case !d.isRefused:
		return d.Name, nil
	case d.dependsOnCustom:
		return nil, fmt.Errorf("spec.custom of cloudcontrollermanager/%s is gone, but its cloud-controller-manager "+
			"runs on the control plane: to stop it is not supported, restore the former value", operatorclient.Instance)
	}
	return nil, fmt.Errorf("infrastructure.config.openshift.io/cluster changed its platform from %q to %q in "+
		"status.platformStatus.type: changing the platform of a running cluster is not supported, "+
		"restore the former value", d.previous, d.Name)
}

type decision struct {
	platform.Platform
	infrastructure *configv1.Infrastructure
	// custom is spec.custom. dependsOnCustom reports whether it determines what runs.
	custom          *apisv1.CustomCloudControllerManager
	dependsOnCustom bool
	// previous is the observed platform. isRefused reports whether the current one must not replace it, because its
	// operand runs.
	previous  string
	isRefused bool
}

func decide(listers Listers, existing map[string]any) (decision, error) {
	previous, _, err := unstructured.NestedString(existing, operandconfig.PlatformPath...)
	if err != nil {
		return decision{}, fmt.Errorf("reading the previous platform: %w", err)
	}
	infrastructure, err := getInfrastructure(listers)
	if err != nil {
		return decision{}, err
	}
	custom, err := listers.Custom()
	if err != nil {
		return decision{}, err
	}
	current, err := platform.Of(infrastructure, custom)
	formerly, _ := platform.ByName(previous)
	depends := platform.DependsOnCustom(infrastructure)
	isRefused := previous != current.Name && formerly.Managed() && (!depends || !current.Managed())
	return decision{current, infrastructure, custom, depends, previous, isRefused}, err
}

// decideAccepted returns errUnknown while the platform is unknown or rejected, so that what depends on it keeps its
// previous value. observePlatform reports the reason.
func decideAccepted(listers Listers, existing map[string]any) (decision, error) {
	d, err := decide(listers, existing)
	if err != nil || d.isRefused {
		return decision{}, errUnknown
	}
	return d, nil
}

func observeCustom(listers Listers, existing map[string]any) (any, error) {
	d, err := decideAccepted(listers, existing)
	if err != nil || !d.Managed() || d.Image != "" {
		return nil, err
	}
	return d.custom, nil
}

// The lease timings of a single control-plane node, where no standby can take over: those of library-go's
// LeaderElectionSNOConfig, which save writes. The operand's default configuration has the timings for several nodes.
const (
	singleNodeLeaseDuration = "270s"
	singleNodeRenewDeadline = "240s"
	singleNodeRetryPeriod   = "60s"
)

// fromInfrastructure reads a field of Infrastructure. Without one, the field is errUnknown: observePlatform reports it.
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

// onSingleNode observes a lease timing of a single node. While the predecessor's CCM competes for the same lease, the
// timings stay those for several nodes, which the predecessor uses everywhere. A standby waits for its own lease
// duration: with 137 seconds it would take the lease from a leader that may act for 240.
func onSingleNode(value string) reader {
	topology := fromInfrastructure(func(i *configv1.Infrastructure) any { return i.Status.ControlPlaneTopology })
	return func(listers Listers, existing map[string]any) (any, error) {
		if of, err := topology(listers, existing); err != nil || of != configv1.SingleReplicaTopologyMode {
			return nil, err
		}
		if predecessor, err := listers.Predecessor(); err != nil || predecessor {
			return nil, err
		}
		return value, nil
	}
}

func getInfrastructure(listers Listers) (*configv1.Infrastructure, error) {
	infrastructure, err := find(listers.Infrastructures, "infrastructure")
	if infrastructure == nil && err == nil {
		err = fmt.Errorf("infrastructure.config.openshift.io/%s does not exist: the installer writes it, "+
			"restore it from the cluster's installation or a backup", operatorclient.Instance)
	}
	return infrastructure, err
}

// find returns a singleton of config.openshift.io, nil if it does not exist.
func find[T any](lister interface{ Get(name string) (*T, error) }, resource string) (*T, error) {
	return operatorclient.Find(lister, resource+".config.openshift.io", "", operatorclient.Instance)
}

// cloudConfig observes which ConfigMap contains the cloud configuration. spec.custom takes precedence where it applies.
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
