package vsphere_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/vsphere"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

var vSphereLogin = map[string]string{
	"vcenter1.example.com.username": "administrator@vsphere.local",
	"vcenter1.example.com.password": cloudtest.SecretValue,
}

func source(config string, servers ...string) clouds.Source {
	src := clouds.Source{Config: []byte(config), Credentials: cloudtest.SecretOf(vSphereLogin), Paths: cloudtest.StaticPodPaths}
	if len(servers) > 0 {
		src.Cluster.Spec.VSphere = &configv1.VSpherePlatformSpec{}
	}
	for _, server := range servers {
		src.Cluster.Spec.VSphere.VCenters = append(src.Cluster.Spec.VSphere.VCenters,
			configv1.VSpherePlatformVCenterSpec{Server: server, Datacenters: []string{"DC1"}})
	}
	return src
}

const oneVCenter = "vcenter:\n  vcenter1.example.com:\n    server: vcenter1.example.com\n"

// TestVSphereGolden reads the files of testdata/vsphere. <name>.conf is the configuration, and without it there is none;
// <name>.cluster.yaml is the Cluster, <name>.secret.yaml are the texts of the credentials Secret.
func TestVSphereGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/vsphere/*")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		names[filepath.Join(filepath.Dir(file), name)] = true
	}
	require.NotEmpty(t, names)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src := source("")
			src.Config = nil
			if config, err := os.ReadFile(name + ".conf"); err == nil {
				src.Config = config
			}
			cloudtest.ReadIfThere(t, name+".cluster.yaml", &src.Cluster)
			var secret map[string]string
			if cloudtest.ReadIfThere(t, name+".secret.yaml", &secret) {
				src.Credentials = cloudtest.SecretOf(secret)
			}
			cloudtest.RequireGolden(t, name+".golden", describeVSphere(src))
			requireVSphere(t, src)
		})
	}
}

// describeVSphere shows what VSphere makes of the source, the names of the credentials, and what the cluster's other
// components get.
func describeVSphere(src clouds.Source) []byte {
	result := vsphere.Rewrite(src)
	b := bytes.NewBuffer(cloudtest.Describe(result))
	for _, key := range slices.Sorted(maps.Keys(result.Credentials)) {
		fmt.Fprintf(b, "-- credentials: %s --\n", key)
	}
	if managed := vsphere.RewriteManaged(src); managed.Config != nil {
		fmt.Fprintf(b, "-- kube-cloud-config --\n%s", managed.Config)
	}
	return b.Bytes()
}

// requireVSphere checks what is promised for every source.
func requireVSphere(t *testing.T, src clouds.Source) {
	t.Helper()
	for _, rewrite := range []clouds.Rewrite{vsphere.Rewrite, vsphere.RewriteManaged} {
		result := rewrite(src)
		require.Equal(t, result, rewrite(src), "the same input gives the same result")
		if len(cloudtest.Messages(result, diagnostic.Invalid)) > 0 {
			require.Nil(t, result.Config)
			require.Nil(t, result.Credentials)
			continue
		}
		src := src
		src.Config = result.Config
		again := rewrite(src)
		for _, f := range again.Diagnostics {
			// What is unknown is kept; a spare key of the Secret, Infrastructure and a contradiction to it are no matter of the
			// configuration.
			kinds := []diagnostic.Kind{diagnostic.Adapted, diagnostic.Unknown, diagnostic.Typo, diagnostic.Doubtful,
				diagnostic.Contradictory}
			if f.Object == "" && !slices.Contains(kinds, f.Kind) {
				t.Errorf("the rewritten configuration gets a remark of its own: %s: %s\n%s", f.Kind, cloudtest.Shown(f), result.Config)
			}
		}
		require.Equal(t, string(result.Config), string(again.Config))
		require.Equal(t, result.Credentials, again.Credentials)
	}
}

func TestVSphereFindingsNeverHoldASecret(t *testing.T) {
	for name, config := range map[string]string{
		"in INI":                 "[Global]\nuser = \"" + cloudtest.SecretValue + "\"\npassword = \"" + cloudtest.SecretValue + "\"\n[VirtualCenter \"a\"]\npassword = \"" + cloudtest.SecretValue + "\"\n",
		"in YAML":                "global:\n  user: " + cloudtest.SecretValue + "\n  password: " + cloudtest.SecretValue + "\n" + oneVCenter + "    password: " + cloudtest.SecretValue + "\n",
		"of another type":        "global:\n  password: [" + cloudtest.SecretValue + "]\n  user: {a: " + cloudtest.SecretValue + "}\n" + oneVCenter,
		"that stands twice":      "global:\n  password: " + cloudtest.SecretValue + "\n  password: x\n" + oneVCenter,
		"with an unclosed quote": "[Global]\npassword = \"" + cloudtest.SecretValue + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			result := vsphere.Rewrite(source(config))
			require.NotEmpty(t, result.Diagnostics)
			require.NotContains(t, fmt.Sprint(result.Diagnostics), cloudtest.SecretValue)
			require.NotContains(t, string(result.Config), cloudtest.SecretValue)
			require.NotContains(t, string(vsphere.RewriteManaged(source(config)).Config), cloudtest.SecretValue)
		})
	}
}

func TestVSphereVCentersThatContradictInfrastructure(t *testing.T) {
	const config = "vcenter:\n  old.example.com:\n    server: old.example.com\n"
	src := source(config, "vcenter1.example.com")
	src.Credentials = cloudtest.SecretOf(map[string]string{
		"old.example.com.username": "ccm@vsphere.local", "old.example.com.password": cloudtest.SecretValue,
	})
	result := vsphere.Rewrite(src)
	require.Empty(t, result.Errors(diagnostic.Lenient))
	require.Equal(t, []string{`cloud config:2:3: vCenter "old.example.com" is not in spec.platformSpec.vsphere.vcenters of ` +
		`infrastructure.config.openshift.io/cluster, which has "vcenter1.example.com": write the same name in both`},
		cloudtest.Messages(result, diagnostic.Contradictory))
	require.Contains(t, string(result.Config), "server: old.example.com\n", "it may be the one that works")
	require.NotContains(t, string(result.Config), "vcenter1.example.com")

	login := src.Credentials
	src.Credentials = cloudtest.SecretOf(map[string]string{
		"old.example.com.vc-session-manager-url":   "https://sessions.example.com",
		"old.example.com.vc-session-manager-token": cloudtest.SecretValue,
	})
	require.Contains(t, string(vsphere.Rewrite(src).Config), "server: old.example.com\n", "a session manager is a login too")
	src.Credentials = login

	// Behind the gate nobody edits the configuration any more.
	src.Cluster.FeatureGates = []string{"VSphereMultiVCenterDay2"}
	require.Equal(t, []string{`cloud config:2:3: vCenter "old.example.com" is dropped: spec.platformSpec.vsphere.vcenters of ` +
		`infrastructure.config.openshift.io/cluster does not have it, only "vcenter1.example.com"`},
		cloudtest.Messages(vsphere.Rewrite(src), diagnostic.Rewritten))
}

func TestVSphereFailureDomainsNeedNoVCenters(t *testing.T) {
	src := source("", "vcenter1.example.com")
	src.Cluster.Spec.VSphere = &configv1.VSpherePlatformSpec{FailureDomains: []configv1.VSpherePlatformFailureDomainSpec{
		{Server: "vcenter1.example.com", Topology: configv1.VSpherePlatformTopology{Datacenter: "DC1"}}, {}, {Server: "VCENTER1.example.com"},
	}}
	result := vsphere.Rewrite(src)
	require.Contains(t, string(result.Config), "vcenter:\n  vcenter1.example.com:\n    server: vcenter1.example.com\n    datacenters:\n      - DC1\n")
}

func TestVSphereFailureDomainsNeedNoDatacentersOfTheirVCenter(t *testing.T) {
	src := source("", "vcenter1.example.com")
	domain := func(datacenter string) configv1.VSpherePlatformFailureDomainSpec {
		return configv1.VSpherePlatformFailureDomainSpec{
			Server: "vcenter1.example.com", Topology: configv1.VSpherePlatformTopology{Datacenter: datacenter},
		}
	}
	src.Cluster.Spec.VSphere = &configv1.VSpherePlatformSpec{
		VCenters:       []configv1.VSpherePlatformVCenterSpec{{Server: "vcenter1.example.com"}},
		FailureDomains: []configv1.VSpherePlatformFailureDomainSpec{domain("DC1"), domain("DC2")},
	}
	result := vsphere.Rewrite(src)
	require.Empty(t, cloudtest.Messages(result, diagnostic.Doubtful))
	require.Contains(t, string(result.Config), "datacenters:\n      - DC1\n      - DC2\n")
}

func TestVSphereKnowsAConfigurationOfAnotherCloud(t *testing.T) {
	const refusal = "no known vSphere key found; is this another cloud's configuration?"
	for name, c := range map[string]struct {
		config  string
		refused []string
	}{
		"AWS":                             {"[Global]\nZone = us-east-1a\nVPC = vpc-1\n", []string{"cloud config:2:1: " + refusal}},
		"Google Cloud":                    {"[global]\nproject-id = p\nregional = true\nmultizone = true\n", []string{"cloud config:2:1: " + refusal}},
		"IBM Cloud":                       {"[global]\nversion = 1.1.0\n[kubernetes]\nconfig-file = \n[provider]\nregion = r\n", []string{"cloud config:2:1: " + refusal}},
		"Nutanix":                         {`{"prismCentral": {"address": "a"}, "topologyDiscovery": {"type": "Prism"}}`, []string{"cloud config:1:2: " + refusal}},
		"a ConfigMap":                     {"apiVersion: v1\nkind: ConfigMap\ndata: {config: x}\n", []string{"cloud config:1:1: " + refusal}},
		"vSphere's in upper case":         {"Global:\n  insecureFlag: true\nVcenter:\n  vcenter1.example.com: {}\n", nil},
		"one strange key":                 {"[Global]\nsecret-name = vsphere-creds\nnew-key = 1\n", nil},
		"vSphere's own with strange keys": {"[Global]\ninsecure-flag = 1\nnew-key = 1\nother = 2\n", nil},
		"what only the in-tree one knew":  {"[Global]\nnew-key = 1\nother = 2\n[Workspace]\nfolder = f\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := vsphere.Rewrite(source(c.config, "vcenter1.example.com"))
			require.Equal(t, c.refused, cloudtest.Messages(result, diagnostic.Invalid))
		})
	}
}

func TestVSphereIPFamilies(t *testing.T) {
	v4, v6 := "172.30.0.0/16", "fd65:172:16::/112"
	for name, c := range map[string]struct {
		networks []string
		user     string
		want     string
	}{
		"nothing known, nothing set":               {},
		"nothing known, the user's stays":          {user: "[ipv6]", want: "[ipv6]"},
		"IPv4 is the default":                      {networks: []string{v4}},
		"IPv4 leaves the user's addition":          {networks: []string{v4}, user: "[IPv4, ipv6]", want: "[ipv4 ipv6]"},
		"IPv4 refuses to do without it":            {networks: []string{v4}, user: "[ipv6, ipv4]"},
		"IPv6":                                     {networks: []string{v6}, user: "[ipv4]", want: "[ipv6]"},
		"dual stack, IPv4 first":                   {networks: []string{v4, v6}, want: "[ipv4 ipv6]"},
		"dual stack, IPv6 first":                   {networks: []string{v6, v4}, user: "[ipv6, ipv4]", want: "[ipv6 ipv4]"},
		"a network that is none tells nothing":     {networks: []string{"none"}, user: "[ipv6]", want: "[ipv6]"},
		"the same family twice is one":             {networks: []string{v6, "fd66::/112"}, want: "[ipv6]"},
		"an IPv4 network in IPv6 notation is IPv6": {networks: []string{"::ffff:172.30.0.0/112"}, want: "[ipv6]"},
	} {
		t.Run(name, func(t *testing.T) {
			config := "global:\n  insecureFlag: true\n" + oneVCenter
			if c.user != "" {
				config = "global:\n  ipFamily: " + c.user + "\n" + oneVCenter
			}
			src := source(config)
			src.Cluster.ServiceNetworks = c.networks
			result := vsphere.Rewrite(src)
			require.Empty(t, cloudtest.Messages(result, diagnostic.Invalid))
			var got struct {
				Global struct {
					IPFamily []string `json:"ipFamily"`
				} `json:"global"`
			}
			require.NoError(t, yaml.Unmarshal(result.Config, &got))
			want := c.want
			if want == "" {
				want = "[]"
			}
			require.Equal(t, want, fmt.Sprint(got.Global.IPFamily))
			requireVSphere(t, src)
		})
	}
}

func TestVSphereChecksThumbprintsThatAreUsed(t *testing.T) {
	const insecure, lower = "insecureFlag: true\n", "thumbprint: b1:c4:d5:f6:aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99\n"
	for name, c := range map[string]struct {
		config   string
		warnings int
		errors   int
	}{
		"in lower case":                                  {config: oneVCenter + "    " + lower, errors: 1},
		"in lower case, unused by any vCenter":           {config: "global:\n  " + insecure + oneVCenter + "    " + lower, warnings: 1},
		"in lower case, unused by its vCenter":           {config: oneVCenter + "    " + insecure + "    " + lower, warnings: 1},
		"in lower case, for a vCenter that might use it": {config: "global:\n  " + lower + oneVCenter + "    " + insecure, errors: 1},
	} {
		t.Run(name, func(t *testing.T) {
			result := vsphere.Rewrite(source(c.config))
			require.Len(t, cloudtest.Messages(result, diagnostic.Doubtful), c.warnings)
			require.Len(t, cloudtest.Messages(result, diagnostic.Typo), c.errors)
		})
	}
}

func TestVSphereNodeNetworksThatLeaveNoAddress(t *testing.T) {
	const (
		networking = "infrastructure.config.openshift.io/cluster, spec.platformSpec.vsphere.nodeNetworking."
		noInternal = "it excludes all ipv4 addresses of the nodes that could be internal ones, so the nodes may get no " +
			"InternalIP: exclude only addresses that no node has"
		none = "it excludes all ipv4 addresses of the nodes, as that of external addresses does: the cloud-controller-manager " +
			"initializes no node; exclude only addresses that no node has"
		onlyExternal = "only the network of external addresses is set, so nodes in it get no InternalIP: set that of internal " +
			"addresses too, such as internalNetworkSubnetCidr or, in Infrastructure, internal.networkSubnetCidr"
		path = `it is "/dc1/network/VM Network", but the cloud-controller-manager compares the names of networks without a ` +
			"path: write the part after the last slash"
	)
	type spec = configv1.VSpherePlatformNodeNetworkingSpec
	for name, c := range map[string]struct {
		nodes              string
		internal, external *spec
		errors, warnings   []string
	}{
		"everything is excluded": {
			nodes:  "{excludeInternalNetworkSubnetCidr: 0.0.0.0/0, excludeExternalNetworkSubnetCidr: 0.0.0.0/0}",
			errors: []string{"cloud config:4:43: nodes.excludeInternalNetworkSubnetCidr: " + none}},
		"everything of another family is excluded": {
			nodes: "{excludeInternalNetworkSubnetCidr: '::/0', excludeExternalNetworkSubnetCidr: '::/0'}"},
		"all external addresses are excluded": {nodes: "{excludeExternalNetworkSubnetCidr: 0.0.0.0/0}"},
		"the internal network is excluded": {
			nodes:    "{internalNetworkSubnetCidr: 192.0.2.0/24, excludeInternalNetworkSubnetCidr: '192.0.2.0/24,fe80::1/128'}",
			warnings: []string{"cloud config:4:84: nodes.excludeInternalNetworkSubnetCidr: " + noInternal}},
		"one of two internal networks is excluded": {nodes: "{internalNetworkSubnetCidr: '192.0.2.0/24,10.0.0.0/24', " +
			"excludeInternalNetworkSubnetCidr: 192.0.2.0/24}"},
		"the machine network is excluded": {
			internal: &spec{ExcludeNetworkSubnetCIDR: []string{"192.168.10.0/24"}},
			external: &spec{ExcludeNetworkSubnetCIDR: []string{"192.168.0.0/16"}},
			warnings: []string{networking + "internal.excludeNetworkSubnetCidr: " + noInternal}},
		"the machine network is excluded, and the nodes have another one": {
			internal: &spec{NetworkSubnetCIDR: []string{"10.1.0.0/16"}, ExcludeNetworkSubnetCIDR: []string{"192.168.0.0/16"}},
			external: &spec{NetworkSubnetCIDR: []string{"10.2.0.0/16"}, ExcludeNetworkSubnetCIDR: []string{"192.168.0.0/16"}}},
		"the machine network is excluded from internal addresses": {
			internal: &spec{ExcludeNetworkSubnetCIDR: []string{"192.168.10.0/24"}}, external: &spec{},
			warnings: []string{networking + "internal.excludeNetworkSubnetCidr: " + noInternal}},
		"only a virtual IP is excluded": {
			internal: &spec{NetworkSubnetCIDR: []string{"192.168.10.0/24"}, ExcludeNetworkSubnetCIDR: []string{"192.168.10.2/32"}},
			external: &spec{NetworkSubnetCIDR: []string{"192.168.10.0/24"}, ExcludeNetworkSubnetCIDR: []string{"192.168.10.2/32"}}},
		"only the external network is named": {nodes: "{externalVmNetworkName: VM Network}",
			warnings: []string{"cloud config:4:32: nodes.externalVmNetworkName: " + onlyExternal}},
		"Infrastructure has only an external subnet": {
			internal: &spec{}, external: &spec{NetworkSubnetCIDR: []string{"192.168.10.0/24"}},
			warnings: []string{networking + "external: " + onlyExternal}},
		"a path instead of a name": {nodes: "{internalVmNetworkName: /dc1/network/VM Network}",
			warnings: []string{"cloud config:4:32: nodes.internalVmNetworkName: " + path}},
		"a path instead of a name in Infrastructure": {
			internal: &spec{Network: "/dc1/network/VM Network"}, external: &spec{},
			warnings: []string{networking + "internal.network: " + path}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(oneVCenter)
			if c.nodes != "" {
				src = source(oneVCenter + "nodes: " + c.nodes + "\n")
			}
			if c.internal != nil {
				src.Cluster.Spec.VSphere = &configv1.VSpherePlatformSpec{MachineNetworks: []configv1.CIDR{"192.168.10.0/24"},
					NodeNetworking: configv1.VSpherePlatformNodeNetworking{Internal: *c.internal, External: *c.external}}
			}
			result := vsphere.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Lenient))
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Typo))
			require.Equal(t, c.warnings, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
}

func TestVSpherePlaceholdersOfTheAssistedInstaller(t *testing.T) {
	result := vsphere.Rewrite(source("[VirtualCenter \"vcenterplaceholder\"]\ndatacenters = \"datacenterplaceholder\"\n"))
	require.Equal(t, []string{`cloud config:1:1: vCenter "vcenterplaceholder" is a placeholder of the Assisted Installer, ` +
		"with which the cloud-controller-manager initializes no node: complete the vSphere connection"},
		cloudtest.Messages(result, diagnostic.Doubtful))
}

func TestVSphereCAFile(t *testing.T) {
	bundle := cloudtest.CABundle(t)
	with := func(file string) string { return "global:\n  caFile: " + file + "\n" + oneVCenter }
	for name, c := range map[string]struct {
		config   string
		bundle   []byte
		kind     diagnostic.Kind
		findings []string
		want     string
	}{
		"none is named":    {config: oneVCenter, bundle: bundle, kind: diagnostic.Rewritten},
		"the image has it": {config: with("/etc/pki/tls/cert.pem"), kind: diagnostic.Rewritten, want: "caFile: /etc/pki/tls/cert.pem\n"},
		"it only looks as if the image had it": {config: with("/etc/pki/../x"), kind: diagnostic.Invalid, findings: []string{
			`cloud config:2:11: global.caFile is "/etc/pki/../x", which will not exist for the cloud-controller-manager: ` +
				`put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line`}},
		"the bundle is delivered elsewhere": {config: with("/etc/kubernetes/ca.pem"), bundle: bundle, kind: diagnostic.Rewritten, findings: []string{
			`cloud config:2:11: global.caFile is set to "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem": ` +
				`the ca-bundle.pem of the cloud configuration is delivered there`},
			want: "caFile: /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\n"},
		"the bundle of a node's trust store is delivered elsewhere": {config: with("/etc/ssl/certs/vcenter-root.pem"),
			bundle: bundle, kind: diagnostic.Rewritten, findings: []string{
				`cloud config:2:11: global.caFile is set to "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem": ` +
					`the ca-bundle.pem of the cloud configuration is delivered there`},
			want: "caFile: /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\n"},
		"a file that only the node has": {config: with("/etc/ssl/certs/vcenter-root.pem"), kind: diagnostic.Invalid, findings: []string{
			`cloud config:2:11: global.caFile is "/etc/ssl/certs/vcenter-root.pem", which will not exist for the cloud-controller-manager: ` +
				`put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line`}},
		"the bundle has no certificate": {config: with(cloudtest.StaticPodPaths.CABundle), bundle: []byte("x"), kind: diagnostic.Invalid, findings: []string{
			"CA bundle: it contains no PEM certificate, so the cloud-controller-manager would exit: write the CA certificates in PEM format"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(c.config)
			src.CABundle = c.bundle
			result := vsphere.Rewrite(src)
			require.Equal(t, c.findings, cloudtest.Messages(result, c.kind))
			if c.kind == diagnostic.Rewritten {
				require.Contains(t, string(result.Config), c.want)
			}
		})
	}
}

func TestVSphereCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		secret  map[string][]byte
		unknown bool
		want    map[string][]byte
		errors  []string
	}{
		"those of the vCenter":   {secret: cloudtest.SecretOf(vSphereLogin), want: cloudtest.SecretOf(vSphereLogin)},
		"nobody knows them":      {unknown: true},
		"known ones are checked": {unknown: true, secret: map[string][]byte{}, errors: []string{"credentials: the credentials Secret is empty: it needs the keys vcenter1.example.com.username and vcenter1.example.com.password"}},
		"there is no Secret":     {errors: []string{"credentials: there is no credentials Secret: check the cloud-credential-operator, or create the Secret if credentials are managed manually"}},
		"there is nothing in it": {secret: map[string][]byte{}, errors: []string{"credentials: the credentials Secret is empty: it needs the keys vcenter1.example.com.username and vcenter1.example.com.password"}},
		"there is only half of it": {
			secret: map[string][]byte{"vcenter1.example.com.username": []byte("u")},
			errors: []string{`credentials vcenter1.example.com.password: the credentials Secret has no such key, which vCenter "vcenter1.example.com" needs: add it`}},
		"the password is empty": {
			secret: map[string][]byte{"vcenter1.example.com.username": []byte("u"), "vcenter1.example.com.password": []byte("\n")},
			errors: []string{`credentials vcenter1.example.com.password: it is empty, but vCenter "vcenter1.example.com" needs it: write the value`}},
		"the server of the second form has another case and a line break": {
			secret: map[string][]byte{"server_a": []byte("VCenter1.example.com\n"), "username_a": []byte("u@v"), "password_a": []byte("p")},
			errors: []string{`credentials server_a: it must be exactly "vcenter1.example.com", the server of the vCenter: ` +
				`upper and lower case and line breaks count`}},
		"they are those of another server": {
			secret: map[string][]byte{"vc.example.org.username": []byte("u"), "vc.example.org.password": []byte("p")},
			errors: []string{
				`credentials vcenter1.example.com.password: the credentials Secret has no such key, which vCenter "vcenter1.example.com" needs, only "vc.example.org.password": add it`,
				`credentials vcenter1.example.com.username: the credentials Secret has no such key, which vCenter "vcenter1.example.com" needs, only "vc.example.org.username": add it`}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(oneVCenter)
			src.Credentials, src.CredentialsUnknown = c.secret, c.unknown
			result := vsphere.Rewrite(src)
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Invalid))
			require.Equal(t, c.want, result.Credentials)
			require.NotNil(t, vsphere.RewriteManaged(src).Config, "others read their credentials themselves")
		})
	}
}

func TestVSphereTakesASessionManagerInsteadOfAUser(t *testing.T) {
	const server = "vcenter1.example.com"
	manager := map[string]string{
		server + ".vc-session-manager-url":   "https://sessions.example.com/vcenter1\n",
		server + ".vc-session-manager-token": cloudtest.SecretValue,
	}
	with := func(others map[string]string) map[string]string {
		all := maps.Clone(manager)
		maps.Copy(all, others)
		return all
	}
	const noURL = "it has no effect without a URL in " + server + ".vc-session-manager-url: write the URL or remove the key"
	const tooMuch = "it has a line break or a blank too many, with which the login fails: write it without"
	for name, c := range map[string]struct {
		secret map[string]string
		want   []string // the delivered keys
		texts  []string
	}{
		"alone":         {secret: manager, want: slices.Collect(maps.Keys(manager))},
		"beside a user": {secret: with(vSphereLogin), want: slices.Collect(maps.Keys(with(vSphereLogin)))},
		"beside half a login": {
			secret: with(map[string]string{server + ".username": "ccm@vsphere.local", server + ".password": "\n"}),
			want:   slices.Collect(maps.Keys(manager)),
		},
		"beside half a login of the other form": {
			secret: with(map[string]string{"server_a": server, "username_a": "ccm@vsphere.local"}),
			want:   slices.Collect(maps.Keys(manager)),
		},
		"without a token": {
			secret: map[string]string{server + ".vc-session-manager-url": "http://sessions.example.com"},
			want:   []string{server + ".vc-session-manager-url"},
			texts: []string{"credentials " + server + ".vc-session-manager-token: there is no token for the session manager, and " +
				"the cloud-controller-manager has no token of a ServiceAccount that it could send instead: add it"},
		},
		"with line breaks": {
			secret: map[string]string{
				server + ".vc-session-manager-url":   "https://sessions.example.com\r\n",
				server + ".vc-session-manager-token": cloudtest.SecretValue + "\n\n",
			},
			want: slices.Collect(maps.Keys(manager)),
			texts: []string{"credentials " + server + ".vc-session-manager-token: " + tooMuch,
				"credentials " + server + ".vc-session-manager-url: " + tooMuch},
		},
		"with a host instead of a URL": {
			secret: with(map[string]string{server + ".vc-session-manager-url": "sessions.example.com"}),
			want:   slices.Collect(maps.Keys(manager)),
			texts: []string{"credentials " + server + ".vc-session-manager-url: it is not a URL of the form https://host/path: " +
				"correct it"},
		},
		"of another vCenter": {
			secret: map[string]string{"vc.example.org.vc-session-manager-url": "https://sessions.example.com"},
			texts: []string{
				`credentials vc.example.org.vc-session-manager-url: no vCenter that is used has this key, so it is not delivered: ` +
					`remove it once nothing else needs it, or add the vCenter`,
				`credentials ` + server + `.password: the credentials Secret has no such key, which vCenter "` + server + `" needs: add it`,
				`credentials ` + server + `.username: the credentials Secret has no such key, which vCenter "` + server + `" needs: add it`},
		},
		"without a URL, beside a user": {
			secret: map[string]string{
				server + ".username": "ccm@vsphere.local", server + ".password": cloudtest.SecretValue,
				server + ".vc-session-manager-url": "\n", server + ".vc-session-manager-token": cloudtest.SecretValue,
			},
			want: slices.Collect(maps.Keys(vSphereLogin)),
			texts: []string{"credentials " + server + ".vc-session-manager-token: " + noURL,
				"credentials " + server + ".vc-session-manager-url: " + noURL},
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(oneVCenter)
			src.Credentials = cloudtest.SecretOf(c.secret)
			result := vsphere.Rewrite(src)
			require.ElementsMatch(t, c.want, slices.Collect(maps.Keys(result.Credentials)))
			shown := slices.DeleteFunc(cloudtest.Texts(result.Diagnostics), func(text string) bool {
				return !strings.HasPrefix(text, "credentials")
			})
			require.ElementsMatch(t, c.texts, shown)
		})
	}
}

func TestVSphereReportsALoginThatFails(t *testing.T) {
	const tooMuch = ": it has a line break or a blank too many, with which the login fails: write it without"
	const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		user, password string
		second         bool // the second form, of which the provider trims nothing
		want           []string
	}{
		"one line break":                    {user: "ccm@vsphere.local\n", password: "pw\n"},
		"a password with blanks":            {user: "ccm@vsphere.local", password: " p w "},
		"a password in quotes":              {user: "ccm@vsphere.local", password: `"pw"`},
		"a certificate":                     {user: certificate, password: key},
		"a certificate, in the second form": {user: certificate, password: key, second: true},
		"line breaks of Windows": {user: "ccm@vsphere.local\r\n", password: "pw\r\n",
			want: []string{"password" + tooMuch, "username" + tooMuch}},
		"two line breaks": {user: "ccm@vsphere.local\n\n", password: "pw\n\n",
			want: []string{"password" + tooMuch, "username" + tooMuch}},
		"a user with blanks": {user: " ccm@vsphere.local ", password: "pw", want: []string{"username" + tooMuch}},
		"one line break, in the second form": {user: "ccm@vsphere.local\n", password: "pw\n", second: true,
			want: []string{"password" + tooMuch, "username" + tooMuch}},
		"a placeholder": {user: "<username>", password: "pw",
			want: []string{"username: it is a placeholder: write the value that the cloud issued"}},
		"a user in single quotes": {user: "'ccm@vsphere.local'", password: "pw",
			want: []string{"username: the quotes are part of the value: write it without"}},
		"a user in quotes": {user: `"ccm@vsphere.local"`, password: "pw",
			want: []string{"username: the quotes are part of the value: write it without"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(oneVCenter)
			name := func(half string) string { return "vcenter1.example.com." + half }
			src.Credentials = map[string][]byte{}
			if c.second {
				name = func(half string) string { return half + "_a" }
				src.Credentials["server_a"] = []byte("vcenter1.example.com")
			}
			src.Credentials[name("username")], src.Credentials[name("password")] = []byte(c.user), []byte(c.password)
			result := vsphere.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Lenient))
			require.Equal(t, src.Credentials, result.Credentials)
			var want []string
			for _, text := range c.want {
				half, message, _ := strings.Cut(text, ":")
				want = append(want, "credentials "+name(half)+":"+message)
			}
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Typo))
			require.Empty(t, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
}

func TestVSphereReadsLargeInputs(t *testing.T) {
	const mebibyte = 1 << 20
	fill := func(head string, line func(i int) string) string {
		b := bytes.NewBufferString(head)
		for i := 0; b.Len() < mebibyte; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ config, finding string }{
		"vCenters in INI": {
			fill("[Global]\n", func(i int) string { return fmt.Sprintf("[VirtualCenter \"a%d\"]\n", i) }),
			"cloud config:22:1: there are more than 20 vCenters: remove what is not used"},
		"vCenters in YAML": {
			fill("vcenter:\n", func(i int) string { return fmt.Sprintf("  a%d: {server: a%d}\n", i, i) }),
			"cloud config:22:3: there are more than 20 vCenters: remove what is not used"},
		"unknown keys": {
			fill(oneVCenter+"global:\n", func(i int) string { return fmt.Sprintf("  key%d: 1\n", i) }),
			`cloud config:5:3: unknown key "key0" in global: the cloud-controller-manager ignores it; remove it or correct its name`},
		"networks": {
			fill("[VirtualCenter \"vcenter1.example.com\"]\n[Nodes]\ninternal-network-subnet-cidr = \"x", func(i int) string {
				return fmt.Sprintf(",%d.%d.%d.%d/32", i>>24, i>>16&255, i>>8&255, i&255)
			}) + "\"\n",
			`cloud config:3:32: internal-network-subnet-cidr in [Nodes] has "x", but must have networks such as 192.0.2.0/24`},
		"datacenters": {
			fill("global:\n  datacenters:\n", func(i int) string { return fmt.Sprintf("  - DC%d\n", i) }) + oneVCenter,
			`cloud config:3:3: vCenter "vcenter1.example.com" gets the datacenters "DC1" instead of "DC0", "DC2", "DC3", "DC4", "DC5", "DC6", "DC7", "DC8", "DC9", "DC10", "DC11", "DC12" and `},
	} {
		t.Run(name, func(t *testing.T) {
			servers := []string(nil)
			if name == "datacenters" {
				servers = []string{"vcenter1.example.com"}
			}
			src := source(c.config, servers...)
			result := vsphere.Rewrite(src)
			require.LessOrEqual(t, len(result.Diagnostics), 100)
			require.True(t, slices.ContainsFunc(result.Diagnostics, func(f diagnostic.Diagnostic) bool { return strings.HasPrefix(cloudtest.Shown(f), c.finding) }))
			for _, f := range result.Diagnostics {
				require.Less(t, len(f.Message), 2000)
			}
		})
	}
}

func TestVSphereReadsALargeSecret(t *testing.T) {
	var servers []string
	for i := range 20 {
		servers = append(servers, fmt.Sprintf("vc%d.example.com", i))
	}
	src := source("", servers...)
	for i := range 20_000 {
		src.Credentials[fmt.Sprintf("vcenter%d.example.com.username", i)] = []byte("u")
	}
	result := vsphere.Rewrite(src) // a second; anything quadratic would take minutes
	require.Len(t, result.Diagnostics, 100)
	require.Len(t, cloudtest.Messages(result, diagnostic.Invalid), 40)
}

// FuzzVSphere proves for any input what requireVSphere checks.
func FuzzVSphere(f *testing.F) {
	files, err := filepath.Glob("testdata/vsphere/*.conf")
	require.NoError(f, err)
	for _, file := range files {
		config, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(config, "vcenter1.example.com", "172.30.0.0/16")
		f.Add(config, "", "fd65:172:16::/112")
	}
	f.Fuzz(func(t *testing.T, config []byte, server, network string) {
		src := source(string(config))
		if server != "" {
			src = source(string(config), server)
		}
		src.Cluster.ServiceNetworks = []string{network}
		src.CredentialsUnknown, src.Credentials = true, nil
		requireVSphere(t, src)
	})
}
