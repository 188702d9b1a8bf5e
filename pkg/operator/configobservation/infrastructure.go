package configobservation

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// The lease timings of a single control-plane node, where nobody could take over: what library-go's
// LeaderElectionSNOConfig has, for fewer writes. Those of more nodes are a default of the operand's configuration.
const (
	singleNodeLeaseDuration = "270s"
	singleNodeRenewDeadline = "240s"
	singleNodeRetryPeriod   = "60s"
)

// fromInfrastructure observes the string that field finds. An Infrastructure that is missing leaves the previous value;
// observePlatform reports it, once.
func fromInfrastructure(field func(*configv1.Infrastructure) string, path []string) configobserver.ObserveConfigFunc {
	return func(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
		infrastructure, err := getInfrastructure(genericListers)
		if err != nil || infrastructure.Status.PlatformStatus == nil {
			return configobserver.Pruned(existing, path), nil
		}
		if isArgument(path) {
			return setList(recorder, existing, field(infrastructure), path)
		}
		return set(recorder, existing, field(infrastructure), path)
	}
}

func infrastructureName(i *configv1.Infrastructure) string { return i.Status.InfrastructureName }

func apiServerInternalURI(i *configv1.Infrastructure) string { return i.Status.APIServerInternalURL }

func onSingleNode(value string) func(*configv1.Infrastructure) string {
	return func(i *configv1.Infrastructure) string {
		if i.Status.ControlPlaneTopology != configv1.SingleReplicaTopologyMode {
			return ""
		}
		return value
	}
}

func getInfrastructure(genericListers configobserver.Listers) (*configv1.Infrastructure, error) {
	infrastructure, err := genericListers.(Listers).Infrastructures.Get(operatorclient.Instance)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("infrastructure.config.openshift.io/%s does not exist: the installer writes it, "+
			"restore it from the cluster's installation or a backup", operatorclient.Instance)
	}
	if err != nil {
		return nil, fmt.Errorf("infrastructure.config.openshift.io/%s: %w", operatorclient.Instance, err)
	}
	return infrastructure, nil
}

// objectFromInfrastructure is fromInfrastructure for a part that is an object.
func objectFromInfrastructure(field func(*configv1.Infrastructure) any, path []string) configobserver.ObserveConfigFunc {
	return func(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
		infrastructure, err := getInfrastructure(genericListers)
		if err != nil || infrastructure.Status.PlatformStatus == nil {
			return configobserver.Pruned(existing, path), nil
		}
		return setObject(recorder, existing, field(infrastructure), path)
	}
}

func platformSpec(i *configv1.Infrastructure) any { return &i.Spec.PlatformSpec }

func platformStatus(i *configv1.Infrastructure) any { return i.Status.PlatformStatus }

func cloudConfigName(i *configv1.Infrastructure, e *apisv1.CustomCloudControllerManager) string {
	if e != nil && e.CloudConfig != nil {
		return e.CloudConfig.Name
	}
	return i.Spec.CloudConfig.Name
}

func cloudConfigKey(i *configv1.Infrastructure, e *apisv1.CustomCloudControllerManager) string {
	if e != nil && e.CloudConfig != nil {
		return e.CloudConfig.Key
	}
	return i.Spec.CloudConfig.Key
}

// observeCloudConfig observes which ConfigMap holds the cloud configuration. spec.custom comes first, where it counts.
func observeCloudConfig(field func(*configv1.Infrastructure, *apisv1.CustomCloudControllerManager) string, path []string) configobserver.ObserveConfigFunc {
	return func(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
		current, accepted := acceptedPlatform(genericListers, existing)
		if !accepted {
			return configobserver.Pruned(existing, path), nil
		}
		custom, err := genericListers.(Listers).Custom()
		if err != nil {
			return configobserver.Pruned(existing, path), nil
		}
		if current.Image != "" {
			custom = nil
		}
		return fromInfrastructure(func(i *configv1.Infrastructure) string { return field(i, custom) }, path)(genericListers, recorder, existing)
	}
}
