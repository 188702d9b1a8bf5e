package configobservation

import (
	"fmt"
	"strconv"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/apiserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
)

// Observers returns every observer. They are given Listers, write disjoint paths and may run in any order.
func Observers() []configobserver.ObserveConfigFunc {
	return []configobserver.ObserveConfigFunc{
		observePlatform,
		observeCustom,
		objectFromInfrastructure(platformSpec, operandconfig.PlatformSpecPath),
		objectFromInfrastructure(platformStatus, operandconfig.PlatformStatusPath),
		observeServiceNetworks,
		fromInfrastructure(infrastructureName, operandconfig.InfrastructureNamePath),
		fromInfrastructure(infrastructureName, operandconfig.ClusterNamePath),
		fromInfrastructure(apiServerInternalURI, operandconfig.APIServerInternalURIPath),
		observeCloudConfig(cloudConfigName, operandconfig.CloudConfigNamePath),
		observeCloudConfig(cloudConfigKey, operandconfig.CloudConfigKeyPath),
		fromInfrastructure(onSingleNode(singleNodeLeaseDuration), operandconfig.LeaseDurationPath),
		fromInfrastructure(onSingleNode(singleNodeRenewDeadline), operandconfig.LeaseRenewDeadlinePath),
		fromInfrastructure(onSingleNode(singleNodeRetryPeriod), operandconfig.LeaseRetryPeriodPath),
		observeTrustedCA,
		proxy.NewProxyObserveFunc(operandconfig.ProxyPath),
		observeTLSProfile,
		observeFeatureGates,
		observeVerbosity,
		observeRequestHeaderAllowedNames,
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
func observeServiceNetworks(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.ServiceNetworksPath
	network, err := genericListers.(Listers).Networks.Get(operatorclient.Instance)
	if apierrors.IsNotFound(err) {
		return configobserver.Pruned(existing, path), nil
	}
	if err != nil {
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("network.config.openshift.io/%s: %w", operatorclient.Instance, err)}
	}
	cidrs := network.Status.ServiceNetwork
	if len(cidrs) == 0 {
		cidrs = network.Spec.ServiceNetwork
	}
	var values []any
	for _, cidr := range cidrs {
		values = append(values, cidr)
	}
	if len(values) == 0 {
		return set(recorder, existing, nil, path)
	}
	return set(recorder, existing, values, path)
}

// observeTrustedCA names the ConfigMap with the CAs that the administrator adds. Without a Proxy there is none.
func observeTrustedCA(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.TrustedCAPath
	current, err := genericListers.(Listers).Proxies.Get(operatorclient.Instance)
	switch {
	case apierrors.IsNotFound(err):
		return set(recorder, existing, "", path)
	case err != nil:
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("proxy.config.openshift.io/%s: %w", operatorclient.Instance, err)}
	}
	return set(recorder, existing, current.Spec.TrustedCA.Name, path)
}

func observeTLSProfile(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	return apiserver.ObserveTLSSecurityProfileWithPaths(genericListers, recorder, existing,
		operandconfig.MinTLSVersionPath, operandconfig.CipherSuitesPath)
}

func observeVerbosity(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.VerbosityPath
	level, err := genericListers.(Listers).LogLevel()
	if err != nil {
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("reading the operand's log level: %w", err)}
	}
	return setList(recorder, existing, strconv.Itoa(loglevel.LogLevelToVerbosity(level)), path)
}
