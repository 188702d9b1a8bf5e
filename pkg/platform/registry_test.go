package platform

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/vsphere"
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
		"OpenStack is managed": {status: &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType}, want: "openstack"},
		"None is unmanaged":    {status: &configv1.PlatformStatus{Type: configv1.NonePlatformType}, want: "none"},
		"a type that is not known yet is unmanaged": {status: &configv1.PlatformStatus{Type: "SomethingNew"},
			want: "none"},
		"without a status nothing is decided":          {wantErr: ErrNoStatus},
		"with an empty type nothing is decided either": {status: &configv1.PlatformStatus{}, wantErr: ErrNoStatus},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(&configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: tc.status}},
				nil)
			require.ErrorIs(t, err, tc.wantErr)
			require.Equal(t, tc.want, got.Name)
		})
	}
}

// simple are the types that map to one platform, regardless of the rest of an Infrastructure.
var simple = map[configv1.PlatformType]string{
	configv1.AlibabaCloudPlatformType: "alibabacloud",
	configv1.AWSPlatformType:          "aws",
	configv1.GCPPlatformType:          "gcp",
	configv1.IBMCloudPlatformType:     "ibmcloud",
	configv1.NutanixPlatformType:      "nutanix",
	configv1.OpenStackPlatformType:    "openstack",
	configv1.PowerVSPlatformType:      "powervs",
	configv1.VSpherePlatformType:      "vsphere",
}

// The platform-specific statuses with every value that the API allows, and nil.
var (
	azureStatuses = []*configv1.AzurePlatformStatus{
		nil, {}, {CloudName: configv1.AzurePublicCloud}, {CloudName: configv1.AzureUSGovernmentCloud},
		{CloudName: configv1.AzureChinaCloud},
		{CloudName: configv1.AzureGermanCloud}, {CloudName: configv1.AzureStackCloud},
	}
	externalStatuses = []*configv1.ExternalPlatformStatus{
		nil, {},
		{CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerNone}},
		{CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerExternal}},
	}
	customSpecs = []*operatorv1.CustomCloudControllerManager{
		nil, {Image: "registry.example.com/ccm"}, {Platform: operatorv1.CustomCloudControllerManagerPlatformAlibabaCloud,
			Image: "registry.example.com/ccm"},
		{Platform: operatorv1.CustomCloudControllerManagerPlatformDigitalOcean, Image: "registry.example.com/ccm"},
		{Platform: "SomethingNew", Image: "registry.example.com/ccm"},
	}
)

// expected is an independent implementation of the registry's matches.
func expected(status *configv1.PlatformStatus, custom *operatorv1.CustomCloudControllerManager) string {
	if name, ok := simple[status.Type]; ok {
		return name
	}
	switch {
	case status.Type == configv1.AzurePlatformType && status.Azure != nil &&
		status.Azure.CloudName == "AzureStackCloud":
		return "azurestack"
	case status.Type == configv1.AzurePlatformType:
		return "azure"
	case status.Type != configv1.ExternalPlatformType || status.External == nil || custom == nil:
		return "none"
	case status.External.CloudControllerManager.State != "External":
		return "none"
	}
	switch custom.Platform {
	case "":
		return "external"
	case "AlibabaCloud":
		return "alibabacloud"
	case "DigitalOcean":
		return "digitalocean"
	}
	return "none"
}

// TestExactlyOneEntryMatches checks every combination of type and platform-specific status, including statuses of
// other types, which the API server rejects but a file may have.
func TestExactlyOneEntryMatches(t *testing.T) {
	found := map[string]bool{}
	for _, platformType := range allTypes {
		for _, azure := range azureStatuses {
			for _, externalStatus := range externalStatuses {
				for _, custom := range customSpecs {
					status := &configv1.PlatformStatus{Type: platformType, Azure: azure, External: externalStatus}
					var matching []string
					for _, p := range registry {
						if p.matches(status, custom) {
							matching = append(matching, p.Name)
						}
					}
					want := expected(status, custom)
					found[want] = true
					if want == None {
						require.Empty(t, matching, "%+v %+v %+v %+v", platformType, azure, externalStatus, custom)
					} else {
						require.Equal(t, []string{want}, matching, "%+v %+v %+v %+v", platformType, azure,
							externalStatus, custom)
					}
					infrastructure := &configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: status}}
					got, err := Of(infrastructure, custom)
					require.NoError(t, err)
					require.Equal(t, want, got.Name)
				}
			}
		}
	}
	require.Len(t, found, len(All()), "every platform matches a cluster")
}

// A platform's entry is complete without its assets.
func TestEntriesAreComplete(t *testing.T) {
	for _, p := range registry {
		require.NotNil(t, p.Rewrite, p.Name)
		require.NotNil(t, p.matches, p.Name)
		require.Regexp(t, "^[a-z]+$", p.Name)
		if p.Credentials.Secret == "" {
			require.Equal(t, "external", p.Name, "spec.custom names the Secrets, and on no other platform")
		}
		if p.NodeManagerImage != "" {
			require.NotEmpty(t, p.Image, p.Name)
		}
	}
	_, ok := ByName(None)
	require.True(t, ok)
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

func TestOnAnExternalPlatformSpecCustomDecidesIfNodesWait(t *testing.T) {
	waits := &configv1.ExternalPlatformStatus{CloudControllerManager: configv1.CloudControllerManagerStatus{State: configv1.CloudControllerManagerExternal}}
	for name, tc := range map[string]struct {
		status *configv1.PlatformStatus
		want   bool
	}{
		"without a status nothing is known": {},
		"the nodes wait": {status: &configv1.PlatformStatus{Type: configv1.ExternalPlatformType,
			External: waits}, want: true},
		"the nodes do not wait": {status: &configv1.PlatformStatus{Type: configv1.ExternalPlatformType}},
		"another platform": {status: &configv1.PlatformStatus{Type: configv1.NonePlatformType,
			External: waits}},
	} {
		t.Run(name, func(t *testing.T) {
			got := DependsOnCustom(&configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: tc.status}})
			require.Equal(t, tc.want, got)
		})
	}
}

func TestTheManagedConfigIsWrittenWhereItIsRewritten(t *testing.T) {
	require.False(t, Platform{}.WritesManagedConfig())
	require.True(t, Platform{ManagedConfig: ManagedConfig{Rewrite: vsphere.RewriteManaged}}.WritesManagedConfig())
}
