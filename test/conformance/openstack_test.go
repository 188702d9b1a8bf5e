package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"
	"gopkg.in/gcfg.v1"
	"k8s.io/cloud-provider-openstack/pkg/client"
	"k8s.io/cloud-provider-openstack/pkg/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util"
	"k8s.io/cloud-provider-openstack/pkg/util/metadata"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	oscloud "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// installerCAFile is where the installer's configurations say that the CA bundle is.
const installerCAFile = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem"

const goodCloudsYAML = `clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.com:5000/v3
      username: openshift
      password: secret
      project_name: openshift
      user_domain_name: Default
      project_domain_name: Default
    region_name: RegionOne
`

// goodCABundle is a self-signed certificate whose key nobody has.
const goodCABundle = `-----BEGIN CERTIFICATE-----
MIIBkzCCATmgAwIBAgIUQTQUvarUvIFjal2yxBx80LdH4OMwCgYIKoZIzj0EAwIw
HjEcMBoGA1UEAwwTY29uZm9ybWFuY2UtdGVzdC1jYTAgFw0yNjExMjEwMDAxMjRa
GA8yMTI2MTAyODAwMDEyNFowHjEcMBoGA1UEAwwTY29uZm9ybWFuY2UtdGVzdC1j
YTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO5frb2hdCbSfwLxKtZGWmJARXcj
CTvO6EeBlcs6ljevk1slumDE96KLUt5XLbnGz+SHg9C7wpSjh0ZomArIC2yjUzBR
MB0GA1UdDgQWBBRmjIu+vz8mwqe7u3x1tvM5tt5w/jAfBgNVHSMEGDAWgBRmjIu+
vz8mwqe7u3x1tvM5tt5w/jAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gA
MEUCIBjqOAGNdLxKk6pS2sdlgFEAqj3IwkK/bnfrVocdMpQ/AiEArigMbdWKpMVG
lmjdTY5Fx62/hH63csOBRjHIhEg29jw=
-----END CERTIFICATE-----
`

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the provider warns about what the tests are about
	os.Exit(m.Run())
}

// folder is a folder with the files of a cloud-controller-manager's container.
type folder string

func newFolder(t testing.TB, credentials string) folder {
	t.Helper()
	dir := folder(t.TempDir())
	require.NoError(t, os.WriteFile(dir.cloudsYAML(), []byte(credentials), 0o600))
	return dir
}

func (f folder) cloudsYAML() string { return filepath.Join(string(f), "clouds.yaml") }

// source is what the operator makes of a configuration with good credentials.
func (f folder) source(conf, credentials string, withBundle bool) clouds.Source {
	src := clouds.Source{
		Config:      []byte(conf),
		Credentials: map[string][]byte{"clouds.yaml": []byte(credentials)},
		Paths:       clouds.Paths{Credentials: string(f), CABundle: installerCAFile},
	}
	if withBundle {
		src.CABundle = []byte(goodCABundle)
	}
	return src
}

// defaults is the configuration that the provider starts from when it reads a file.
func defaults(t testing.TB) openstack.Config {
	t.Helper()
	config, err := openstack.ReadConfig(strings.NewReader(""))
	require.NoError(t, err)
	config.Metadata.SearchOrder = "" // set after reading, not before
	return config
}

// openShiftDefaults are the provider's defaults with those that our rewriting adds.
func openShiftDefaults(t testing.TB) openstack.Config {
	t.Helper()
	config := defaults(t)
	config.LoadBalancer.MaxSharedLB = 1
	config.LoadBalancer.ManageSecurityGroups = true
	return config
}

// parse reads a configuration as the provider does. What the provider ignores is in the second result.
func parse(config openstack.Config, text []byte) (openstack.Config, error, error) {
	err := gcfg.ReadInto(&config, bytes.NewReader(text))
	if fatal := gcfg.FatalOnly(err); fatal != nil {
		return config, nil, fatal
	}
	return config, err, nil
}

// startable is the error with which a provider with this configuration exits, or fails to make a single client, after it
// has read the configuration and before it has talked to anything.
func startable(config openstack.Config) error {
	if order := config.Metadata.SearchOrder; order != "" {
		if err := metadata.CheckMetadataSearchOrder(order); err != nil {
			return err
		}
	}
	if v := config.LoadBalancer.LBVersion; config.LoadBalancer.Enabled && v != "" && v != "v2" {
		return fmt.Errorf("lb-version %q", v)
	}
	if a := config.Global.EndpointType; !slices.Contains([]string{"", "public", "internal", "admin"}, string(a)) {
		return fmt.Errorf("os-endpoint-type %q", a)
	}
	return nil
}

// login is the error with which a provider that has read this configuration exits without having asked Keystone.
func login(global client.AuthOpts) error {
	if global.AuthURL == "" {
		return errors.New("no auth-url")
	}
	options := global.ToAuthOptions()
	switch {
	case options.IdentityEndpoint == "":
		return errors.New("no authentication options")
	case options.Scope == nil:
		return nil // Keystone's API v2, of which nothing is checked
	case options.TokenID != "" && *options.Scope == gophercloud.AuthScope{}:
		return errors.New("a token without a scope cannot be renewed") // as gophercloud's v3auth says
	}
	scope, err := options.ToTokenV3ScopeMap()
	if err != nil {
		return err
	}
	_, err = options.ToTokenV3CreateMap(scope)
	return err
}

// readClouds reads a configuration that does nothing but name the clouds.yaml of the folder. An entry without auth makes
// the provider panic.
func readClouds(dir folder) (config openstack.Config, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return openstack.ReadConfig(strings.NewReader("[Global]\nuse-clouds = true\ncloud = openstack\nclouds-file = " + dir.cloudsYAML()))
}

// rewritten is the meaning that our rewriting is to give to a configuration with this meaning.
func rewritten(config openstack.Config, src clouds.Source) openstack.Config {
	if config.Global.TrustID == "" { // the provider logs in with clouds.yaml
		config.Global.Password, config.Global.TrusteePassword = "", ""
		config.Global.Token, config.Global.ApplicationCredentialSecret = "", ""
	}
	config.Global.UseClouds = true
	config.Global.CloudsFile = filepath.Join(src.Paths.Credentials, "clouds.yaml")
	config.Global.Cloud = "openstack"
	if src.CABundle != nil && !clouds.IsTrustStore(config.Global.CAFile) {
		config.Global.CAFile = src.Paths.CABundle
	}
	return config
}

// shape is a configuration that installers write, or have written, and users have edited.
type shape struct {
	text   string
	bundle bool
	// want says how the configuration differs from the provider's defaults with OpenShift's two.
	want func(*openstack.Config)
}

var shapes = map[string]shape{
	"what the installer writes": {
		text: "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\nregion = RegionOne\n",
		want: func(c *openstack.Config) { c.Global.Region = "RegionOne" },
	},
	"what the installer writes for a cloud with a private CA": {
		text: "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\nregion = RegionOne\n" +
			"ca-file = " + installerCAFile + "\n",
		bundle: true,
		want: func(c *openstack.Config) {
			c.Global.Region = "RegionOne"
			c.Global.CAFile = installerCAFile
		},
	},
	"what the first installers wrote": {
		text: "[Global]\nsecret-name = \"openstack-credentials\"\nsecret-namespace = \"kube-system\"\nkubeconfig-path = \"\"\n\n" +
			"[BlockStorage]\ntrust-device-path = no\nignore-volume-az = yes\n",
		want: func(*openstack.Config) {},
	},
	"what the installer's secret held": {
		text: "[Global]\nauth-url = \"https://keystone.example.com:5000/v3\"\nusername = \"shiftstack\"\n" +
			"password = \"a#b;c\\\"d\\\\e\"\ntenant-id = \"0123\"\ntenant-name = \"openshift\"\ndomain-id = \"default\"\n" +
			"domain-name = \"Default\"\nregion = \"RegionOne\"\n",
		want: func(c *openstack.Config) {
			c.Global.AuthURL = "https://keystone.example.com:5000/v3"
			c.Global.Username = "shiftstack"
			c.Global.TenantID = "0123"
			c.Global.TenantName = "openshift"
			c.Global.DomainID = "default"
			c.Global.DomainName = "Default"
			c.Global.Region = "RegionOne"
		},
	},
	"a configuration for the in-tree provider": {
		text: "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n" +
			"[BlockStorage]\nignore-volume-az = true\n" +
			"[LoadBalancer]\nuse-octavia = True\nlb-provider = ovn\nlb-method = SOURCE_IP_PORT\n" +
			"floating-network-id = 8ef0ae4a-5a0c-4b1f-a9a5-2f0f3b2a2d0e\nsubnet-id = 3f0d\ncreate-monitor = True\nmonitor-delay = 10s\n" +
			"monitor-timeout = 1m30s\nmonitor-max-retries = 0x2\nmonitor-max-retries-down = 010\n",
		want: func(c *openstack.Config) {
			c.LoadBalancer.LBProvider = "ovn"
			c.LoadBalancer.LBMethod = "SOURCE_IP_PORT"
			c.LoadBalancer.FloatingNetworkID = "8ef0ae4a-5a0c-4b1f-a9a5-2f0f3b2a2d0e"
			c.LoadBalancer.SubnetID = "3f0d"
			c.LoadBalancer.CreateMonitor = true
			c.LoadBalancer.MonitorDelay = util.MyDuration{Duration: 10 * time.Second}
			c.LoadBalancer.MonitorTimeout = util.MyDuration{Duration: 90 * time.Second}
			c.LoadBalancer.MonitorMaxRetries = 2
			c.LoadBalancer.MonitorMaxRetriesDown = 10
		},
	},
	"a configuration that production has rewritten already": {
		text: "[Global]\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n\n" +
			"[LoadBalancer]\nmax-shared-lb          = 2\nmanage-security-groups = false\n",
		want: func(c *openstack.Config) {
			c.LoadBalancer.MaxSharedLB = 2
			c.LoadBalancer.ManageSecurityGroups = false
		},
	},
	"load balancer classes, networks, metadata and routes": {
		text: "[LoadBalancerClass \"dmz\"]\nfloating-network-id = a\nfloating-subnet-tags = \"x, y\"\n[LoadBalancerClass \"plain\"]\n" +
			"[LoadBalancerClass \"dmz\"]\nmember-subnet-id = b\nfloating-network-id = c\n[LoadBalancerClass]\nsubnet-id = d\n" +
			"[Networking]\npublic-network-name = one\npublic-network-name = two\ninternal-network-name\n" +
			"internal-network-name = \" three \"\nipv6-support-disabled\naddress-sort-order = 10.0.0.0/8, fd00::/8\n" +
			"[Metadata]\nsearch-order = metadataService , configDrive\nrequest-timeout = 0\n[Route]\nrouter-id = e\n",
		want: func(c *openstack.Config) {
			c.LoadBalancerClass = map[string]*openstack.LBClass{
				"dmz":   {FloatingNetworkID: "c", FloatingSubnetTags: "x, y", MemberSubnetID: "b"},
				"plain": {},
				"":      {SubnetID: "d"},
			}
			c.Networking.PublicNetworkName = []string{"one", "two"}
			c.Networking.InternalNetworkName = []string{" three "}
			c.Networking.IPv6SupportDisabled = true
			c.Networking.AddressSortOrder = "10.0.0.0/8, fd00::/8"
			c.Metadata.SearchOrder = "metadataService , configDrive"
			c.Route.RouterID = "e"
		},
	},
	"every case, quote, comment, continuation and line end": {
		text: "# a comment\r\n[ GLOBAL ] ; another\r\nRegion=\"Region\" \"One\"#x\r\nTLS-Insecure = t\\\r\nrue\r\n\r\n" +
			"os-endpoint-type = \" internal \"\r\n[loadbalancer]\nEnabled = oFF\nlb-version = v9\nNODE-selector = a=b\\\"c\\\n  d\n" +
			"availability-zone = \"tab\\there\\nand a line\"\nenable-ingress-hostname\ningress-hostname-suffix =\n",
		want: func(c *openstack.Config) {
			c.Global.Region = "Region One"
			c.Global.TLSInsecure = "true"
			c.Global.EndpointType = "internal"
			c.LoadBalancer.Enabled = false
			c.LoadBalancer.LBVersion = "v9" // no load balancers, no check
			c.LoadBalancer.NodeSelector = `a=b"c  d`
			c.LoadBalancer.AvailabilityZone = "tab\there\nand a line"
			c.LoadBalancer.EnableIngressHostname = true
			c.LoadBalancer.IngressHostnameSuffix = ""
		},
	},
	"a CA file that no container has": {
		text:   "[Global]\nca-file = /home/stack/ca.pem\n",
		bundle: true,
		want:   func(c *openstack.Config) { c.Global.CAFile = installerCAFile },
	},
	"the trust store of the image": {
		text: "[Global]\nca-file = /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem\n",
		want: func(c *openstack.Config) { c.Global.CAFile = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" },
	},
}

func TestTheProviderReadsTheRewriteOfWhatInstallersWrite(t *testing.T) {
	for name, test := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OS_CLIENT_CONFIG_FILE", "") // set by ReadConfig; put back at the end
			dir := newFolder(t, goodCloudsYAML)
			src := dir.source(test.text, goodCloudsYAML, test.bundle)
			result := oscloud.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Lenient)) // a change would have to keep one of two duplicate keys

			config, ignored, err := parse(defaults(t), result.Config)
			require.NoError(t, err)
			require.NoError(t, ignored)
			want := openShiftDefaults(t)
			test.want(&want)
			want.Global.UseClouds = true
			want.Global.CloudsFile = dir.cloudsYAML()
			want.Global.Cloud = "openstack"
			if test.bundle {
				want.Global.CAFile = installerCAFile
			}
			require.Equal(t, want, config)
			require.NoError(t, startable(config))

			config, err = openstack.ReadConfig(bytes.NewReader(result.Config))
			require.NoError(t, err)
			require.NoError(t, login(config.Global))
		})
	}
}

func TestTheProviderLogsInAsTheCredentialsSay(t *testing.T) {
	t.Setenv("OS_CLIENT_CONFIG_FILE", "") // set by ReadConfig; put back at the end
	dir := newFolder(t, goodCloudsYAML)
	result := oscloud.Rewrite(dir.source("[Global]\ntenant-name = other\nusername = other\ndomain-name = Other\n"+
		"user-domain-name = Other\nregion = RegionTwo\n", goodCloudsYAML, false))
	require.Len(t, result.Errors(diagnostic.Strict), 5)
	require.Empty(t, result.Errors(diagnostic.Lenient))
	config, err := openstack.ReadConfig(bytes.NewReader(result.Config))
	require.NoError(t, err)
	require.Equal(t, "RegionTwo", config.Global.Region)
	login := config.Global.ToAuthOptions()
	require.Equal(t, []string{"openshift", "openshift", "Default"},
		[]string{login.TenantName, login.Username, login.DomainName})
}

// ownRules are the reasons for which we refuse what the provider would accept: it has the files of its container and none
// other, and the values that are dropped have to be the ones that are used anyway.
var ownRules = []string{
	"will not exist for the cloud-controller-manager",
	"is not a URL of the form",
	"can be used",
}

func isOwnRule(f diagnostic.Diagnostic) bool {
	return slices.ContainsFunc(ownRules, func(rule string) bool { return strings.Contains(f.Message, rule) })
}

func ignores(f diagnostic.Diagnostic) bool {
	return f.Kind == diagnostic.Typo || f.Kind == diagnostic.Unknown
}

// readsMore reports whether we read the text as the predecessor did, which took more than the provider.
func readsMore(text string, result clouds.Result) bool {
	return strings.HasPrefix(text, "\ufeff") || slices.ContainsFunc(result.Diagnostics, func(f diagnostic.Diagnostic) bool {
		return strings.HasPrefix(f.Message, "the cloud-controller-manager gets this line as")
	})
}

// FuzzOpenStack holds that we accept exactly what the provider reads and can start with, apart from ownRules; that the
// rewriting changes the meaning as documented and in no other way; and that the provider ignores nothing of it that we
// have not reported.
func FuzzOpenStack(f *testing.F) {
	for _, s := range shapes {
		f.Add(s.text, s.bundle)
	}
	dir := newFolder(f, goodCloudsYAML)
	plain, adjusted := defaults(f), openShiftDefaults(f)
	f.Fuzz(func(t *testing.T, text string, bundle bool) {
		src := dir.source(text, goodCloudsYAML, bundle)
		result := oscloud.Rewrite(src)
		meaning, _, err := parse(adjusted, src.Config)
		if err == nil {
			err = startable(meaning)
		}
		if refused := result.Errors(diagnostic.Lenient); len(refused) > 0 {
			if err == nil && !slices.ContainsFunc(refused, isOwnRule) {
				t.Fatalf("the provider starts with what we refuse: %v", refused)
			}
			return
		}
		if readsMore(text, result) {
			return
		}
		require.NoError(t, err, "the provider refuses what we accept")
		got, ignored, err := parse(plain, result.Config)
		require.NoError(t, err, "the provider refuses our rewriting:\n%s", result.Config)
		require.NoError(t, startable(got), "the provider does not start with our rewriting:\n%s", result.Config)
		require.Equal(t, rewritten(meaning, src), got, "rewritten to:\n%s", result.Config)
		if !slices.ContainsFunc(result.Diagnostics, ignores) {
			require.NoError(t, ignored, "rewritten to:\n%s", result.Config)
		}
		_, err = openstack.ReadConfig(bytes.NewReader(result.Config))
		require.NoError(t, err)
	})
}

// FuzzOpenStackClouds holds that we accept exactly the clouds.yaml files with which the provider comes to ask Keystone, apart
// from ownRules.
func FuzzOpenStackClouds(f *testing.F) {
	auth := func(keys string) string { return "clouds: {openstack: {auth: {auth_url: 'https://x', " + keys + "}}}" }
	for _, clouds := range []string{
		goodCloudsYAML,
		auth("application_credential_id: a, application_credential_secret: b"),
		auth("application_credential_id: a, application_credential_secret: b, token: c"),
		auth("application_credential_id: a"),
		auth("application_credential_name: a, application_credential_secret: b"),
		auth("application_credential_name: a, application_credential_secret: b, user_id: c"),
		auth("application_credential_name: a, application_credential_secret: b, username: c"),
		auth("application_credential_name: a, application_credential_secret: b, username: c, default_domain: d"),
		auth("application_credential_secret: b"),
		auth("token: a"),
		auth("token: a, project_id: b"),
		auth("token: a, domain_name: b"),
		auth("token: a, system_scope: all"),
		auth("password: a, project_id: b"),
		auth("password: a, project_id: b, username: c"),
		auth("password: a, project_id: b, username: c, user_domain_name: d"),
		auth("password: a, project_id: b, username: c, user_domain_name: d, domain_id: e"),
		auth("password: a, project_id: b, user_id: c"),
		auth("password: a, project_id: b, user_id: c, domain_name: d"),
		auth("password: a, project_id: b, username: c, user_id: d"),
		auth("password: a, project_name: b, username: c, user_domain_name: d"),
		auth("password: a, project_name: b, username: c, domain_name: d"),
		auth("password: a, project_name: b, username: c, default_domain: d"),
		auth("password: a, username: c, domain_name: d"),
		"clouds:\n  openstack:\n    auth_type: v3token\n    auth: {auth_url: https://x, password: a, username: b, domain_name: c, project_id: d}\n",
		"a: &a {auth_url: 'http://x/v2.0', username: a, password: b, project_id: c}\n" +
			"clouds:\n  openstack: {auth: *a, verify: no, regions: [one, {name: two, values: {}}], identity_api_version: 2}\n",
		"clouds:\n  openstack:\n    <<: {auth: {auth_url: https://x, token: t}}\n    cacert: /etc/pki/x\n    interface: internal\n",
		"clouds:\n  openstack:\n    profile: vexxhost\n    auth: {auth_url: https://x}\n",
		"clouds:\n  openstack:\n    region_name: x\n",
		" unknown:\n0",
	} {
		f.Add(clouds)
	}
	dir := newFolder(f, goodCloudsYAML)
	f.Fuzz(func(t *testing.T, clouds string) {
		require.NoError(t, os.WriteFile(dir.cloudsYAML(), []byte(clouds), 0o600))
		result := oscloud.Rewrite(dir.source("[Global]\n", clouds, false))
		config, err := readClouds(dir)
		if err == nil {
			err = errors.Join(startable(config), login(config.Global))
		}
		if refused := result.Errors(diagnostic.Lenient); len(refused) > 0 {
			if err == nil && !slices.ContainsFunc(refused, isOwnRule) {
				t.Fatalf("the provider asks Keystone with what we refuse: %v", refused)
			}
			return
		}
		require.NoError(t, err, "the provider refuses what we accept")
		config, err = openstack.ReadConfig(bytes.NewReader(result.Config))
		require.NoError(t, err)
		require.NoError(t, login(config.Global))
	})
}
