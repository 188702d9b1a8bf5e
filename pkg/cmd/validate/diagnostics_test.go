package validate_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const (
	secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: openstack-credentials\n  namespace: kube-system\n"

	clouds = `clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.com
      username: a
      password: b
      project_name: c
      user_domain_name: d
      project_domain_name: e
`
	featureGate = "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n" +
		"status: {featureGates: [{version: 4.22.0, enabled: [], disabled: []}]}\n"

	typo     = `unknown key "regoin" in [Global]; did you mean "region"? [CCM0003]`
	noSecret = "no Secret was given: credentials are not checked; give the manifests of the Secrets with --rendered-manifest-files"
	clean    = noSecret + "\n0 errors, 0 warnings in cloud.yaml, checked for platform openstack"
	likely   = "1 of the errors would be only warnings with --for=installation or --for=takeover"
	oneError = noSecret + "\n" + likely + "\n1 error, 0 warnings in cloud.yaml, checked for platform openstack"
)

func TestACleanConfiguration(t *testing.T) {
	require.Equal(t, result{stdout: clean + "\n"}, newWorkspace(t).run())
	require.Equal(t, result{stdout: lines(`{`, `  "findings": [],`, `  "errors": 0,`, `  "warnings": 0,`, `  "platform": "openstack",`, `  "remarks": [`, `    "`+noSecret+`"`, `  ]`, `}`)},
		newWorkspace(t).run("--output=json"))
}

func TestWarningsAloneRejectNothing(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [LoadBalancer]\n    use-octavia = false\n")
	require.Equal(t, result{stdout: lines(
		"cloud.yaml:9:5: warning: use-octavia in [LoadBalancer] is dropped: Octavia is the only load balancer that the cloud-controller-manager supports [CCM0008]",
		noSecret, "0 errors, 1 warning in cloud.yaml, checked for platform openstack",
	)}, f.run())
}

func TestDiagnosticsPointIntoALiteralBlock(t *testing.T) {
	for name, test := range map[string]struct{ file, place string }{
		"in a literal block":            {configMap + "  config: |\n    [Global]\n      regoin = one\n", "cloud.yaml:9:7"},
		"in a block without a last end": {configMap + "  config: |-\n    [Global]\n      regoin = one", "cloud.yaml:9:7"},
		"in a block with its indent":    {configMap + "  config: |2\n    [Global]\n      regoin = one\n", "cloud.yaml:9:7"},
		"in a file from Windows":        {strings.ReplaceAll(configMap+"  config: |\n    [Global]\n      regoin = one\n", "\n", "\r\n"), "cloud.yaml:9:7"},
		"in a second document":          {"# of the cluster\n---\n# only comments\n---\n" + configMap + "  config: |\n    [Global]\n      regoin = one\n", "cloud.yaml:13:7"},
		"behind an anchor": {strings.Replace(configMap, "metadata:\n", "metadata:\n  annotations:\n    a: &a |\n      [Global]\n        regoin = one\n", 1) +
			"  config: *a\n", "cloud.yaml:7:9"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("cloud.yaml", test.file)
			require.Equal(t, result{code: 1, stdout: lines(test.place+": error: "+typo, oneError)}, f.run())
		})
	}
}

func TestDiagnosticsPointToTheKeyOfAnyOtherNotation(t *testing.T) {
	// The typo is in the second line of the value, at column 3.
	const text = "[Global]\n  regoin = one\n"
	quoted := fmt.Sprintf("%q", text)
	for name, test := range map[string]struct{ file, place, inValue string }{
		"a folded block":           {configMap + "  config: >\n    [Global]\n\n      regoin = one\n", "7:3", "3:3"},
		"double quotes":            {configMap + "  config: " + quoted + "\n", "7:3", "2:3"},
		"single quotes":            {configMap + "  config: '[Global]\n\n    regoin = one'\n", "7:3", "2:1"},
		"JSON":                     {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"config":` + quoted + `}}`, "1:71", "2:3"},
		"JSON on several lines":    {"{\n\t\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"},\n\t\"data\": {\n\t\t\"config\": " + quoted + "\n\t}\n}\n", "4:3", "2:3"},
		"JSON with a surrogate":    {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\ud83d\ude00","config":` + quoted + `}}`, "1:1", "2:3"},
		"JSON behind a tab":        {"\t" + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"config":` + quoted + `}}`, "1:1", "2:3"},
		"after a document's start": {"--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {config: " + quoted + "}}\n", "1:67", "2:3"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("cloud.yaml", test.file)
			want := "cloud.yaml:" + test.place + ": error: line " + test.inValue + " of the value of key config: " + typo
			require.Equal(t, result{code: 1, stdout: lines(want, oneError)}, f.run())
		})
	}
}

func TestWhichKeyIsTheCloudConfiguration(t *testing.T) {
	const (
		good = ": |\n    [Global]\n"
		bad  = ": |\n    [Global]\n    regoin = one\n"
	)
	managed := strings.NewReplacer("cloud-provider-config", "kube-cloud-config", "openshift-config", "openshift-config-managed").Replace(configMap)
	for name, test := range map[string]struct{ infra, file, place string }{
		"the one that the Infrastructure names":   {"key: mine", configMap + "  config" + good + "  mine" + bad, "cloud.yaml:11:5"},
		"the installer's where none is named":     {"key: ''", configMap + "  cloud.conf" + good + "  config" + bad, "cloud.yaml:11:5"},
		"the operator's in the managed ConfigMap": {"key: config", managed + "  config" + good + "  cloud.conf" + bad, "cloud.yaml:11:5"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", strings.Replace(infrastructure("OpenStack"), "key: config", test.infra, 1))
			f.write("cloud.yaml", test.file)
			require.Equal(t, result{code: 1, stdout: lines(test.place+": error: "+typo, oneError)}, f.run())
		})
	}
}

func TestAKeyThatTheInfrastructureDoesNotNameIsNotRead(t *testing.T) {
	for name, test := range map[string]struct{ infra, file, key, keys string }{
		"the operator's key beside another":   {"key: mine", "  a: b\n  cloud.conf: |\n    [Global]\n", "mine", "a, cloud.conf"},
		"the operator's key alone":            {"key: mine", "  cloud.conf: |\n    [Global]\n", "mine", "cloud.conf"},
		"the only key beside the CA bundle":   {"key: config", "  my-config: |\n    [Global]\n  ca-bundle.pem: a\n", "config", "ca-bundle.pem, my-config"},
		"another than the default one":        {"key: ''", "  cloud.conf: |\n    [Global]\n", "config", "cloud.conf"},
		"another case of the name of the key": {"key: config", "  Config: |\n    [Global]\n", "config", "Config"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", strings.Replace(infrastructure("OpenStack"), "key: config", test.infra, 1))
			f.write("cloud.yaml", configMap+test.file)
			got := f.run()
			require.Equal(t, 1, got.code, got.stdout)
			message := "cloud.yaml:6:1: error: key " + test.key + ": there is no such key, the object has " + test.keys + "; add the key"
			if test.infra != "key: ''" {
				message += ", or correct spec.cloudConfig.key in infra.yaml"
			}
			require.Contains(t, strings.Split(got.stdout, "\n"), message+" [CCM0011]")
		})
	}
}

func TestAConfigMapThatNoInfrastructureNamesIsReadUnderItsLikelyKey(t *testing.T) {
	for name, file := range map[string]string{
		"the installer's key":               "  cloud.conf: a\n  config: |\n    [Global]\n    regoin = one\n",
		"the operator's key":                "  other: a\n  cloud.conf: |\n    [Global]\n    regoin = one\n",
		"the only key beside the CA bundle": "  ca-bundle.pem: \"\"\n  my-config: |\n    [Global]\n    regoin = one\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", strings.Replace(infrastructure("OpenStack"), "  cloudConfig:\n    name: cloud-provider-config\n    key: config\n", "", 1))
			f.write("cloud.yaml", configMap+file)
			got := f.run()
			require.Equal(t, 1, got.code, got.stdout)
			require.Contains(t, got.stdout, "cloud.yaml:10:5: error: "+typo)
		})
	}
}

// Two duplicate keys, of which the second is reported with the line of the first.
func TestALineInAMessageIsOneOfTheFile(t *testing.T) {
	const twice = "[Global]\nregion = one\nregion = two\n"
	infra := infrastructure
	for name, test := range map[string]struct{ platform, file, diagnostic string }{
		"in a literal block": {
			"OpenStack", configMap + "  config: |\n" + indent(twice),
			"cloud.yaml:10:5: error: duplicate key \"region\" in [Global]: keep one (see line 9) [CCM0002]",
		},
		"in a second document": {
			"OpenStack", "# ours\n---\n" + configMap + "  config: |\n" + indent(twice),
			"cloud.yaml:12:5: error: duplicate key \"region\" in [Global]: keep one (see line 11) [CCM0002]",
		},
		"in a folded block, where it is one of the value": {
			"OpenStack", configMap + "  config: >\n    [Global]\n\n    region = one\n\n    region = two\n",
			"cloud.yaml:7:3: error: line 3:1 of the value of key config: duplicate key \"region\" in [Global]: keep one (see line 2 of the value) [CCM0002]",
		},
		"in double quotes, where it is one of the value": {
			"OpenStack", configMap + "  config: \"[Global]\\nregion = one\\nregion = two\\n\"\n",
			"cloud.yaml:7:3: error: line 3:1 of the value of key config: duplicate key \"region\" in [Global]: keep one (see line 2 of the value) [CCM0002]",
		},
		"in JSON": {
			"Azure", configMap + "  config: |\n" + indent("{\"location\": \"a\",\n \"location\": \"b\"}\n"),
			"cloud.yaml:9:6: error: duplicate key \"location\": keep one (see line 8) [CCM0002]",
		},
		"in YAML": {
			"VSphere", configMap + "  config: |\n" + indent("global:\n  port: 1\nvcenter:\n  a: {server: a, datacenters: [a]}\nglobal:\n  port: 2\n"),
			"cloud.yaml:12:5: error: duplicate key \"global\": keep one (see line 8) [CCM0002]",
		},
		"in an item of a list": {
			"OpenStack", list(configMap + "  config: |\n" + indent(twice)),
			"cloud.yaml:12:7: error: duplicate key \"region\" in [Global]: keep one (see line 11) [CCM0002]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", infra(test.platform))
			f.write("cloud.yaml", test.file)
			got := f.run()
			require.Contains(t, strings.Split(got.stdout, "\n"), test.diagnostic, got.stdout+got.stderr)
		})
	}
}

// list is the List that oc prints for several objects.
func list(objects ...string) string {
	text := "apiVersion: v1\nitems:\n"
	for _, object := range objects {
		text += "-" + strings.TrimPrefix(strings.ReplaceAll("  "+strings.TrimSuffix(object, "\n"), "\n", "\n  "), " ") + "\n"
	}
	return text + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
}

func TestAListIsReadWithThePlacesOfItsItems(t *testing.T) {
	broken := configMap + "  config: |\n    [Global]\n    regoin = one\n"
	both := list(infrastructure("OpenStack"), broken)
	const place = "all.yaml:26:7: error"
	asJSON, err := yaml.YAMLToJSON([]byte(both))
	require.NoError(t, err)
	column := bytes.Index(asJSON, []byte(`"config":"[Global]`)) + 1
	typed := "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: cloud-provider-config, namespace: openshift-config}\n" +
		"  data:\n    config: |\n      [Global]\n      regoin = one\n"
	for name, test := range map[string]struct {
		files map[string]string
		flags []string
		place string
	}{
		"both objects in one file": {
			map[string]string{"all.yaml": both}, []string{"--rendered-manifest-files=all.yaml"}, place,
		},
		"behind another document": {
			map[string]string{"all.yaml": "# oc get\n---\n" + both}, []string{"--rendered-manifest-files=all.yaml"}, "all.yaml:28:7: error",
		},
		"as JSON": {
			map[string]string{"all.json": string(asJSON)}, []string{"--rendered-manifest-files=all.json"}, fmt.Sprintf("all.json:1:%d: error: line 2:1 of the value of key config", column),
		},
		"a list of one, for the flag that takes one object": {
			map[string]string{"all.yaml": list(broken), "infra.yaml": list(infrastructure("OpenStack"))},
			[]string{"--infra-config-file=infra.yaml", "--cloud-config-file=all.yaml"}, "all.yaml:11:7: error",
		},
		"a list of one kind, whose items leave it out": {
			map[string]string{"all.yaml": typed}, []string{"--infra-config-file=infra.yaml", "--cloud-config-file=all.yaml"}, "all.yaml:8:7: error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			for file, data := range test.files {
				f.write(file, data)
			}
			got := f.command(test.flags...)
			require.Equal(t, 1, got.code, got.stdout+got.stderr)
			require.Contains(t, strings.Split(got.stdout, "\n"), test.place+": "+typo)
		})
	}
}

func TestAPlatformTypeThatTheAPIDoesNotHave(t *testing.T) {
	for platform, message := range map[string]string{
		"Openstack":  `error: status.platformStatus.type: unknown platform type "Openstack"; did you mean "OpenStack"? [CCM0003]`,
		"open-stack": `error: status.platformStatus.type: unknown platform type "open-stack"; did you mean "OpenStack"? [CCM0003]`,
		"ovirt":      `error: status.platformStatus.type: unknown platform type "ovirt"; did you mean "oVirt"? [CCM0003]`,
		// A newer release may know it.
		"Moonbase": `warning: status.platformStatus.type: unknown platform type "Moonbase" [CCM0007]`,
	} {
		t.Run(platform, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", infrastructure(platform))
			want := result{code: 1, stdout: lines("infra.yaml:15:5: "+message,
				"1 error, 0 warnings in cloud.yaml, checked for platform none")}
			if strings.HasPrefix(message, "warning") {
				want = result{stdout: lines("infra.yaml:15:5: "+message,
					"0 errors, 1 warning in cloud.yaml, checked for platform none")}
			}
			require.Equal(t, want, f.run())
		})
	}
}

func TestWhatStandsInTheConfigMapInsteadOfAConfiguration(t *testing.T) {
	for name, test := range map[string]struct{ file, diagnostic string }{
		"no data": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			"cloud.yaml:1:1: error: key config: there is no such key, the object has no data; add the key, or correct spec.cloudConfig.key in infra.yaml [CCM0011]",
		},
		"two keys, none of which is it": {
			configMap + "  a: one\n  b: two\n",
			"cloud.yaml:6:1: error: key config: there is no such key, the object has a, b; add the key, or correct spec.cloudConfig.key in infra.yaml [CCM0011]",
		},
		"binary data": {
			strings.Replace(configMap, "\ndata:", "\nbinaryData:", 1) + "  config: W0dsb2JhbF0K\n",
			"cloud.yaml:7:3: error: binary data is not supported; store the value as UTF-8 text [CCM0011]",
		},
		"nothing under the key": {
			configMap + "  config: \"\"\n",
			"cloud.yaml:7:3: error: there is no cloud configuration: it is empty; write at least the line [Global] to have OpenShift's defaults, which a first installation gets without it [CCM0003]",
		},
		"a CA bundle that is none": {
			configMap + "  config: |\n    [Global]\n  ca-bundle.pem: |\n    -----BEGIN CERTIFICATE-----\n    AAAA\n    -----END CERTIFICATE-----\n",
			"cloud.yaml:10:5: error: this certificate cannot be parsed, so the cloud-controller-manager would exit: replace or remove it [CCM0001]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("cloud.yaml", test.file)
			got := f.run()
			require.Equal(t, 1, got.code)
			require.Contains(t, strings.Split(got.stdout, "\n"), test.diagnostic)
			require.Empty(t, got.stderr)
		})
	}
}

func TestWhatInstallersWriteIsWorthNoWarning(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    secret-name = openstack-credentials\n    region = one\n    [LoadBalancer]\n    use-octavia = True\n")
	require.Equal(t, result{stdout: lines(clean)}, f.run())
	got := f.run("--verbose")
	require.Zero(t, got.code)
	require.Contains(t, got.stdout, "cloud.yaml:9:5: change: secret-name in [Global] is dropped: the cloud-controller-manager reads its credentials from a file [CCM0010]\n")
	require.Contains(t, got.stdout, "cloud.yaml:12:5: change: use-octavia in [LoadBalancer] is dropped: Octavia is the only load balancer that the cloud-controller-manager supports [CCM0010]\n")
	require.True(t, strings.HasSuffix(got.stdout, clean+"\n"), got.stdout)
}

func TestVerboseDoesNotRepeatWarnings(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    region = one\n    [BlockStorage]\n    ignore-volume-az = true\n")
	const dropped = "section [BlockStorage] is dropped: the Cinder CSI driver manages volumes and has its own configuration [CCM0008]\n"
	got := f.run("--verbose").stdout
	require.Contains(t, got, "cloud.yaml:10:5: warning: "+dropped)
	require.Equal(t, 1, strings.Count(got, dropped), got)
}

func TestALikelyMistakeIsAnErrorForAChangeOnly(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    region = one\n    regoin = one\n")
	rejected := result{code: 1, stdout: lines("cloud.yaml:10:5: error: "+typo, oneError)}
	require.Equal(t, rejected, f.run())
	require.Equal(t, rejected, f.run("--for=change"))
	for _, occasion := range []string{"installation", "takeover"} {
		require.Equal(t, result{stdout: lines(
			"cloud.yaml:10:5: warning: "+typo, noSecret, "1 of the warnings would be errors with --for=change",
			"0 errors, 1 warning in cloud.yaml, checked for platform openstack",
		)}, f.run("--for="+occasion))
	}
	f.write("cloud.yaml", configMap+"  config: |\n    [Global\n")
	require.Equal(t, 1, f.run("--for=installation").code, "what the provider rejects is always an error")
}

func TestAConfigurationAsLargeAsAConfigMapCanBe(t *testing.T) {
	f := newWorkspace(t)
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n"+strings.Repeat("    regoin = one\n", 1<<20/16))
	got := f.run()
	require.Equal(t, 1, got.code)
	require.Len(t, strings.Split(got.stdout, "\n"), 104)
	require.True(t, strings.HasSuffix(got.stdout, "100 errors, 0 warnings in cloud.yaml, checked for platform openstack\n"), got.stdout[len(got.stdout)-200:])
}

func TestAPlatformWhereNothingRunsIsClean(t *testing.T) {
	for platform, infra := range map[string]string{
		"None": infrastructure("None"), "BareMetal": infrastructure("BareMetal"), "External": infrastructure("External"), "oVirt": infrastructure("oVirt"),
	} {
		t.Run(platform, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", infra)
			const message = " has no cloud-controller-manager: nothing is checked"
			require.Equal(t, result{stdout: "platform " + platform + message + "\n"}, f.run())
			require.Equal(t, result{stdout: lines(`{`, `  "findings": [],`, `  "errors": 0,`, `  "warnings": 0,`, `  "platform": "none",`,
				`  "remarks": [`, `    "platform `+platform+message+`"`, `  ]`, `}`)}, f.run("-o", "json"))
		})
	}
}

func TestAnInfrastructureThatLacksWhatTheOperandNeeds(t *testing.T) {
	f := newWorkspace(t)
	f.write("infra.yaml", strings.NewReplacer("  apiServerInternalURI: https://api-int.ostest.example.com:6443\n", "", "  infrastructureName: ostest-x7k2p\n", "").
		Replace(infrastructure("OpenStack")))
	require.Equal(t, result{code: 1, stdout: lines(
		"infra.yaml:11:1: error: infrastructureName is not observed yet: infrastructure.config.openshift.io/cluster has no status.infrastructureName [CCM0001]",
		"infra.yaml:11:1: error: apiServerInternalURI is not observed yet: infrastructure.config.openshift.io/cluster has no status.apiServerInternalURI [CCM0001]",
		"2 errors, 0 warnings in cloud.yaml, checked for platform openstack",
	)}, f.run())
}

func TestTheCloudConfigurationIsCheckedBesideAnInfrastructureWithoutTheAddressOfTheAPIServer(t *testing.T) {
	f := newWorkspace(t)
	f.write("infra.yaml", strings.Replace(infrastructure("OpenStack"), "  apiServerInternalURI: https://api-int.ostest.example.com:6443\n", "", 1))
	f.write("cloud.yaml", configMap+"  config: |\n    [Global]\n    regoin = regionOne\n")
	require.Equal(t, result{code: 1, stdout: lines(
		`cloud.yaml:9:5: error: unknown key "regoin" in [Global]; did you mean "region"? [CCM0003]`,
		"infra.yaml:11:1: error: apiServerInternalURI is not observed yet: infrastructure.config.openshift.io/cluster has no status.apiServerInternalURI [CCM0001]",
		"no Secret was given: credentials are not checked; give the manifests of the Secrets with --rendered-manifest-files",
		"1 of the errors would be only warnings with --for=installation or --for=takeover",
		"2 errors, 0 warnings in cloud.yaml, checked for platform openstack",
	)}, f.run())
}

func TestATakeOverThatChangesTheIdentityOfTheCCM(t *testing.T) {
	const changes = "the take-over changes the CCM's identity from that of its instance to secret/" +
		"cloud-controller-manager-credentials in openshift-cloud-controller-manager: where " +
		"credentials are managed manually, create it before the upgrade from the release's CredentialsRequest " +
		"openshift-aws-cloud-controller-manager (docs/upgrading.md#before)\n"
	for name, tc := range map[string]struct {
		platform, occasion string
		told               bool
	}{
		"AWS, whose predecessor has no credentials": {"AWS", "takeover", true},
		"AWS, with a first installation":            {"AWS", "installation", false},
		"Azure, whose predecessor has the same":     {"Azure", "takeover", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			f.write("infra.yaml", infrastructure(tc.platform))
			require.Equal(t, tc.told, strings.Contains(f.run("--for="+tc.occasion).stdout, changes))
		})
	}
}

func TestManifests(t *testing.T) {
	const summary = " in cloud.yaml and manifests, checked for platform openstack"
	const proxy = "apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: {name: cluster}\nspec: {trustedCA: {name: user-ca-bundle}}\n"
	broken := strings.Replace(clouds, "password: b", "passwort: b", 1)
	const noPassword = "auth has neither an application_credential_secret, nor a password, nor a token [CCM0001]"
	for name, test := range map[string]struct {
		files map[string]string
		code  int
		want  []string
	}{
		"without credentials": {
			map[string]string{"other.yaml": configMap}, 0, []string{
				"neither secret/openstack-cloud-credentials in openshift-cloud-controller-manager nor secret/openstack-credentials in kube-system " +
					"is among the manifests: credentials are not checked",
				"0 errors, 0 warnings" + summary,
			},
		},
		"with credentials": {
			map[string]string{"secret.yaml": secret + "data:\n  clouds.yaml: " + base64.StdEncoding.EncodeToString([]byte(clouds)) + "\n"}, 0,
			[]string{"0 errors, 0 warnings" + summary},
		},
		"with a mistake in text": {
			map[string]string{"secret.yaml": secret + "stringData:\n  clouds.yaml: |\n" + indent(broken)}, 1,
			[]string{"manifests/secret.yaml:11:11: error: " + noPassword, "1 error, 0 warnings" + summary},
		},
		"with a mistake in base64": {
			map[string]string{"secret.yaml": secret + "data:\n  clouds.yaml: " + base64.StdEncoding.EncodeToString([]byte(broken)) + "\n"}, 1,
			[]string{"manifests/secret.yaml:7:3: error: line 4:7 of the value of key clouds.yaml: " + noPassword, "1 error, 0 warnings" + summary},
		},
		"with a CA that is not there": {
			map[string]string{"proxy.yaml": proxy, "secret.yaml": secret + "stringData:\n  clouds.yaml: |\n" + indent(clouds)}, 0, []string{
				"infra.yaml:1:1: warning: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: " +
					"it does not exist; create it, or correct spec.trustedCA of manifests/proxy.yaml: proxy.config.openshift.io/cluster [CCM0013]",
				"0 errors, 1 warning" + summary,
			},
		},
		"with a CA that is none": {
			map[string]string{
				"proxy.yaml": proxy, "secret.yaml": secret + "stringData:\n  clouds.yaml: |\n" + indent(clouds),
				"user-ca.yaml": strings.Replace(configMap, "cloud-provider-config", "user-ca-bundle", 1) + "  ca-bundle.crt: |\n    # ours\n    -----BEGIN CERTIFICATE-----\n",
			}, 0, []string{
				"manifests/user-ca.yaml:9:5: warning: incomplete PEM block, which is ignored; paste the whole certificate [CCM0013]",
				"0 errors, 1 warning" + summary,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			for name, data := range test.files {
				if data == configMap { // Not the cloud configuration.
					data = strings.Replace(data, "cloud-provider-config", "other", 1)
				}
				f.write("manifests/"+name, data)
			}
			require.Equal(t, result{code: test.code, stdout: lines(test.want...)}, f.run("--rendered-manifest-files=manifests"))
		})
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

func TestManifestsAloneAreEnough(t *testing.T) {
	f := newWorkspace(t)
	f.write("manifests/infra.yaml", infrastructure("OpenStack"))
	f.write("manifests/gate.yaml", featureGate)
	f.write("manifests/secret.yaml", secret+"stringData:\n  clouds.yaml: |\n"+indent(clouds))
	f.write("manifests/cloud.yaml", configMap+"  config: |\n    [Global]\n    regoin = one\n")
	require.Equal(t, result{code: 1, stdout: lines("manifests/cloud.yaml:9:5: error: "+typo, likely, "1 error, 0 warnings in manifests, checked for platform openstack")},
		f.command("--rendered-manifest-files=manifests"))
	require.Equal(t, result{stdout: lines("0 errors, 0 warnings in cloud.yaml and manifests, checked for platform openstack")},
		f.command("--rendered-manifest-files=manifests", "--cloud-config-file=cloud.yaml"), "the given file counts")
}

func TestTheCloudsCAStandsBesideTheUsersConfigurationOnly(t *testing.T) {
	f := newWorkspace(t)
	const config = "  config: |\n    [Global]\n    ca-file = /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\n"
	f.write("manifests/cloud.yaml", configMap+config+"  ca-bundle.pem: none\n")
	f.write("cloud.yaml", strings.NewReplacer("cloud-provider-config", "kube-cloud-config", "openshift-config", "openshift-config-managed").Replace(configMap)+
		strings.Replace(config, "config:", "cloud.conf:", 1))
	got := f.run("--rendered-manifest-files=manifests")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stdout, "it contains no PEM certificate")
}
