package configobservation

import (
	"fmt"
	"slices"

	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// observeFeatureGates observes which gates of featuregate.Gates are enabled. It reads the FeatureGate on every run, so
// unlike library-go's FeatureGateAccess it needs no restart when a gate changes. A missing FeatureGate leaves the
// previous value.
func observeFeatureGates(listers Listers, _ map[string]any) (any, error) {
	gate, err := get(listers.FeatureGates, "featuregate")
	if err != nil {
		return nil, err
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
