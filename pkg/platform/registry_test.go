package platform

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
)

// allTypes are the values of PlatformType in openshift/api, and one that is not.
var allTypes = []configv1.PlatformType{
	configv1.AlibabaCloudPlatformType, configv1.AWSPlatformType, configv1.AzurePlatformType,
	configv1.BareMetalPlatformType, configv1.EquinixMetalPlatformType, configv1.ExternalPlatformType,
	configv1.GCPPlatformType, configv1.IBMCloudPlatformType, configv1.KubevirtPlatformType,
	configv1.LibvirtPlatformType, configv1.NonePlatformType, configv1.NutanixPlatformType,
	configv1.OpenStackPlatformType, configv1.OvirtPlatformType, configv1.PowerVSPlatformType,
	configv1.VSpherePlatformType, "SomethingNew",
}

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		status  *configv1.PlatformStatus
		want    string
		wantErr error
	}{
		"OpenStack is managed":                         {status: &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType}, want: "openstack"},
		"None is unmanaged":                            {status: &configv1.PlatformStatus{Type: configv1.NonePlatformType}, want: "none"},
		"a type that is not known yet is unmanaged":    {status: &configv1.PlatformStatus{Type: "SomethingNew"}, want: "none"},
		"without a status nothing is decided":          {wantErr: ErrNoStatus},
		"with an empty type nothing is decided either": {status: &configv1.PlatformStatus{}, wantErr: ErrNoStatus},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(&configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: tc.status}}, nil)
			require.ErrorIs(t, err, tc.wantErr)
			require.Equal(t, tc.want, got.Name)
		})
	}
}

func TestEveryTypeMatchesAtMostOneEntry(t *testing.T) {
	for _, platformType := range allTypes {
		t.Run(string(platformType), func(t *testing.T) {
			var matching []string
			for _, p := range registry {
				if p.matches(&configv1.PlatformStatus{Type: platformType}, nil) {
					matching = append(matching, p.Name)
				}
			}
			require.LessOrEqual(t, len(matching), 1, "matched by %v", matching)
		})
	}
}

func TestNamesAreUniqueAndFound(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		require.False(t, seen[p.Name], "platform %q is registered twice", p.Name)
		seen[p.Name] = true
		found, ok := ByName(p.Name)
		require.True(t, ok)
		require.Equal(t, p.Image, found.Image)
	}
	_, ok := ByName("atlantis")
	require.False(t, ok)
}

func TestNamesDerivedFromAPlatform(t *testing.T) {
	require.Equal(t, "OPENSTACK_IMAGE", ImageEnv("openstack-cloud-controller-manager"))
	require.Equal(t, "AZURE_NODE_MANAGER_IMAGE", ImageEnv("azure-cloud-node-manager"))
	none, _ := ByName("none")
	require.False(t, none.Managed())
	require.Empty(t, none.Images())
}
