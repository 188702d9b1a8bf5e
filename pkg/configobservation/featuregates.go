package configobservation

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// clusterFeatureGates are the gates that have a say in the operand: the alpha ones of k8s.io/controller-manager 0.36,
// of which a platform's configuration lists those that its cloud-controller-manager knows, and those of OpenShift that
// matter to a cloud's configuration, to flags or to the keys of certificates (github.com/openshift/api/features, whose
// import would slow down every start).
var clusterFeatureGates = sets.New[configv1.FeatureGateName](
	"CloudControllerManagerWatchBasedRoutesReconciliation",
	"CloudControllerManagerWebhook",
	"ControllerManagerReleaseLeaderElectionLockOnExit",

	"AWSServiceLBNetworkSecurityGroup",
	"ConfigurablePKI",
	"VSphereMixedNodeEnv",
	"VSphereMultiVCenterDay2",
)

// observeFeatureGates observes which of clusterFeatureGates are enabled. It reads the FeatureGate on every run, so
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
	enabled := sets.New[configv1.FeatureGateName]()
	for _, name := range gates.KnownFeatures() {
		if clusterFeatureGates.Has(name) && gates.Enabled(name) {
			enabled.Insert(name)
		}
	}
	return sets.List(enabled), nil
}
