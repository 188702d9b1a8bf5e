package platform

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
)

func TestWhyNothingRuns(t *testing.T) {
	external := func(state configv1.CloudControllerManagerState) configv1.PlatformStatus {
		return configv1.PlatformStatus{Type: configv1.ExternalPlatformType, External: &configv1.ExternalPlatformStatus{
			CloudControllerManager: configv1.CloudControllerManagerStatus{State: state},
		}}
	}
	for name, tc := range map[string]struct {
		status configv1.PlatformStatus
		want   Absence
	}{
		"bare metal":                            {status: configv1.PlatformStatus{Type: configv1.BareMetalPlatformType}, want: NotNeeded},
		"a platform that nobody knows":          {status: configv1.PlatformStatus{Type: "Moonbase"}, want: NotNeeded},
		"External, without a word about a CCM":  {status: configv1.PlatformStatus{Type: configv1.ExternalPlatformType}, want: NotAsked},
		"External, with an empty state":         {status: external(""), want: NotAsked},
		"External, whose nodes wait for no CCM": {status: external(configv1.CloudControllerManagerNone), want: NotAsked},
		"External, whose nodes wait for a CCM":  {status: external(configv1.CloudControllerManagerExternal), want: NotDeclared},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, AbsenceOf(&tc.status))
		})
	}
}
