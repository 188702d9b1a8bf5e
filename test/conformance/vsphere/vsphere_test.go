// Package vsphere checks pkg/clouds against the code of the vSphere provider. It has tests only.
package vsphere

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	cpiconfig "k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/config"
	"k8s.io/cloud-provider-vsphere/pkg/common/config"
	"k8s.io/cloud-provider-vsphere/pkg/common/credentialmanager"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	vspherecloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/vsphere"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the provider logs whatever it reads
	os.Exit(m.Run())
}

const example = "../../../pkg/operand/testdata/vsphere"

// source is the example's, with the credentials in dir.
func source(t *testing.T, dir string) clouds.Source {
	t.Helper()
	read := func(file string) []byte {
		data, err := os.ReadFile(filepath.Join(example, file))
		require.NoError(t, err)
		return data
	}
	observed, err := operandconfig.Decode(read("observed.yaml"))
	require.NoError(t, err)
	src := clouds.Source{
		Config: read("cloud.conf"), Credentials: map[string][]byte{}, Cluster: observed.Cluster, Paths: clouds.Paths{Credentials: dir},
	}
	for _, server := range []string{"vcenter1.example.com", "vcenter2.example.com"} {
		src.Credentials[server+".username"] = []byte("user of " + server)
		src.Credentials[server+".password"] = []byte(`p"#:\` + server)
	}
	return src
}

func TestTheProviderReadsTheRewriteOfTheExample(t *testing.T) {
	dir := t.TempDir()
	result := vspherecloud.Rewrite(source(t, dir))
	require.Empty(t, result.Errors(diagnostic.Strict))
	got, err := cpiconfig.ReadCPIConfig(result.Config)
	require.NoError(t, err)

	families := []string{"ipv4", "ipv6"}
	vcenter := func(server, datacenter string) *config.VirtualCenterConfig {
		return &config.VirtualCenterConfig{
			TenantRef: server, VCenterIP: server, VCenterPort: "443", InsecureFlag: true, Datacenters: datacenter,
			RoundTripperCount: config.DefaultRoundTripperCount, SecretRef: config.DefaultCredentialManager, IPFamilyPriority: families,
		}
	}
	want := &cpiconfig.CPIConfig{Nodes: cpiconfig.Nodes{
		InternalNetworkSubnetCIDR: "192.168.10.0/24,fd65:10::/64", ExternalNetworkSubnetCIDR: "192.168.10.0/24,fd65:10::/64",
		ExcludeInternalNetworkSubnetCIDR: got.Nodes.ExcludeInternalNetworkSubnetCIDR, ExcludeExternalNetworkSubnetCIDR: got.Nodes.ExcludeExternalNetworkSubnetCIDR,
	}}
	want.Global.VCenterPort, want.Global.InsecureFlag = "443", true
	want.Global.RoundTripperCount = config.DefaultRoundTripperCount
	want.Global.SecretsDirectory = dir
	want.Labels.Region, want.Labels.Zone = "openshift-region", "openshift-zone"
	want.VirtualCenter = map[string]*config.VirtualCenterConfig{
		"vcenter1.example.com": vcenter("vcenter1.example.com", "dc1"),
		"vcenter2.example.com": vcenter("vcenter2.example.com", "dc2"),
	}
	require.Equal(t, want, got, "rewritten to:\n%s", result.Config)
	for _, address := range []string{"192.168.10.2/32", "192.168.10.3/32", "fd65:10::2/128", "fd65:10::3/128"} {
		require.Contains(t, strings.Split(got.Nodes.ExcludeInternalNetworkSubnetCIDR, ","), address)
		require.Contains(t, strings.Split(got.Nodes.ExcludeExternalNetworkSubnetCIDR, ","), address)
	}
}

func TestTheProviderReadsTheCredentialsFromTheFiles(t *testing.T) {
	dir := t.TempDir()
	result := vspherecloud.Rewrite(source(t, dir))
	for name, data := range result.Credentials {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	got, err := cpiconfig.ReadCPIConfig(result.Config)
	require.NoError(t, err)
	manager := credentialmanager.NewCredentialManager(got.Global.SecretName, got.Global.SecretNamespace, got.Global.SecretsDirectory, nil)
	for _, server := range []string{"vcenter1.example.com", "vcenter2.example.com"} {
		credential, err := manager.GetCredential(server)
		require.NoError(t, err)
		require.Equal(t, &credentialmanager.Credential{User: "user of " + server, Password: `p"#:\` + server}, credential)
	}
	_, err = manager.GetCredential("vcenter3.example.com")
	require.ErrorIs(t, err, credentialmanager.ErrCredentialsNotFound)
}

// theirKeys are the keys of the provider's YAML form with their types.
func theirKeys(t *testing.T) []string {
	t.Helper()
	kinds := map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "bool", reflect.Uint: "uint", reflect.Slice: "list"}
	var keys []string
	add := func(scope string, of reflect.Type) {
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			// The provider does nothing with the first two; fields without a name it fills itself.
			if name == "apiBinding" || name == "apiDisable" || name == "" {
				continue
			}
			kind, known := kinds[field.Type.Kind()]
			require.True(t, known, "%s.%s has the type %s, of which nothing is known here", scope, name, field.Type)
			keys = append(keys, fmt.Sprintf("%s.%s: %s", scope, name, kind))
		}
	}
	add("global", reflect.TypeFor[config.GlobalYAML]())
	add("vcenter.*", reflect.TypeFor[config.VirtualCenterConfigYAML]())
	add("labels", reflect.TypeFor[config.LabelsYAML]())
	add("nodes", reflect.TypeFor[cpiconfig.NodesYAML]())
	slices.Sort(keys)
	return keys
}

func TestWeKnowTheKeysOfTheProvider(t *testing.T) {
	data, err := os.ReadFile("../../../pkg/clouds/vsphere/testdata/vsphere-keys.golden")
	require.NoError(t, err)
	var ours []string
	for line := range strings.Lines(string(data)) {
		yaml, _, _ := strings.Cut(line, " = ")
		ours = append(ours, strings.TrimSpace(yaml))
	}
	slices.Sort(ours)
	require.Equal(t, theirKeys(t), ours)
}

// FuzzVSphere holds that the provider reads whatever we make of what we accept, as YAML, with the folder of the credentials;
// and that where Infrastructure says nothing the rewriting changes nothing else that the provider knows.
func FuzzVSphere(f *testing.F) {
	files, err := filepath.Glob("../../../pkg/clouds/vsphere/testdata/vsphere/*.conf")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text), "")
		f.Add(string(text), "vcenter1.example.com")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, server string) {
		src := clouds.Source{Config: []byte(text), CredentialsUnknown: true, Paths: clouds.Paths{Credentials: dir}}
		if server != "" {
			src.Cluster.Spec.VSphere = &configv1.VSpherePlatformSpec{VCenters: []configv1.VSpherePlatformVCenterSpec{{Server: server, Datacenters: []string{"DC1"}}}}
		}
		result := vspherecloud.Rewrite(src)
		if len(result.Errors(diagnostic.Lenient)) > 0 {
			return
		}
		got, err := cpiconfig.ReadCPIConfigYAML(result.Config)
		require.NoError(t, err, "the provider refuses our rewriting:\n%s", result.Config)
		require.Equal(t, dir, got.Global.SecretsDirectory)
		require.Empty(t, got.Global.SecretName+got.Global.SecretNamespace+got.Global.User+got.Global.Password)
		require.NotEmpty(t, got.VirtualCenter)
		before, err := readUsers(src.Config)
		if err != nil || server != "" {
			return
		}
		require.Equal(t, meaning(before), meaning(got), "rewritten to:\n%s", result.Config)
	})
}

// readUsers reads a configuration that we have not rewritten, as the provider does. It panics on a vCenter without settings.
func readUsers(text []byte) (cfg *cpiconfig.CPIConfig, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if cfg, err = cpiconfig.ReadCPIConfigYAML(text); err == nil {
		return cfg, nil
	}
	return cpiconfig.ReadCPIConfigINI(text)
}

// meaning is what a configuration says, but for where the credentials are and for names that mean nothing.
func meaning(cfg *cpiconfig.CPIConfig) map[string]any {
	vcenters := map[string]config.VirtualCenterConfig{}
	for _, name := range slices.Sorted(maps.Keys(cfg.VirtualCenter)) {
		v := *cfg.VirtualCenter[name]
		v.TenantRef, v.User, v.Password, v.SecretRef, v.SecretName, v.SecretNamespace = "", "", "", "", "", ""
		v.Datacenters = list(v.Datacenters)
		v.IPFamilyPriority = strings.Split(strings.ToLower(list(strings.Join(v.IPFamilyPriority, ","))), ",")
		vcenters[v.VCenterIP] = v
	}
	nodes := cfg.Nodes
	for _, networks := range []*string{
		&nodes.InternalNetworkSubnetCIDR, &nodes.ExternalNetworkSubnetCIDR,
		&nodes.ExcludeInternalNetworkSubnetCIDR, &nodes.ExcludeExternalNetworkSubnetCIDR,
	} {
		*networks = list(*networks)
	}
	return map[string]any{"vcenters": vcenters, "labels": cfg.Labels, "nodes": nodes}
}

// list is a list without what the provider passes over: blanks around texts.
func list(texts string) string {
	parts := strings.Split(texts, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, ",")
}
