package configobservation

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apisv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// observePlatform decides the platform once: a running cluster never changes it. Where nothing ran something may,
// because this version knows a platform that an older one did not, or because on an External cluster an administrator
// says so. There he may say something else later; to say nothing again is no way to stop what runs.
func observePlatform(listers Listers, existing map[string]any) (any, error) {
	previous, _, err := unstructured.NestedString(existing, operandconfig.PlatformPath...)
	if err != nil {
		return nil, fmt.Errorf("reading the previous platform: %w", err)
	}
	d, err := decide(listers)
	switch {
	case err != nil:
		return nil, err
	case !d.isRefused(previous):
		return d.Name, nil
	case d.dependsOnCustom:
		return nil, fmt.Errorf("spec.custom of cloudcontrollermanager/%s is gone, but its cloud-controller-manager "+
			"runs on the control plane: to stop it is not supported, restore the former value", operatorclient.Instance)
	}
	return nil, fmt.Errorf("infrastructure.config.openshift.io/cluster changed its platform from %q to %q in "+
		"status.platformStatus.type: changing the platform of a running cluster is not supported, "+
		"restore the former value", previous, d.Name)
}

type decision struct {
	platform.Platform
	infrastructure *configv1.Infrastructure
	// custom is spec.custom. dependsOnCustom reports whether it determines what runs.
	custom          *apisv1.CustomCloudControllerManager
	dependsOnCustom bool
}

func decide(listers Listers) (decision, error) {
	infrastructure, err := getInfrastructure(listers)
	if err != nil {
		return decision{}, err
	}
	custom, err := listers.Custom()
	if err != nil {
		return decision{}, err
	}
	current, err := platform.Of(infrastructure, custom)
	return decision{current, infrastructure, custom, platform.DependsOnCustom(infrastructure)}, err
}

// isRefused reports whether what runs keeps the platform from becoming the current one.
func (d decision) isRefused(previous string) bool {
	formerly, _ := platform.ByName(previous)
	return previous != d.Name && formerly.Managed() && (!d.dependsOnCustom || !d.Managed())
}

// decideAccepted returns errUnknown while the platform is not known or refused: what depends on it then stays as it is.
// The reason is observePlatform's to report.
func decideAccepted(listers Listers, existing map[string]any) (decision, error) {
	d, err := decide(listers)
	previous, _, previousErr := unstructured.NestedString(existing, operandconfig.PlatformPath...)
	if err != nil || previousErr != nil || d.isRefused(previous) {
		return decision{}, errUnknown
	}
	return d, nil
}

// observeCustom passes on spec.custom where the platform takes it.
func observeCustom(listers Listers, existing map[string]any) (any, error) {
	d, err := decideAccepted(listers, existing)
	if err != nil || !d.Managed() || d.Image != "" {
		return nil, err
	}
	return d.custom, nil
}
