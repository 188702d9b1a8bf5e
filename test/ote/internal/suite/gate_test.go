package suite

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/client-go/config/clientset/versioned/fake"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
)

func TestATestRunsUnlessItsFeatureGateIsOff(t *testing.T) {
	attributes := func(names ...configv1.FeatureGateName) (all []configv1.FeatureGateAttributes) {
		for _, name := range names {
			all = append(all, configv1.FeatureGateAttributes{Name: name})
		}
		return all
	}
	for name, tc := range map[string]struct {
		gate              string
		enabled, disabled []configv1.FeatureGateAttributes
		skipped           string
	}{
		"the gate is on":  {gate: featuregate.NLBSecurityGroups, enabled: attributes(featuregate.NLBSecurityGroups)},
		"the gate is off": {gate: featuregate.NLBSecurityGroups, disabled: attributes(featuregate.NLBSecurityGroups), skipped: "skipped: the feature gate AWSServiceLBNetworkSecurityGroup is off"},
		"the cluster does not list the gate any more, because it is on for all": {gate: featuregate.NLBSecurityGroups, enabled: attributes("Other")},
		"the cluster does not list a gate that is off by default":               {gate: featuregate.PKI, skipped: "skipped: the feature gate ConfigurablePKI is off"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{config: fake.NewClientset(
				&configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"},
					Status: configv1.ClusterVersionStatus{Desired: configv1.Release{Version: "5.0.1"}}},
				&configv1.FeatureGate{ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
					Status: configv1.FeatureGateStatus{FeatureGates: []configv1.FeatureGateDetails{
						{Version: "5.0.0", Enabled: attributes(featuregate.PKI)},
						{Version: "5.0.1", Enabled: tc.enabled, Disabled: tc.disabled},
					}}},
			)}
			err := c.requireGate(t.Context(), tc.gate)
			if tc.skipped == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.skipped)
		})
	}
}
