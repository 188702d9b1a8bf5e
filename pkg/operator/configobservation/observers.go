package configobservation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/apiserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	"github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// clusterFeatureGates are the gates that have a say in the operand: the alpha ones of k8s.io/controller-manager 0.36, of
// which a platform's configuration lists those that its cloud-controller-manager knows, and those of OpenShift that matter
// to a cloud's configuration or flags (github.com/openshift/api/features, whose import would slow down every start).
var clusterFeatureGates = sets.New[configv1.FeatureGateName](
	"CloudControllerManagerWatchBasedRoutesReconciliation",
	"CloudControllerManagerWebhook",
	"ControllerManagerReleaseLeaderElectionLockOnExit",

	"AWSServiceLBNetworkSecurityGroup",
	"VSphereMixedNodeEnv",
	"VSphereMultiVCenterDay2",
)

// The lease timings of a single control-plane node, where nobody could take over: what library-go's
// LeaderElectionSNOConfig has, for fewer writes. Those of more nodes are a default of the operand's configuration.
const (
	singleNodeLeaseDuration = "270s"
	singleNodeRenewDeadline = "240s"
	singleNodeRetryPeriod   = "60s"
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

// observePlatform decides the platform once: a running cluster never changes it. Where nothing ran something may, because this
// version knows a platform that an older one did not, or because on an External cluster an administrator says so. There he may
// say something else later; to say nothing again is no way to stop what runs.
func observePlatform(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.PlatformPath
	previous := configobserver.Pruned(existing, path)
	previousName, _, err := unstructured.NestedString(previous, path...)
	if err != nil {
		return previous, []error{fmt.Errorf("reading the previous platform: %w", err)}
	}
	current, dependsOnCustom, err := getPlatform(genericListers)
	if err != nil {
		return previous, []error{err}
	}
	switch {
	case !refused(previousName, current, dependsOnCustom):
		return set(recorder, existing, current.Name, path)
	case dependsOnCustom:
		return previous, []error{fmt.Errorf("spec.custom of cloudcontrollermanager/%s is gone, but its cloud-controller-manager runs on the control plane: "+
			"to stop it is not supported, restore the former value", operatorclient.Instance)}
	}
	return previous, []error{fmt.Errorf("infrastructure.config.openshift.io/cluster changed its platform from %q to %q in status.platformStatus.type: "+
		"changing the platform of a running cluster is not supported, restore the former value", previousName, current.Name)}
}

// refused tells whether what runs keeps the platform from becoming the current one. custom reports whether it is for
// spec.custom to say what runs.
func refused(previousName string, current platform.Platform, dependsOnCustom bool) bool {
	formerly, _ := platform.ByName(previousName)
	return previousName != current.Name && formerly.Managed() && (!dependsOnCustom || !current.Managed())
}

// acceptedPlatform returns the platform, or false while it is not known or refused: what depends on it then stays as it is.
// The reason is observePlatform's to report.
func acceptedPlatform(genericListers configobserver.Listers, existing map[string]any) (platform.Platform, bool) {
	current, dependsOnCustom, err := getPlatform(genericListers)
	if err != nil {
		return platform.Platform{}, false
	}
	previousName, _, err := unstructured.NestedString(existing, operandconfig.PlatformPath...)
	return current, err == nil && !refused(previousName, current, dependsOnCustom)
}

// getPlatform returns the platform, and whether it is one that depends on spec.custom.
func getPlatform(genericListers configobserver.Listers) (current platform.Platform, dependsOnCustom bool, err error) {
	infrastructure, err := getInfrastructure(genericListers)
	if err != nil {
		return platform.Platform{}, false, err
	}
	declared, err := genericListers.(Listers).Custom()
	if err != nil {
		return platform.Platform{}, false, fmt.Errorf("spec.custom of cloudcontrollermanager/%s: %w", operatorclient.Instance, err)
	}
	current, err = platform.Of(infrastructure, declared)
	return current, platform.DependsOnCustom(infrastructure), err
}

// observeCustom passes on spec.custom where the platform takes it.
func observeCustom(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.CustomPath
	current, accepted := acceptedPlatform(genericListers, existing)
	if !accepted {
		return configobserver.Pruned(existing, path), nil
	}
	custom, err := genericListers.(Listers).Custom()
	if err != nil || custom == nil || !current.Managed() || current.Image != "" {
		return set(recorder, existing, nil, path)
	}
	return setObject(recorder, existing, custom, path)
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

func platformSpec(i *configv1.Infrastructure) any { return &i.Spec.PlatformSpec }

func platformStatus(i *configv1.Infrastructure) any { return i.Status.PlatformStatus }

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

// setObject is set for a pointer to a struct; an empty one is no value. Numbers are those of encoding/json, as in
// existing.
func setObject(recorder events.Recorder, existing map[string]any, object any, path []string) (map[string]any, []error) {
	value := map[string]any{}
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)}
	}
	if len(value) == 0 {
		return set(recorder, existing, nil, path)
	}
	return set(recorder, existing, value, path)
}

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

// observeFeatureGates observes which of clusterFeatureGates are enabled. It reads the FeatureGate on every run, so unlike
// library-go's FeatureGateAccess it needs no restart when a gate changes. A missing FeatureGate leaves the previous
// value.
func observeFeatureGates(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.FeatureGatesPath
	previous := configobserver.Pruned(existing, path)
	listers := genericListers.(Listers)
	gate, err := listers.FeatureGates.Get(operatorclient.Instance)
	if apierrors.IsNotFound(err) {
		return previous, nil
	}
	if err != nil {
		return previous, []error{fmt.Errorf("featuregate.config.openshift.io/%s: %w", operatorclient.Instance, err)}
	}
	access, err := featuregates.NewHardcodedFeatureGateAccessFromFeatureGate(gate, listers.Version)
	if err != nil {
		return previous, []error{fmt.Errorf("featuregate.config.openshift.io/%s: %w; cluster-config-operator writes it", operatorclient.Instance, err)}
	}
	gates, err := access.CurrentFeatureGates()
	if err != nil {
		return previous, []error{fmt.Errorf("featuregate.config.openshift.io/%s: %w", operatorclient.Instance, err)}
	}
	enabled := sets.New[string]()
	for _, name := range gates.KnownFeatures() {
		if clusterFeatureGates.Has(name) && gates.Enabled(name) {
			enabled.Insert(string(name))
		}
	}
	if len(enabled) == 0 {
		return set(recorder, existing, nil, path)
	}
	var list []any
	for _, name := range sets.List(enabled) {
		list = append(list, name)
	}
	return set(recorder, existing, list, path)
}

func observeVerbosity(genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any) (map[string]any, []error) {
	path := operandconfig.VerbosityPath
	level, err := genericListers.(Listers).LogLevel()
	if err != nil {
		return configobserver.Pruned(existing, path), []error{fmt.Errorf("reading the operand's log level: %w", err)}
	}
	return setList(recorder, existing, strconv.Itoa(loglevel.LogLevelToVerbosity(level)), path)
}

// isArgument tells whether path is a flag of the operand; flags have lists of values.
func isArgument(path []string) bool { return path[0] == operandconfig.ClusterNamePath[0] }

// setList is set for a flag with one value.
func setList(recorder events.Recorder, existing map[string]any, value string, path []string) (map[string]any, []error) {
	if value == "" {
		return set(recorder, existing, nil, path)
	}
	return set(recorder, existing, []any{value}, path)
}

// set returns a configuration with value at path, or an empty one if there is no value, and tells of a change by an
// event.
func set(recorder events.Recorder, existing map[string]any, value any, path []string) (map[string]any, []error) {
	observed := map[string]any{}
	if value == "" {
		value = nil
	}
	if value != nil {
		if err := unstructured.SetNestedField(observed, value, path...); err != nil {
			return configobserver.Pruned(existing, path), []error{fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)}
		}
	}
	previous, _, err := unstructured.NestedFieldNoCopy(existing, path...)
	switch changed := err != nil || !reflect.DeepEqual(previous, value); {
	case changed && isObject(previous, value):
		recorder.Eventf("ObservedConfigurationChanged", "%s changed", strings.Join(path, "."))
	case changed:
		recorder.Eventf("ObservedConfigurationChanged", "%s changed from %q to %q", strings.Join(path, "."), text(previous), text(value))
	}
	return observed, nil
}

// isObject tells whether one of the values is too much for the text of an event.
func isObject(values ...any) bool {
	return slices.ContainsFunc(values, func(value any) bool {
		_, is := value.(map[string]any)
		return is
	})
}

// text is a value of the configuration for people.
func text(value any) string {
	if list, ok := value.([]any); ok {
		value = strings.Trim(fmt.Sprint(list), "[]")
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
