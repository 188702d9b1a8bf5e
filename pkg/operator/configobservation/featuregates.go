package configobservation

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/operator/configobserver"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	"github.com/openshift/library-go/pkg/operator/events"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
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
