package openstack_test

import (
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/cloudtest"
)

const (
	goodClouds = `clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.com:5000/v3
      application_credential_id: "0123"
      application_credential_secret: s3cr3t-v4lue
    region_name: regionOne
    auth_type: v3applicationcredential
`
)

var paths = clouds.Paths{
	Credentials: "/etc/openstack/secret",
	CABundle:    "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
}

// source returns a valid source with the configuration.
func source(config string) clouds.Source {
	return clouds.Source{
		Config:      []byte(config),
		Credentials: map[string][]byte{"clouds.yaml": []byte(goodClouds)},
		Paths:       paths,
	}
}

// TestOpenStackGolden reads every testdata/openstack/*.conf, and the files with the same name and the extension
// .clouds.yaml or .ca-bundle.pem.
func TestOpenStackGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/openstack/*.conf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(file, ".conf")
		t.Run(filepath.Base(name), func(t *testing.T) {
			config, err := os.ReadFile(file)
			require.NoError(t, err)
			src := source(string(config))
			if clouds, err := os.ReadFile(name + ".clouds.yaml"); err == nil {
				src.Credentials["clouds.yaml"] = clouds
			}
			if bundle, err := os.ReadFile(name + ".ca-bundle.pem"); err == nil {
				src.CABundle = bundle
			}
			cloudtest.RequireGolden(t, name+".golden", cloudtest.Describe(openstack.Rewrite(src)))
		})
	}
}

func TestOpenStackRejectsWhatTheProviderRejects(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		errors []string
	}{
		"a word that is not a boolean": {"[LoadBalancer]\nenabled = ture\n", []string{
			`cloud config:2:11: enabled is "ture", but must be true or false`}},
		"an empty boolean": {"[LoadBalancer]\nenabled =\n", []string{
			`cloud config:2:10: enabled is empty, but must be true or false`}},
		"a number in words": {"[LoadBalancer]\nmax-shared-lb = two\n", []string{
			`cloud config:2:17: max-shared-lb is "two", but must be a whole number`}},
		"a fraction": {"[LoadBalancer]\nmax-shared-lb = 1.5\n", []string{
			`cloud config:2:17: max-shared-lb is "1.5", but must be a whole number`}},
		"a negative number": {"[LoadBalancer]\nmonitor-max-retries = -1\n", []string{
			`cloud config:2:23: monitor-max-retries is "-1", but must be a whole number that is not negative`}},
		"a duration without a unit": {"[LoadBalancer]\nmonitor-delay = 5\n", []string{
			`cloud config:2:17: monitor-delay is "5", but must be a duration with a unit, such as 5s or 1m30s`}},
		"a key without a value": {"[Global]\nregion\n", []string{
			"cloud config:2:1: region has no value: write region = value or remove the line"}},
		"a wrong value of a key that the operator sets": {"[Global]\nuse-clouds = maybe\ncloud\n", []string{
			`cloud config:2:14: use-clouds is "maybe", but must be true or false`,
			"cloud config:3:1: cloud has no value: write cloud = value or remove the line"}},
		"an endpoint type of two words": {"[Global]\nos-endpoint-type = public internal\n", []string{
			`cloud config:2:20: os-endpoint-type is "public internal", but must be one word`}},
		"an unknown endpoint type": {"[Global]\nos-endpoint-type = publicURL\n", []string{
			`cloud config:2:20: os-endpoint-type is "publicURL", but must be public, internal or admin`}},
		"a search order with an unknown element": {"[Metadata]\nsearch-order = configDrive,metadata\n", []string{
			`cloud config:2:16: search-order is "configDrive,metadata", but must be configDrive, ` +
				`metadataService or both, separated by a comma`}},
		"a search order with three elements": {"[Metadata]\nsearch-order = configDrive,metadataService,configDrive\n",
			[]string{
				`cloud config:2:16: search-order is "configDrive,metadataService,configDrive", ` +
					`but must be configDrive, ` +
					`metadataService or both, separated by a comma`}},
		"a load balancer version that is no longer supported": {"[LoadBalancer]\nlb-version = v1\n", []string{
			`cloud config:2:14: lb-version is "v1", but only v2 is supported: remove the line`}},
		"the Go field of the classes as a key": {"[LoadBalancer]\nlbclasses\n", []string{
			"cloud config:2:1: lbclasses cannot be set here: remove the line"}},
		"a key with an underscore, with a suggestion": {"[Global]\nauth_url = https://keystone\n", []string{
			"cloud config:2:1: this is not a key: a key starts with a letter and has letters, digits and \"-\" only; " +
				"did you mean \"auth-url\"?"}},
		"a ca-file that will not exist": {"[Global]\nca-file = /home/me/ca.pem\n", []string{
			`cloud config:2:11: ca-file is "/home/me/ca.pem", which will not exist for the cloud-controller-manager: ` +
				`put the CA certificates under the key ca-bundle.pem beside the cloud configuration, ` +
				`or remove the line`}},
		"the installer's ca-file without a bundle": {"[Global]\nca-file = " + paths.CABundle + "\n", []string{
			`cloud config:2:11: ca-file is ` +
				`"/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", ` +
				`which will not exist for the cloud-controller-manager: put the CA certificates under the key ` +
				`ca-bundle.pem beside the cloud configuration, or remove the line`}},
		"a client certificate that will not exist": {
			"[Global]\ncert-file = /c.pem\nkey-file = /etc/openstack/secret/key\n",
			[]string{
				`cloud config:2:13: "/c.pem" will not exist for the cloud-controller-manager: ` +
					`only the keys of the credentials Secret are delivered, in /etc/openstack/secret`,
				`cloud config:3:12: "/etc/openstack/secret/key" will not exist for the cloud-controller-manager: ` +
					`only the keys of the credentials Secret are delivered, in /etc/openstack/secret`}},
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(source(c.config))
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Invalid))
			require.Nil(t, result.Config)
		})
	}
}

func TestOpenStackNeedsNoConfiguration(t *testing.T) {
	want := string(openstack.Rewrite(source("[Global]\n")).Config)
	for state, config := range map[string][]byte{"missing": nil, "empty": []byte(" \n")} {
		t.Run(state, func(t *testing.T) {
			src := source("")
			src.Config = config
			result := openstack.Rewrite(src)
			require.Equal(t, want, string(result.Config))
			require.Empty(t, result.Errors(diagnostic.Lenient), "a first installation gets the defaults")
			notice := "cloud config: there is no cloud configuration: it is " + state +
				"; write at least the line [Global] " +
				"to have OpenShift's defaults, which a first installation gets without it"
			require.Equal(t, []string{notice}, cloudtest.Messages(result, diagnostic.Typo))
			require.Equal(t, []string{notice}, cloudtest.Texts(result.Warnings(diagnostic.Lenient)))
			require.Equal(t, []string{notice}, cloudtest.Texts(result.Errors(diagnostic.Strict)),
				"in a running cluster it is a mistake")
		})
	}
}

func TestOpenStackTakesWhatTheProviderTakes(t *testing.T) {
	for name, config := range map[string]string{
		"a boolean key alone": "[LoadBalancer]\ncreate-monitor\n",
		"booleans in every spelling": "[LoadBalancer]\nenabled = YES\ninternal-lb = Off\n" +
			"cascade-delete = 0\n",
		"hexadecimal and padded numbers": "[LoadBalancer]\nmax-shared-lb = 0x10\n" +
			"monitor-max-retries = \" 3 \"\n",
		"a list that is emptied and filled again": "[Networking]\npublic-network-name = a\n" +
			"public-network-name # none\npublic-network-name = b\n",
		"names in any case": "[GLOBAL]\nREGION = x\n[loadbalancerclass \"Gold\"]\n" +
			"Subnet-ID = y\n",
		"a load balancer version that is not used": "[LoadBalancer]\nenabled = false\nlb-version = v1\n",
		"a class without a name or keys":           "[LoadBalancerClass]\n",
		"a search order with spaces":               "[Metadata]\nsearch-order = metadataService , configDrive\n",
		"the trust store of the image as ca-file": "[Global]\n" +
			"ca-file = /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem\n",
		"a client certificate without its key": "[Global]\ncert-file = /c.pem\n",
		"only a comment":                       "# nothing\n",
		"legacy keys with their defaults": "[Global]\nsecret-name = openstack-credentials\n" +
			"secret-namespace = kube-system\nkubeconfig-path =\n",
		"a wrong value in a section that is dropped": "[BlockStorage]\nignore-volume-az = maybe\n",
		"a file of the credentials Secret as a client": "[Global]\ncert-file = /etc/openstack/secret/clouds.yaml\n" +
			"key-file = /etc/openstack/secret/clouds.yaml\n",
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(source(config))
			require.Empty(t, cloudtest.Messages(result, diagnostic.Invalid))
			require.NotNil(t, result.Config)
			require.Empty(t, result.Errors(diagnostic.Lenient))
		})
	}
}

func TestOpenStackReadsWhatThePredecessorRead(t *testing.T) {
	const rewritten = `the cloud-controller-manager gets this line as key = "value", because it does not know a colon ` +
		"and single quotes: write it so"
	for name, c := range map[string]struct {
		config, want string
		lines        []string
	}{
		"single quotes": {"[LoadBalancer]\nlb-provider = 'ovn'\nlb-method='SOURCE_IP_PORT' # it has only one\n",
			"lb-provider = ovn\nlb-method = SOURCE_IP_PORT\n", []string{"2:13", "3:10"}},
		"a colon":                   {"[Global]\nregion: regionOne\n", "region = regionOne\n", []string{"2:7"}},
		"a colon and single quotes": {"[Global]\nca-file: '/etc/pki/tls/cert.pem'\n", "ca-file = /etc/pki/tls/cert.pem\n", []string{"2:8"}},
		"a byte-order mark":         {"\ufeff[Global]\nregion = regionOne\n", "region = regionOne\n", nil},
		"an address":                {"[Global]\nauth-url = https://keystone.example.com:5000/v3\n", "https://keystone.example.com:5000/v3", nil},
		"a continued value":         {"[Networking]\npublic-network-name = x\\\ny: 'z'\n", "public-network-name = xy: 'z'\n", nil},
		"a quote inside":            {"[Networking]\npublic-network-name = bob's\n", "public-network-name = bob's\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(c.config)
			result := openstack.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Strict))
			require.Contains(t, string(result.Config), c.want)
			var want []string
			for _, at := range c.lines {
				want = append(want, "cloud config:"+at+": "+rewritten)
			}
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Rewritten))
			require.Equal(t, c.config, string(src.Config), "the source stays")
		})
	}
}

func TestOpenStackWarnsOfWhatHardlyWorks(t *testing.T) {
	const (
		login = "    auth: {auth_url: 'https://keystone.example.com', username: u, user_domain_id: d, password: "
		finds = "unless the user has a default project, the login finds no services, and the cloud-controller-manager exits " +
			"once it leads; "
		unread = "the cloud-controller-manager does not read this "
	)
	for name, c := range map[string]struct{ config, entry, want string }{
		"an application credential beside a password": {"[Global]\n",
			login + "w, project_id: p, application_credential_id: a, application_credential_secret: b}\n",
			"credentials clouds.yaml:3:96: auth has both a password and an application credential, and the " +
				"cloud-controller-manager uses the password without a project: " + finds + "remove password and username"},
		"no project": {"[Global]\n", login + "w}\n",
			"credentials clouds.yaml:3:11: auth names no project: " + finds + "add project_id"},
		"a project in the configuration only": {"[Global]\ntenant-id = p\n", login + "w}\n",
			"credentials clouds.yaml:3:11: auth names no project, and the cloud-controller-manager ignores that of [Global]: " +
				finds + "move it to auth as project_id or project_name"},
		"a token": {"[Global]\n", "    auth: {auth_url: 'https://k', token: t, project_id: p}\n",
			"credentials clouds.yaml:3:42: the token expires, and the cloud-controller-manager cannot renew it: use an " +
				"application credential instead"},
		"a region below auth": {"[Global]\n", login + "w, project_id: p, region_name: one}\n",
			"credentials clouds.yaml:3:114: " + unread + "region_name: write it beside auth"},
		"verify below auth": {"[Global]\n", login + "w, project_id: p, verify: False}\n",
			"credentials clouds.yaml:3:114: " + unread + "verify: it verifies certificates; put those of the CA under the key " +
				"ca-bundle.pem beside the cloud configuration"},
		"a list of regions only": {"[Global]\n", login + "w, project_id: p}\n    regions: [one, two]\n",
			"credentials clouds.yaml:4:14: the cloud-controller-manager does not read this list, and without a region it uses " +
				"the first endpoint of any: write region_name"},
		"a list of regions beside a region": {"[Global]\nregion = one\n", login + "w, project_id: p}\n    regions: [one, two]\n", ""},
		"a timeout of milliseconds": {"[Metadata]\nrequest-timeout = 30ms\n", login + "w, project_id: p}\n",
			"cloud config:2:19: request-timeout is 30ms, within which few requests to OpenStack end: write 1s or more"},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(c.config)
			src.Credentials = cloudsYAML("clouds:\n  openstack:\n" + c.entry)
			result := openstack.Rewrite(src)
			require.Empty(t, result.Errors(diagnostic.Strict))
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
}

func TestOpenStackNetworksThatNoNodeHas(t *testing.T) {
	for name, c := range map[string]struct {
		config           string
		errors, warnings []string
	}{
		"empty names": {"internal-network-name = \"\"\npublic-network-name = \"\"\n", []string{
			"cloud config:2:25: internal-network-name is empty, which is the name of no network, so nodes get no address: " +
				"remove the line"}, nil},
		"an empty name beside another": {"internal-network-name =\ninternal-network-name = nodes\n", nil, []string{
			"cloud config:2:24: internal-network-name is empty, which is the name of no network, so nodes get no address: " +
				"remove the line"}},
		"an empty name before the list is emptied": {"internal-network-name = \"\"\ninternal-network-name\n", nil, nil},
		"names with commas": {"internal-network-name = a,b\npublic-network-name = c,d\n", []string{
			`cloud config:2:25: internal-network-name is "a,b", which is one name: for several networks, write several lines`},
			[]string{`cloud config:3:23: public-network-name is "c,d", which is one name: for several networks, write several lines`}},
		"whitespace": {"internal-network-name = \" net \"\n", []string{
			`cloud config:2:25: internal-network-name is " net ", whose whitespace is part of the name: remove it`}, nil},
		"keys without values": {"internal-network-name\npublic-network-name\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(source("[Networking]\n" + c.config))
			require.Empty(t, result.Errors(diagnostic.Lenient))
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Typo))
			require.Equal(t, c.warnings, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
}

func TestOpenStackReportsUnknownNames(t *testing.T) {
	for name, c := range map[string]struct {
		config         string
		typos, unknown []string
	}{
		"letters swapped in a key": {config: "[Global]\nuse-cluods = true\n", typos: []string{
			`cloud config:2:1: unknown key "use-cluods" in [Global]; did you mean "use-clouds"?`}},
		"a letter missing in a key": {config: "[LoadBalancer]\nmax-share-lb = 3\n", typos: []string{
			`cloud config:2:1: unknown key "max-share-lb" in [LoadBalancer]; did you mean "max-shared-lb"?`}},
		"a key in the wrong section": {config: "[LoadBalancer]\nregion = x\n", typos: []string{
			`cloud config:2:1: unknown key "region" in [LoadBalancer]; it belongs in [Global]`}},
		"a key that two other sections know": {config: "[Global]\nsubnet-id = x\n", typos: []string{
			"cloud config:2:1: unknown key \"subnet-id\" in [Global]; " +
				"it belongs in [LoadBalancer] or in [LoadBalancerClass]"}},
		"a section with a typo": {config: "[LoadBalancr]\nenabled = maybe\n", typos: []string{
			"cloud config:1:1: unknown section [LoadBalancr]; did you mean [LoadBalancer]?"}},
		"a section with a second name": {config: "[Global \"x\"]\nregion = y\n", typos: []string{
			"cloud config:1:1: unknown section [Global \"x\"]; did you mean [Global]?"}},
		"an unknown key": {config: "[Route]\nspeed = fast\n", unknown: []string{
			`cloud config:2:1: unknown key "speed" in [Route]: the cloud-controller-manager ignores it; ` +
				`remove it or correct its name`}},
		"a key without a value is not shown": {config: "[Route]\nc2VjcmV0\n", unknown: []string{
			"cloud config:2:1: unknown key without a value in [Route]: the cloud-controller-manager ignores it; " +
				"remove it, or write it into the line above if it is the rest of that value"}},
		"an unknown section": {config: "[Quotas]\nx = 1\n", unknown: []string{
			"cloud config:1:1: unknown section [Quotas]: the cloud-controller-manager ignores it; " +
				"remove it or correct its name"}},
		"a very long name is cut": {config: "[Route]\n" + strings.Repeat("x", 500) + " = 1\n", unknown: []string{
			`cloud config:2:1: unknown key "` + strings.Repeat("x", 100) +
				`…" in [Route]: the cloud-controller-manager ignores it; remove it or correct its name`}},
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(source(c.config))
			require.Empty(t, cloudtest.Messages(result, diagnostic.Invalid))
			require.Equal(t, c.typos, cloudtest.Messages(result, diagnostic.Typo))
			require.Equal(t, c.unknown, cloudtest.Messages(result, diagnostic.Unknown))
			require.NotNil(t, result.Config)
			require.Len(t, result.Errors(diagnostic.Strict), len(c.typos))
			require.Empty(t, result.Errors(diagnostic.Lenient))
		})
	}
}

func TestOpenStackChecksTheCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		credentials map[string][]byte
		errors      []string
	}{
		"no Secret": {nil, []string{
			"credentials: there is no credentials Secret: check the cloud-credential-operator, " +
				"or create the Secret if credentials are managed manually"}},
		"an empty Secret": {map[string][]byte{}, []string{
			"credentials clouds.yaml: the credentials Secret is empty: it needs the key clouds.yaml"}},
		"other keys only": {map[string][]byte{"clouds.conf": nil, "Clouds.yaml": nil}, []string{
			"credentials clouds.yaml: the credentials Secret has no such key, only Clouds.yaml, clouds.conf"}},
		"an empty file": {cloudsYAML("\n"),
			[]string{"credentials clouds.yaml: it is empty: write the credentials that the cloud issued"}},
		"only a comment": {cloudsYAML("# x\n"),
			[]string{"credentials clouds.yaml: it is empty: " +
				"write a mapping with the key clouds and the entry openstack"}},
		"a list": {cloudsYAML("- a\n"),
			[]string{"credentials clouds.yaml:1:1: this has no keys with values: " +
				"write a mapping with the key clouds and the entry openstack"}},
		"no clouds": {cloudsYAML("cloud: {}\n"),
			[]string{"credentials clouds.yaml: it has no clouds: write the key clouds with the entry openstack"}},
		"no clouds before the document ends early": {cloudsYAML(" unknown:\n0"),
			[]string{"credentials clouds.yaml: it has no clouds: write the key clouds with the entry openstack"}},
		"clouds is null": {cloudsYAML("clouds:\n"),
			[]string{"credentials clouds.yaml: it has no clouds: write the key clouds with the entry openstack"}},
		"clouds is a list": {cloudsYAML("clouds:\n- openstack\n"), []string{
			"credentials clouds.yaml:2:1: clouds is a list, but must be a mapping of keys to values"}},
		"another cloud": {cloudsYAML("clouds:\n  shiftstack: {}\n  devstack: {}\n"), []string{
			"credentials clouds.yaml:2:3: there is no cloud named openstack, only \"shiftstack\", \"devstack\": " +
				"rename the entry to openstack"}},
		"no auth": {cloudsYAML("clouds:\n  openstack:\n    region_name: x\n"), []string{
			"credentials clouds.yaml:3:5: the cloud openstack has no auth: " +
				"write a mapping with auth_url and an application credential or a user and password"}},
		"no auth_url and no secret": {cloudsYAML("clouds:\n  openstack:\n    auth:\n      username: x\n"), []string{
			"credentials clouds.yaml:4:7: auth has neither an application_credential_secret, " +
				"nor a password, nor a token",
			"credentials clouds.yaml:4:7: auth has no auth_url: write the address of Keystone, " +
				"such as https://keystone.example.com:5000/v3"}},
		"an auth_url without a scheme": {cloudsYAML(strings.Replace(goodClouds, "https://", "", 1)), []string{
			"credentials clouds.yaml:4:17: clouds.openstack.auth.auth_url is not a URL of the form https://host/path"}},
		"a placeholder in auth_url": {cloudsYAML(strings.Replace(goodClouds, "keystone.example.com", "<keystone>", 1)), []string{
			"credentials clouds.yaml:4:17: clouds.openstack.auth.auth_url is not a URL of the form https://host/path"}},
		"a profile": {cloudsYAML(goodClouds + "    profile: vexxhost\n"), []string{
			"credentials clouds.yaml:9:14: profile names an entry of a clouds-public.yaml, " +
				"which the cloud-controller-manager does not have: write its values here instead"}},
		"an unknown identity version": {cloudsYAML(goodClouds + "    identity_api_version: 3.0\n"), []string{
			"credentials clouds.yaml:9:27: clouds.openstack.identity_api_version is a hidden value, " +
				"but must be 3, 2 or 2.0"}},
		"an unknown interface": {cloudsYAML(goodClouds + "    interface: publicURL\n"), []string{
			"credentials clouds.yaml:9:16: clouds.openstack.interface is a hidden value, but must be public, " +
				"internal or admin"}},
		"an unknown endpoint type before a known interface": {
			cloudsYAML(goodClouds + "    interface: public\n    endpoint_type: publicURL\n"), []string{
				"credentials clouds.yaml:10:20: clouds.openstack.endpoint_type is a hidden value, but must be public, " +
					"internal or admin"}},
		"a cacert that will not exist": {cloudsYAML(goodClouds + "    cacert: /home/me/ca.pem\n"), []string{
			`credentials clouds.yaml:9:13: cacert is "/home/me/ca.pem", which will not exist for the ` +
				`cloud-controller-manager: put the CA certificates under the key ca-bundle.pem beside the cloud ` +
				`configuration, or remove the line`}},
		"a client certificate that will not exist": {cloudsYAML(goodClouds + "    cert: /c\n    key: /k\n"), []string{
			`credentials clouds.yaml:9:11: "/c" will not exist for the cloud-controller-manager: ` +
				`only the keys of the credentials Secret are delivered, in /etc/openstack/secret`,
			`credentials clouds.yaml:10:10: "/k" will not exist for the cloud-controller-manager: ` +
				`only the keys of the credentials Secret are delivered, in /etc/openstack/secret`}},
		"a duplicate key": {cloudsYAML(goodClouds + "    region_name: x\n"), []string{
			`credentials clouds.yaml:9:5: duplicate key "region_name": keep one (see line 7)`}},
		"a mapping instead of a string and a string instead of a boolean": {
			cloudsYAML(goodClouds + "    cacert: {a: b}\n    verify: s3cr3t-v4lue\n"), []string{
				"credentials clouds.yaml:9:13: clouds.openstack.cacert is a mapping, but must be a string",
				"credentials clouds.yaml:10:13: clouds.openstack.verify is a hidden value, but must be true or false"}},
		"a tab": {cloudsYAML("clouds:\n\topenstack:\n"), []string{
			"credentials clouds.yaml:2:1: invalid YAML: a tab in the indentation: indent with spaces"}},
		"wrong indentation": {cloudsYAML("clouds:\n  openstack:\n    auth:\n      a: 1\n     b: 2\n"), []string{
			"credentials clouds.yaml:5:6: invalid YAML: a key is expected here: check the indentation and the colons"}},
		"an unclosed quote": {
			cloudsYAML("clouds:\n  openstack:\n    auth:\n      password: \"s3cr3t-v4lue\n      username: x\n"),
			[]string{"credentials clouds.yaml:4:7: invalid YAML: the text ends inside quotes: close them"}},
		"a value that reads as an alias": {
			cloudsYAML("clouds:\n  openstack:\n    auth:\n      password: *s3cr3t-v4lue\n"), []string{
				"credentials clouds.yaml:4:7: invalid YAML: " +
					"an alias has no anchor: put a value that starts with * in quotes"}},
		"a tag": {
			cloudsYAML("clouds:\n  openstack:\n    auth:\n      password: !!int s3cr3t-v4lue\n"), []string{
				"credentials clouds.yaml:4:17: YAML tags are not supported: remove the tag"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source("[Global]\n")
			src.Credentials = c.credentials
			result := openstack.Rewrite(src)
			require.Equal(t, c.errors, cloudtest.Messages(result, diagnostic.Invalid))
			require.Nil(t, result.Config)
			for _, f := range result.Diagnostics {
				require.NotContains(t, f.Message, "s3cr3t")
			}
		})
	}
}

func cloudsYAML(text string) map[string][]byte {
	return map[string][]byte{"clouds.yaml": []byte(text)}
}

func TestOpenStackAcceptsEveryFormOfCloudsYAML(t *testing.T) {
	for name, text := range map[string]string{
		"a user and password": "clouds:\n  openstack:\n    auth: {auth_url: 'http://k:5000', " +
			"username: u, user_domain_id: d, password: 12345, project_id: p}\n",
		"regions as names and mappings": goodClouds +
			"    regions:\n    - one\n    - name: two\n      values: {verify: true}\n",
		"unknown keys": goodClouds + "    compute_api_version: [1]\nother: 1\n",
		"anchors and merge keys": "x: &x\n  auth: &a {auth_url: 'http://k', user_id: u, password: w, project_id: p}\n" +
			"clouds:\n  openstack:\n    <<: *x\n  other:\n    auth: *a\n",
		"further clouds":                 goodClouds + "  other:\n    region_name: x\n",
		"a cacert in the image's store":  goodClouds + "    cacert: /etc/pki/tls/certs/ca-bundle.crt\n",
		"an identity version as a digit": goodClouds + "    identity_api_version: 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := source("[Global]\n")
			src.Credentials = cloudsYAML(text)
			require.Empty(t, errorsAndWarnings(openstack.Rewrite(src)))
		})
	}
}

func TestOpenStackAcceptsATrusteesPasswordAsLogin(t *testing.T) {
	src := source("[Global]\ntrust-id = t\ntrustee-id = u\ntrustee-password = p\n")
	src.Credentials = cloudsYAML("clouds: {openstack: {auth: {auth_url: 'https://k', username: x}}}\n")
	require.Empty(t, errorsAndWarnings(openstack.Rewrite(src)))
}

func TestOpenStackSetsCAFileToTheCABundle(t *testing.T) {
	const ours = "\nca-file = /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\n"
	bundle := cloudtest.CABundle(t)
	for name, c := range map[string]struct {
		config      string
		diagnostics []string
	}{
		"nothing is named":      {config: "[Global]\n"},
		"an empty one is named": {config: "[Global]\nca-file =\n"},
		"the bundle is named":   {config: "[Global]\nca-file = " + paths.CABundle + "\n"},
		"another file is named": {config: "[Global]\nca-file = /home/me/ca.pem\n", diagnostics: []string{
			"cloud config:2:11: ca-file is set to " +
				"\"/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\": " +
				"the ca-bundle.pem of the cloud configuration is delivered there"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(c.config)
			src.CABundle = bundle
			result := openstack.Rewrite(src)
			require.Equal(t, c.diagnostics, cloudtest.Messages(result, diagnostic.Rewritten))
			require.Len(t, errorsAndWarnings(result), len(c.diagnostics))
			require.Equal(t, 1, strings.Count(string(result.Config), "ca-file"))
			require.Contains(t, string(result.Config), ours)
		})
	}
}

func TestOpenStackRejectsACABundleForWhichTheProviderExits(t *testing.T) {
	good := string(cloudtest.CABundle(t))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")}))
	for name, c := range map[string]struct {
		bundle string
		errors []string
	}{
		"not PEM": {"hello\n", []string{
			"CA bundle: it contains no PEM certificate, so the cloud-controller-manager would exit: " +
				"write the CA certificates in PEM format"}},
		"a key only": {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", []string{
			"CA bundle: it contains no PEM certificate, so the cloud-controller-manager would exit: " +
				"write the CA certificates in PEM format"}},
		"the second certificate is broken": {"# first\n" + good + broken, []string{
			fmt.Sprintf("CA bundle:%d:1: this certificate cannot be parsed, so the cloud-controller-manager would "+
				"exit: replace or remove it",
				strings.Count(good, "\n")+2)}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source("[Global]\n")
			src.CABundle = []byte(c.bundle)
			require.Equal(t, c.errors, cloudtest.Messages(openstack.Rewrite(src), diagnostic.Invalid))
		})
	}
}

func TestOpenStackIgnoresAnUnusedCABundle(t *testing.T) {
	src := source("[Global]\nca-file = /etc/pki/tls/cert.pem\n")
	src.CABundle = []byte("hello")
	require.Empty(t, errorsAndWarnings(openstack.Rewrite(src)))
}

// errorsAndWarnings returns the diagnostics that need the administrator's attention.
func errorsAndWarnings(r clouds.Result) []diagnostic.Diagnostic {
	return append(r.Errors(diagnostic.Lenient), r.Warnings(diagnostic.Lenient)...)
}

// The cloud-controller-manager ignores them, so they stop no installation.
func TestKeysOfTheInTreeProviderThatDifferFromTheirDefault(t *testing.T) {
	const file = " can be used (the cloud-controller-manager reads its credentials from a file): remove the line"
	for line, want := range map[string]string{
		"secret-name = mine":      `cloud config:2:15: secret-name is "mine", but only its default "openstack-credentials"`,
		"secret-namespace = mine": `cloud config:2:20: secret-namespace is "mine", but only its default "kube-system"`,
		"kubeconfig-path = /etc":  `cloud config:2:19: kubeconfig-path is "/etc", but only its default ""`,
	} {
		result := openstack.Rewrite(source("[Global]\n" + line + "\n"))
		require.Empty(t, result.Errors(diagnostic.Lenient), line)
		require.Equal(t, []string{want + file}, cloudtest.Texts(result.Errors(diagnostic.Strict)))
		require.NotContains(t, string(result.Config), line)
	}
}

func TestARegionThatTheCredentialsContradict(t *testing.T) {
	login := func(region string) map[string][]byte {
		return map[string][]byte{"clouds.yaml": []byte("clouds:\n  openstack:\n    auth:\n      auth_url: https://keystone.example.com/v3\n" +
			"      application_credential_id: a\n      application_credential_secret: " + cloudtest.SecretValue + "\n" + region)}
	}
	for name, tc := range map[string]struct {
		config, region string
		want           []string
	}{
		"the same region":                   {"region = RegionOne", "    region_name: RegionOne\n", nil},
		"the credentials name none":         {"region = RegionTwo", "", nil},
		"the configuration names none":      {"", "    region_name: RegionOne\n", nil},
		"the credentials name several only": {"region = RegionTwo", "    regions: [RegionOne, RegionTwo]\n", nil},
		"another region": {"region = RegionTwo", "    region_name: RegionOne\n", []string{
			`cloud config:2:10: region is "RegionTwo", but region_name of clouds.yaml in the credentials Secret is another one: ` +
				"write the same region in both, or remove one of them"}},
	} {
		t.Run(name, func(t *testing.T) {
			result := openstack.Rewrite(clouds.Source{Config: []byte("[Global]\n" + tc.config + "\n"), Credentials: login(tc.region)})
			require.Equal(t, tc.want, cloudtest.Messages(result, diagnostic.Ambiguous))
			require.Empty(t, result.Errors(diagnostic.Lenient), "a first installation is not stopped")
			require.Len(t, result.Errors(diagnostic.Strict), len(tc.want))
		})
	}
}

func TestASecretInTheConfigMapReachesNoNode(t *testing.T) {
	const config = "[Global]\npassword = " + cloudtest.SecretValue + "\ntoken = " + cloudtest.SecretValue + "\nregion = one\n"
	result := openstack.Rewrite(clouds.Source{Config: []byte(config), CredentialsUnknown: true})
	require.NotContains(t, string(result.Config), cloudtest.SecretValue)
	const why = " in [Global] is dropped, because the cloud-controller-manager logs in with the clouds.yaml of the credentials Secret: " +
		"remove it, as everyone who may read the ConfigMap can read this secret"
	require.Equal(t, []string{"cloud config:2:12: password" + why, "cloud config:3:9: token" + why},
		cloudtest.Messages(result, diagnostic.Rewritten)[:2])

	trustee := openstack.Rewrite(clouds.Source{Config: []byte(config + "trust-id = a\n"), CredentialsUnknown: true})
	require.Contains(t, string(trustee.Config), cloudtest.SecretValue, "the provider logs in with it")
}

// Another service of the same host would get the credentials. A Keystone has several ports, which are known.
func TestAnotherPortOfKeystonesHostIsReported(t *testing.T) {
	for address, want := range map[string][]string{
		"https://keystone.example.com:5000":         nil,
		"https://keystone.example.com:5000/v3/":     nil,
		"https://KEYSTONE.example.com:5000/other":   nil,
		"https://keystone.example.com:13000/v3":     nil,
		"https://keystone.example.com:35357/v3":     nil,
		"https://keystone.example.com/identity/v3":  nil,
		"https://keystone.example.com:443/identity": nil,
		"https://keystone.example.com:8443/v3":      {another("https://keystone.example.com:8443/v3")},
		"https://keystone.example.com:8774/v2.1":    {another("https://keystone.example.com:8774/v2.1")},
	} {
		t.Run(address, func(t *testing.T) {
			result := openstack.Rewrite(clouds.Source{Config: []byte("[Global]\nauth-url = " + address + "\n"), Paths: paths,
				Credentials: cloudsYAML(goodClouds)})
			require.Equal(t, want, cloudtest.Messages(result, diagnostic.Doubtful))
		})
	}
	standard := strings.Replace(goodClouds, ":5000", "", 1)
	result := openstack.Rewrite(clouds.Source{Config: []byte("[Global]\nauth-url = https://keystone.example.com:443/v3\n"),
		Paths: paths, Credentials: cloudsYAML(standard)})
	require.Empty(t, cloudtest.Messages(result, diagnostic.Doubtful))
}

func another(address string) string {
	return `cloud config:2:12: auth-url is "` + address + `", but auth.auth_url of clouds.yaml in the credentials Secret ` +
		"names another port: the cloud-controller-manager sends its credentials there; remove the line, unless both are Keystone's"
}
