package configobservation

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	"github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/loglevel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Observers returns every observer. They expect Listers, write disjoint paths and may run in any order.
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

// Observe runs every observer on existing and merges the results. The error contains everything that could not be
// observed; for that, the configuration keeps the existing values.
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

// mergeMaps adds from to into. Observers write disjoint paths, so no value is replaced.
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

// observeServiceNetworks reads the installer's spec until the network operator has written the status. No cluster is
// without service networks: a Network that names none is incomplete.
func observeServiceNetworks(listers Listers, _ map[string]any) (any, error) {
	network, err := find(listers.Networks, "network")
	switch {
	case err != nil:
		return nil, err
	case network != nil && len(network.Status.ServiceNetwork) > 0:
		return network.Status.ServiceNetwork, nil
	case network != nil && len(network.Spec.ServiceNetwork) > 0:
		return network.Spec.ServiceNetwork, nil
	}
	return nil, errUnknown
}

// observeTrustedCA observes the name of the ConfigMap with the administrator's CAs. Without a Proxy there is none.
func observeTrustedCA(listers Listers, _ map[string]any) (any, error) {
	current, err := find(listers.Proxies, "proxy")
	if err != nil || current == nil {
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

// observeNodeWorkers returns nothing if the administrator leaves the number to the platform.
func observeNodeWorkers(listers Listers, _ map[string]any) (any, error) {
	initialization, err := listers.NodeInitialization()
	if err != nil || initialization == nil || initialization.MaxConcurrentNodes == 0 {
		return nil, err
	}
	return strconv.Itoa(int(initialization.MaxConcurrentNodes)), nil
}

// reader returns the current value of a field, empty if unset. existing is the previous configuration.
type reader func(listers Listers, existing map[string]any) (value any, err error)

// errUnknown is a reader's error that keeps the previous value without being reported.
var errUnknown = errors.New("the value is not known")

// observe returns the observer of a field. If read returns an error, the field keeps its previous value.
func observe(path []string, read reader) configobserver.ObserveConfigFunc {
	return func(
		genericListers configobserver.Listers, recorder events.Recorder, existing map[string]any,
	) (map[string]any, []error) {
		value, err := read(genericListers.(Listers), existing)
		if err == nil {
			value, err = normalized(value, path)
		}
		observed := map[string]any{}
		if err == nil && value != nil {
			err = unstructured.SetNestedField(observed, value, path...)
		}
		switch {
		case errors.Is(err, errUnknown):
			return configobserver.Pruned(existing, path), nil
		case err != nil:
			return configobserver.Pruned(existing, path), []error{err}
		}
		recordChange(recorder, existing, value, path)
		return observed, nil
	}
}

// normalized returns a value as encoding/json decodes it, like the previous configuration; nil for an empty value. The
// value of a flag of the operand becomes a list.
func normalized(value any, path []string) (any, error) {
	var decoded any
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &decoded)
	}
	if err != nil {
		return nil, fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)
	}
	isDecoded := func(empty any) bool { return reflect.DeepEqual(decoded, empty) }
	if slices.ContainsFunc([]any{nil, "", []any{}, map[string]any{}}, isDecoded) {
		return nil, nil
	}
	if path[0] == operandconfig.ClusterNamePath[0] {
		return []any{decoded}, nil
	}
	return decoded, nil
}

func recordChange(recorder events.Recorder, existing map[string]any, value any, path []string) {
	previous, _, err := unstructured.NestedFieldNoCopy(existing, path...)
	if err == nil && reflect.DeepEqual(previous, value) {
		return
	}
	change := fmt.Sprintf(" from %q to %q", text(previous), text(value))
	_, wasObject := previous.(map[string]any)
	if _, isObject := value.(map[string]any); isObject || wasObject {
		change = "" // an object is too large for an event
	}
	recorder.Eventf("ObservedConfigurationChanged", "%s changed%s", strings.Join(path, "."), change)
}

func text(value any) string {
	if value == nil {
		return ""
	}
	return strings.Trim(fmt.Sprint(value), "[]") // the brackets of a list
}

// observeFeatureGates observes which gates of featuregate.Gates are enabled. Unlike library-go's FeatureGateAccess, it
// reads the FeatureGate on every run, so a changed gate requires no restart. Without a FeatureGate nothing changes.
func observeFeatureGates(listers Listers, _ map[string]any) (any, error) {
	gate, err := find(listers.FeatureGates, "featuregate")
	if err != nil || gate == nil {
		return nil, cmp.Or(err, errUnknown)
	}
	const name = "featuregate.config.openshift.io/" + operatorclient.Instance
	access, err := featuregates.NewHardcodedFeatureGateAccessFromFeatureGate(gate, listers.Version)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; cluster-config-operator writes it", name, err)
	}
	gates, err := access.CurrentFeatureGates()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	listed := map[string]bool{}
	for _, name := range gates.KnownFeatures() {
		listed[string(name)] = gates.Enabled(name)
	}
	enabled := []string{}
	for _, gate := range featuregate.Gates {
		if featuregate.Enabled(gate.Name, listed) {
			enabled = append(enabled, gate.Name)
		}
	}
	slices.Sort(enabled)
	return enabled, nil
}

const allowedNamesKey = "requestheader-allowed-names"

// observeRequestHeaderAllowedNames observes which client certificates may name a user in request headers. Without the
// flag, every certificate of the CA could, whatever else the CA signs. An empty list allows every name, and the flag is
// then omitted. Without the ConfigMap the previous value stays; the controller of the client CAs reports that.
func observeRequestHeaderAllowedNames(listers Listers, _ map[string]any) (any, error) {
	const namespace, name = operatorclient.KubeSystemNamespace, operatorclient.APIServerAuthentication
	source, err := operatorclient.Find(listers.Authentication.ConfigMaps(namespace), "configmap", namespace, name)
	if err != nil || source == nil {
		return nil, cmp.Or(err, errUnknown)
	}
	written, exists := source.Data[allowedNamesKey]
	if !exists {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(written), &names); err != nil {
		return nil, fmt.Errorf("configmap/%s in %s, key %s: expected a list of strings in JSON; "+
			"kube-apiserver writes it from its flag --%s", name, namespace, allowedNamesKey, allowedNamesKey)
	}
	value, err := asFlag(names)
	if err != nil {
		return nil, fmt.Errorf("reading configmap/%s in %s, key %s: %w", name, namespace, allowedNamesKey, err)
	}
	return value, nil
}

// asFlag returns the value of a flag that github.com/spf13/pflag reads as a string slice: one line of CSV.
func asFlag(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	var line strings.Builder
	writer := csv.NewWriter(&line)
	if err := writer.Write(values); err != nil {
		return "", fmt.Errorf("writing %q as the value of a flag: %w", values, err)
	}
	writer.Flush()
	return strings.TrimSuffix(line.String(), "\n"), writer.Error()
}
