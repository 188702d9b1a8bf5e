package operator

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
)

func TestInertia(t *testing.T) {
	for conditionType, want := range map[string]time.Duration{
		"CloudConfigDegraded":                0,
		"CredentialsDegraded":                0,
		"TrustedCADegraded":                  0,
		"ImageDegraded":                      0,
		"ConfigurationDegraded":              0,
		"ConfigObservationDegraded":          0,
		"AdmissionPoliciesDegraded":          0,
		"CloudControllerManagerDegraded":     0,
		"CrashLoopDegraded":                  0,
		"ControlPlaneNodesDegraded":          2 * time.Minute,
		"UnresponsiveDegraded":               0,
		"NodeDeletionDegraded":               0,
		"NodeInitializationDegraded":         0,
		"NodeManagerDegraded":                0,
		"RevisionHeldBackDegraded":           0,
		"ImagePullDegraded":                  0,
		"NodeManagerControllerDegraded":      2 * time.Minute,
		"CloudTokensDegraded":                2 * time.Minute,
		"NodeControllerDegraded":             10 * time.Minute,
		"StaticPodsDegraded":                 10 * time.Minute,
		"NodeInstallerDegraded":              2 * time.Minute,
		"TargetConfigControllerDegraded":     2 * time.Minute,
		"InstallerPodPendingDegraded":        2 * time.Minute,
		"InstallerPodStartDegraded":          0,
		"NotQuiteCloudConfigDegraded":        2 * time.Minute,
		"MissingStaticPodControllerDegraded": 2 * time.Minute,
	} {
		t.Run(conditionType, func(t *testing.T) {
			require.Equal(t, want, Inertia().Of(operatorv1.OperatorCondition{Type: conditionType}))
		})
	}
}

func TestMissingNodesHaveWaitedAlready(t *testing.T) {
	for reason, want := range map[string]time.Duration{"NodesMissing": 0, "NodesVanished": 2 * time.Minute, "StaticPodsLeft": 2 * time.Minute} {
		require.Equal(t, want, Inertia().Of(operatorv1.OperatorCondition{Type: "ControlPlaneNodesDegraded", Reason: reason}), reason)
	}
}

func TestAnUpgradeMayChangePoliciesBeforeItsOperatorRuns(t *testing.T) {
	for reason, want := range map[string]time.Duration{
		"PolicyMissing": 0, "BindingMissing": 0, "PolicyChanged": 10 * time.Minute,
	} {
		require.Equal(t, want, Inertia().Of(operatorv1.OperatorCondition{Type: "AdmissionPoliciesDegraded", Reason: reason}), reason)
	}
}
