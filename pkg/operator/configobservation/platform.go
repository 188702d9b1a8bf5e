package configobservation

import (
	"fmt"

	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

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

// refused reports whether what runs keeps the platform from becoming the current one. custom reports whether it is for
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
