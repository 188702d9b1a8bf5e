package configobservation

import (
	"errors"
	"strconv"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// Observers returns every observer. They are given Listers, write disjoint paths and may run in any order.
func Observers() []configobserver.ObserveConfigFunc {
	return []configobserver.ObserveConfigFunc{
		observe(operandconfig.PlatformPath, observePlatform),
		observe(operandconfig.CustomPath, observeCustom),
		observe(operandconfig.PlatformSpecPath, fromInfrastructure(platformSpec)),
		observe(operandconfig.PlatformStatusPath, fromInfrastructure(platformStatus)),
		observe(operandconfig.ServiceNetworksPath, observeServiceNetworks),
		observe(operandconfig.InfrastructureNamePath, fromInfrastructure(infrastructureName)),
		observe(operandconfig.ClusterNamePath, fromInfrastructure(infrastructureName)),
		observe(operandconfig.APIServerInternalURIPath, fromInfrastructure(apiServerInternalURI)),
		observe(operandconfig.CloudConfigNamePath, cloudConfigName),
		observe(operandconfig.CloudConfigKeyPath, cloudConfigKey),
		observe(operandconfig.LeaseDurationPath, onSingleNode(singleNodeLeaseDuration)),
		observe(operandconfig.LeaseRenewDeadlinePath, onSingleNode(singleNodeRenewDeadline)),
		observe(operandconfig.LeaseRetryPeriodPath, onSingleNode(singleNodeRetryPeriod)),
		observe(operandconfig.TrustedCAPath, observeTrustedCA),
		proxy.NewProxyObserveFunc(operandconfig.ProxyPath),
		observeTLSProfile,
		observe(operandconfig.CurvePreferencesPath, observeCurvePreferences),
		observe(operandconfig.FeatureGatesPath, observeFeatureGates),
		observe(operandconfig.VerbosityPath, observeVerbosity),
		observe(operandconfig.NodeWorkersPath, observeNodeWorkers),
		observe(operandconfig.RequestHeaderAllowedNamesPath, observeRequestHeaderAllowedNames),
	}
}

// Observe runs every observer over existing and merges what they observed. The error has everything that could not be
// observed; the configuration then has the existing values there.
func Observe(listers Listers, recorder events.Recorder, existing map[string]any) (map[string]any, error) {
	observed := map[string]any{}
	var errs []error
	for _, observe := range Observers() {
		part, partErrs := observe(listers, recorder, existing)
		errs = append(errs, partErrs...)
		mergeMaps(observed, part)
	}
	return observed, utilerrors.NewAggregate(errs)
}

// mergeMaps adds from to into. Observers write disjoint paths, so no value is ever replaced.
func mergeMaps(into, from map[string]any) {
	for key, value := range from {
		nested, isMap := value.(map[string]any)
		existing, exists := into[key].(map[string]any)
		if isMap && exists {
			mergeMaps(existing, nested)
			continue
		}
		into[key] = value
	}
}

// observeServiceNetworks reads what the installer asked for until the network operator says what there is.
func observeServiceNetworks(listers Listers, _ map[string]any) (any, error) {
	network, err := get(listers.Networks, "network")
	if err != nil {
		return nil, err
	}
	if len(network.Status.ServiceNetwork) > 0 {
		return network.Status.ServiceNetwork, nil
	}
	return network.Spec.ServiceNetwork, nil
}

// observeTrustedCA names the ConfigMap with the CAs that the administrator adds. Without a Proxy there is none.
func observeTrustedCA(listers Listers, _ map[string]any) (any, error) {
	current, err := get(listers.Proxies, "proxy")
	if errors.Is(err, errUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return current.Spec.TrustedCA.Name, nil
}

func observeVerbosity(listers Listers, _ map[string]any) (any, error) {
	level, err := listers.LogLevel()
	if err != nil {
		return nil, err
	}
	return strconv.Itoa(loglevel.LogLevelToVerbosity(level)), nil
}

// observeNodeWorkers returns nothing where the administrator leaves the number to the platform.
func observeNodeWorkers(listers Listers, _ map[string]any) (any, error) {
	initialization, err := listers.NodeInitialization()
	if err != nil {
		return nil, err
	}
	if initialization == nil || initialization.MaxConcurrentNodes == 0 {
		return nil, nil
	}
	return strconv.Itoa(int(initialization.MaxConcurrentNodes)), nil
}
