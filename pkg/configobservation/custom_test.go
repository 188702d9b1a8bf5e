package configobservation_test

import (
	"encoding/json"
	"errors"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/configobservation"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// onExternal is a cluster whose cloud-controller-manager is in the given state; "-" leaves the object out that has it.
func onExternal(state configv1.CloudControllerManagerState) *configv1.Infrastructure {
	return with(openStack(), func(i *configv1.Infrastructure) {
		i.Status.PlatformStatus = &configv1.PlatformStatus{Type: configv1.ExternalPlatformType}
		if state != "-" {
			i.Status.PlatformStatus.External = &configv1.ExternalPlatformStatus{CloudControllerManager: configv1.CloudControllerManagerStatus{State: state}}
		}
	})
}

var (
	own          = &ccmv1.CustomCloudControllerManager{Image: "registry/acme:1", Args: []string{"--region=one"}, Probe: &ccmv1.CustomCloudControllerManagerProbe{Port: 9999}}
	digitalOcean = &ccmv1.CustomCloudControllerManager{Platform: ccmv1.CustomCloudControllerManagerPlatformDigitalOcean, Image: "registry/do:1"}
)

// observePart observes w over existing and returns what is at path.
func observePart(t *testing.T, w world, existing string, path ...string) (any, error) {
	t.Helper()
	previous := map[string]any{}
	if existing != "" {
		require.NoError(t, json.Unmarshal([]byte(existing), &previous))
	}
	observed, observeErr := configobservation.Observe(w.listers(t), recorder(), previous)
	data, err := json.Marshal(observed)
	require.NoError(t, err)
	_, err = operandconfig.Decode(data)
	require.NoError(t, err)
	value, _, err := unstructured.NestedFieldNoCopy(observed, path...)
	require.NoError(t, err)
	return value, observeErr
}

func TestWhatRunsOnAnExternalPlatform(t *testing.T) {
	const gone = "spec.custom of cloudcontrollermanager/cluster is gone, but its cloud-controller-manager runs on the control plane: " +
		"to stop it is not supported, restore the former value"
	for name, tc := range map[string]struct {
		state    configv1.CloudControllerManagerState
		custom   *ccmv1.CustomCloudControllerManager
		existing string
		want     string
		wantErr  string
	}{
		"nobody said that a CCM is waited for":                      {state: "-", want: "none"},
		"nobody said so, and what would run does not count":         {state: "-", custom: own, want: "none"},
		"the state is empty":                                        {state: "", custom: own, want: "none"},
		"the state is None":                                         {state: configv1.CloudControllerManagerNone, custom: own, want: "none"},
		"the administrator runs one":                                {state: configv1.CloudControllerManagerExternal, want: "none"},
		"one of the administrator's own":                            {state: configv1.CloudControllerManagerExternal, custom: own, want: "external"},
		"a built-in one":                                            {state: configv1.CloudControllerManagerExternal, custom: digitalOcean, want: "digitalocean"},
		"the operator takes over what the administrator ran":        {state: configv1.CloudControllerManagerExternal, custom: own, existing: "none", want: "external"},
		"a built-in one takes the place of the administrator's own": {state: configv1.CloudControllerManagerExternal, custom: digitalOcean, existing: "external", want: "digitalocean"},
		"and the other way round":                                   {state: configv1.CloudControllerManagerExternal, custom: own, existing: "digitalocean", want: "external"},
		"what runs cannot be taken away":                            {state: configv1.CloudControllerManagerExternal, existing: "external", want: "external", wantErr: gone},
		"nor can a built-in one":                                    {state: configv1.CloudControllerManagerExternal, existing: "digitalocean", want: "digitalocean", wantErr: gone},
		"where nothing ran there is nothing to take away":           {state: configv1.CloudControllerManagerExternal, existing: "none", want: "none"},
		"the nodes cannot stop waiting, whatever the resource still says": {
			state: configv1.CloudControllerManagerNone, custom: own, existing: "external", want: "external",
			wantErr: `infrastructure.config.openshift.io/cluster changed its platform from "external" to "none" in status.platformStatus.type: ` +
				`changing the platform of a running cluster is not supported, restore the former value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			existing := ""
			if tc.existing != "" {
				existing = `{"platform": "` + tc.existing + `"}`
			}
			got, err := observePart(t, world{infrastructure: onExternal(tc.state), custom: tc.custom}, existing, "platform")
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWhatIsPassedOnOfSpecCustom(t *testing.T) {
	const before = `{"platform": "external", "custom": {"image": "registry/before:1"}}`
	for name, tc := range map[string]struct {
		world    world
		existing string
		want     any
		wantErr  string
	}{
		"where it counts, all of it": {
			world: world{infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: own},
			want:  map[string]any{"image": "registry/acme:1", "args": []any{"--region=one"}, "probe": map[string]any{"port": float64(9999)}},
		},
		"a change": {
			world:    world{infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: &ccmv1.CustomCloudControllerManager{Image: "registry/acme:2"}},
			existing: before,
			want:     map[string]any{"image": "registry/acme:2"},
		},
		"an empty value of a variable stays one": {
			world: world{infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: &ccmv1.CustomCloudControllerManager{
				Image: "i", Env: []ccmv1.CustomCloudControllerManagerEnvVar{{Name: "A", Value: ptr.To("")}},
			}},
			want: map[string]any{"image": "i", "env": []any{map[string]any{"name": "A", "value": ""}}},
		},
		"where it is gone and its platform is not, what was": {
			world:    world{infrastructure: onExternal(configv1.CloudControllerManagerExternal)},
			existing: before,
			want:     map[string]any{"image": "registry/before:1"},
			wantErr: "spec.custom of cloudcontrollermanager/cluster is gone, but its cloud-controller-manager runs on the control plane: " +
				"to stop it is not supported, restore the former value",
		},
		"nothing where nobody waits for it": {
			world: world{infrastructure: onExternal(configv1.CloudControllerManagerNone), custom: own},
		},
		"nothing where the release ships what runs": {
			world: world{infrastructure: openStack(), custom: own},
		},
		"while the resource cannot be read, what was": {
			world:    world{infrastructure: onExternal(configv1.CloudControllerManagerExternal), customErr: errors.New("no cache")},
			existing: before,
			want:     map[string]any{"image": "registry/before:1"},
			wantErr:  "no cache",
		},
		"while Infrastructure is missing, too": {
			world:    world{custom: own},
			existing: before,
			want:     map[string]any{"image": "registry/before:1"},
			wantErr: "infrastructure.config.openshift.io/cluster does not exist: the installer writes it, restore it from the cluster's installation " +
				"or a backup",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := observePart(t, tc.world, tc.existing, "custom")
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.wantErr)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWhichCloudConfigCounts(t *testing.T) {
	named := &ccmv1.CustomCloudControllerManager{Image: "i", CloudConfig: ccmv1.CustomCloudControllerManagerCloudConfig{Name: "acme", Key: ptr.To("acme.yaml")}}
	withoutKey := &ccmv1.CustomCloudControllerManager{Image: "i", CloudConfig: ccmv1.CustomCloudControllerManagerCloudConfig{Name: "acme"}}
	infrastructures := map[string]any{"name": "cloud-provider-config", "key": "config"}
	for name, tc := range map[string]struct {
		infrastructure *configv1.Infrastructure
		custom         *ccmv1.CustomCloudControllerManager
		want           any
	}{
		"the one that spec.custom names": {
			infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: named, want: map[string]any{"name": "acme", "key": "acme.yaml"},
		},
		"without a key": {
			infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: withoutKey, want: map[string]any{"name": "acme"},
		},
		"Infrastructure's where it names none": {
			infrastructure: onExternal(configv1.CloudControllerManagerExternal), custom: own, want: infrastructures,
		},
		"Infrastructure's where the release ships what runs": {
			infrastructure: openStack(), custom: named, want: infrastructures,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := observePart(t, world{infrastructure: tc.infrastructure, custom: tc.custom}, "", "cloudConfig")
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	got, err := observePart(t, world{infrastructure: onExternal(configv1.CloudControllerManagerExternal)},
		`{"platform": "external", "cloudConfig": {"name": "acme"}}`, "cloudConfig")
	require.ErrorContains(t, err, "is gone")
	require.Equal(t, map[string]any{"name": "acme"}, got)
	got, err = observePart(t, world{infrastructure: onExternal(configv1.CloudControllerManagerExternal), customErr: errors.New("no cache")},
		`{"platform": "external", "cloudConfig": {"name": "acme"}}`, "cloudConfig")
	require.Error(t, err)
	require.Equal(t, map[string]any{"name": "acme"}, got)
}

func TestWhatTheClusterSaysAboutItsCloud(t *testing.T) {
	network := func(spec, status []string) *configv1.Network {
		return &configv1.Network{ObjectMeta: named, Spec: configv1.NetworkSpec{ServiceNetwork: spec}, Status: configv1.NetworkStatus{ServiceNetwork: status}}
	}
	vsphere := with(openStack(), func(i *configv1.Infrastructure) {
		i.Spec.PlatformSpec = configv1.PlatformSpec{Type: configv1.VSpherePlatformType, VSphere: &configv1.VSpherePlatformSpec{
			VCenters: []configv1.VSpherePlatformVCenterSpec{{Server: "vcenter.example.com", Datacenters: []string{"dc"}}},
		}}
	})
	for name, tc := range map[string]struct {
		world    world
		existing string
		path     []string
		want     any
	}{
		"the platform's specification": {
			world: world{infrastructure: vsphere},
			path:  []string{"cluster", "spec", "vsphere", "vcenters"},
			want:  []any{map[string]any{"server": "vcenter.example.com", "datacenters": []any{"dc"}}},
		},
		"its status": {
			world: world{infrastructure: onExternal(configv1.CloudControllerManagerExternal)},
			path:  []string{"cluster", "status"},
			want:  map[string]any{"type": "External", "external": map[string]any{"cloudControllerManager": map[string]any{"state": "External"}}},
		},
		"without Infrastructure, what was": {
			existing: `{"cluster": {"status": {"type": "External"}}}`,
			path:     []string{"cluster", "status"},
			want:     map[string]any{"type": "External"},
		},
		"the service networks that there are": {
			world: world{infrastructure: openStack(), network: network([]string{"172.30.0.0/16"}, []string{"172.31.0.0/16", "fd02::/112"})},
			path:  []string{"cluster", "serviceNetworks"},
			want:  []any{"172.31.0.0/16", "fd02::/112"},
		},
		"those that were asked for, until there are any": {
			world: world{infrastructure: openStack(), network: network([]string{"172.30.0.0/16"}, nil)},
			path:  []string{"cluster", "serviceNetworks"},
			want:  []any{"172.30.0.0/16"},
		},
		"with a Network that names none, those that were": {
			world:    world{infrastructure: openStack(), network: network(nil, nil)},
			existing: `{"cluster": {"serviceNetworks": ["172.30.0.0/16"]}}`,
			path:     []string{"cluster", "serviceNetworks"},
			want:     []any{"172.30.0.0/16"},
		},
		"without a Network, those that were": {
			world:    world{infrastructure: openStack()},
			existing: `{"cluster": {"serviceNetworks": ["172.30.0.0/16"]}}`,
			path:     []string{"cluster", "serviceNetworks"},
			want:     []any{"172.30.0.0/16"},
		},
		"the gates that have a say, sorted, and only those that are enabled": {
			world: world{infrastructure: openStack(), featureGate: gates("4.99.0",
				[]string{"VSphereMixedNodeEnv", "Unheard", "AWSServiceLBNetworkSecurityGroup"}, []string{"VSphereMultiVCenterDay2"})},
			existing: `{"cluster": {"featureGates": ["VSphereMultiVCenterDay2"]}}`,
			path:     []string{"cluster", "featureGates"},
			want:     []any{"AWSServiceLBNetworkSecurityGroup", "VSphereMixedNodeEnv"},
		},
		"no gate is none": {
			world: world{infrastructure: openStack(), featureGate: gates("4.99.0", nil,
				[]string{"VSphereMixedNodeEnv", "AWSServiceLBNetworkSecurityGroup"})},
			existing: `{"cluster": {"featureGates": ["VSphereMixedNodeEnv"]}}`,
			path:     []string{"cluster", "featureGates"},
		},
		"a gate that the cluster does not list any more, because it is on for all, is on": {
			world: world{infrastructure: openStack(), featureGate: gates("4.99.0", []string{"Unheard"}, nil)},
			path:  []string{"cluster", "featureGates"},
			want:  []any{"AWSServiceLBNetworkSecurityGroup", "VSphereMixedNodeEnv"},
		},
		"without a FeatureGate, those that were": {
			world:    world{infrastructure: openStack()},
			existing: `{"cluster": {"featureGates": ["VSphereMixedNodeEnv"]}}`,
			path:     []string{"cluster", "featureGates"},
			want:     []any{"VSphereMixedNodeEnv"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := observePart(t, tc.world, tc.existing, tc.path...)
			if tc.world.infrastructure != nil {
				require.NoError(t, err)
			}
			require.Equal(t, tc.want, got)
		})
	}
}
