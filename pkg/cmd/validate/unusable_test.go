package validate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wanted is the hint for a file without any object.
const wanted = "; specify the ConfigMap that has the cloud configuration, not the configuration itself"

func TestInputThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(workspace)
		flags   []string
		message string
	}{
		"no flag at all": {
			flags:   []string{"--infra-config-file=", "--cloud-config-file="},
			message: "--infra-config-file is required: the Infrastructure determines the platform",
		},
		"no cloud configuration although one is named": {
			flags: []string{"--cloud-config-file="},
			message: "--cloud-config-file is required: infra.yaml: infrastructure.config.openshift.io/cluster names " +
				"configmap/cloud-provider-config in spec.cloudConfig",
		},
		"an unknown flag":             {flags: []string{"--colour"}, message: "unknown flag: --colour"},
		"a flag without its value":    {flags: []string{"--output"}, message: "flag needs an argument: --output"},
		"an argument that is no file": {flags: []string{"a.yaml"}, message: "a.yaml cannot be read: no such file or directory"},
		"standard input twice": {
			flags:   []string{"--cloud-config-file=-", "-"},
			message: "- is there several times, but standard input can be read once only: keep one",
		},
		"a severity that does not exist": {
			flags: []string{"--fail-on=never"}, message: `--fail-on is "never": specify error or warning`,
		},
		"an empty standard input": {
			flags: []string{"-"}, message: "stdin: the file has no object: add one or remove the file",
		},
		"an unknown occasion": {
			flags:   []string{"--for=fun"},
			message: `--for is "fun": specify change, installation or takeover`,
		},
		"an unknown format": {flags: []string{"-o", "yaml"}, message: `--output is "yaml": specify text or json`},
		"a file that is missing": {
			flags: []string{"--cloud-config-file=a.yaml"}, message: "a.yaml cannot be read: no such file or directory",
		},
		"a directory instead of a file": {
			flags: []string{"--cloud-config-file=."}, message: ". cannot be read: is a directory",
		},
		"a file without an end": {
			flags:   []string{"--cloud-config-file=/dev/zero"},
			message: "/dev/zero cannot be read: it is a device; give a regular file",
		},
		"an infrastructure's directory": {
			flags: []string{"--infra-config-file=."}, message: ". cannot be read: is a directory",
		},
		"manifests that are missing": {
			flags: []string{"--rendered-manifest-files=nowhere"}, message: "nowhere cannot be read: no such file or directory",
		},
		"the two files interchanged": {flags: []string{"--infra-config-file=cloud.yaml",
			"--cloud-config-file=infra.yaml"}, message: "cloud.yaml must have exactly " +
			"infrastructure.config.openshift.io/cluster, but has configmap/cloud-provider-config in " +
			"openshift-config"},
		"the infrastructure for both": {flags: []string{"--cloud-config-file=infra.yaml"},
			message: "infra.yaml must have exactly one ConfigMap with the cloud configuration, but has " +
				"infrastructure.config.openshift.io/cluster"},
		"an empty file": {
			prepare: func(f workspace) { f.write("cloud.yaml", "") },
			message: "cloud.yaml: the file has no object: add one or remove the file",
		},
		"a file with comments only": {
			prepare: func(f workspace) { f.write("cloud.yaml", "---\n# nothing\n") },
			message: "cloud.yaml: the file has no object: add one or remove the file",
		},
		"the cloud configuration itself": {
			prepare: func(f workspace) { f.write("cloud.yaml", "[Global]\nregion = one\n") },
			message: "cloud.yaml:1:1: this is not a Kubernetes object: it needs apiVersion, kind and metadata.name" + wanted,
		},
		"a cloud configuration that is no YAML": {
			prepare: func(f workspace) { f.write("cloud.yaml", "region = one\n[Global]\n# a: b: c\n") },
			message: "cloud.yaml:1:1: this is not a Kubernetes object: it needs apiVersion, kind and metadata.name" + wanted,
		},
		"two ConfigMaps": {
			prepare: func(f workspace) {
				f.write("cloud.yaml", configMap+"  a: b\n---\n"+strings.Replace(configMap, "name: cloud", "name: other", 1))
			},
			message: "cloud.yaml must have exactly one ConfigMap with the cloud configuration, but has " +
				"configmap/cloud-provider-config in openshift-config and configmap/other-provider-config in " +
				"openshift-config",
		},
		"a list of something else": {
			prepare: func(f workspace) { f.write("cloud.yaml", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n") },
			message: "cloud.yaml:4:3: items[0] is not a Kubernetes object: it needs apiVersion, kind and metadata.name" + wanted,
		},
		"a list of two ConfigMaps": {
			prepare: func(f workspace) {
				f.write(
					"cloud.yaml",
					list(configMap+"  a: b\n", strings.Replace(configMap, "name: cloud", "name: other", 1)+"  a: b\n"),
				)
			},
			message: "cloud.yaml must have exactly one ConfigMap with the cloud configuration, but has " +
				"configmap/cloud-provider-config in openshift-config and configmap/other-provider-config in " +
				"openshift-config",
		},
		"an empty list": {
			prepare: func(f workspace) { f.write("cloud.yaml", "apiVersion: v1\nkind: List\nitems: []\n") },
			message: "cloud.yaml must have exactly one ConfigMap with the cloud configuration, but has no object",
		},
		"a list whose items are none": {
			prepare: func(f workspace) { f.write("cloud.yaml", "apiVersion: v1\nkind: List\nitems: {}\n") },
			message: "cloud.yaml:3:1: items of this List must be a list: write each item after a dash",
		},
		"a Secret": {
			prepare: func(f workspace) {
				f.write("cloud.yaml", strings.Replace(configMap, "ConfigMap", "Secret", 1)+"  config: c2VjcmV0\n")
			},
			message: "cloud.yaml must have exactly one ConfigMap with the cloud configuration, but has " +
				"secret/cloud-provider-config in openshift-config",
		},
		"another group's ConfigMap": {
			prepare: func(f workspace) { f.write("cloud.yaml", strings.Replace(configMap, "v1", "example.com/v1", 1)) },
			message: "cloud.yaml must have exactly one ConfigMap with the cloud configuration, but has " +
				"configmap.example.com/cloud-provider-config in openshift-config",
		},
		"a value that is no text": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config: {region: one}\n") },
			message: "cloud.yaml:7:3: data.config in configmap/cloud-provider-config in openshift-config is a mapping, but " +
				"must be a string: " +
				`write "config: |" and indent the text below it`,
		},
		"a value whose bar is forgotten": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config:\n    Global:\n      region: one\n") },
			message: "cloud.yaml:7:3: data.config in configmap/cloud-provider-config in openshift-config is a mapping, but " +
				"must be a string: " +
				`write "config: |" and indent the text below it`,
		},
		"a section header whose bar is forgotten": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config:\n    [Global]\n") },
			message: "cloud.yaml:7:3: data.config in configmap/cloud-provider-config in openshift-config is a list, but " +
				"must be a string: " +
				`write "config: |" and indent the text below it`,
		},
		"a number where a text belongs": {
			prepare: func(f workspace) { f.write("cloud.yaml", list(configMap+"  a: b\n  config: 5\n")) },
			message: "cloud.yaml:10:5: data.config in configmap/cloud-provider-config in openshift-config is a number, but " +
				"must be a string: put it in quotes",
		},
		"a text where a mapping belongs": {
			prepare: func(f workspace) { f.write("cloud.yaml", strings.TrimSuffix(configMap, "\n")+" a\n") },
			message: "cloud.yaml:6:1: data in configmap/cloud-provider-config in openshift-config is a string, but must be " +
				"a mapping: correct it",
		},
		"a tab in YAML": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"\tconfig: a\n") },
			message: "cloud.yaml:7:1: invalid YAML: a tab in the indentation: indent with spaces",
		},
		"a tab behind blanks in YAML": {
			prepare: func(f workspace) { f.write("cloud.yaml", "---\n"+configMap+"  a: b\n  \tconfig: a\n") },
			message: "cloud.yaml:9:3: invalid YAML: a tab in the indentation: indent with spaces",
		},
		"a second document in JSON": {
			prepare: func(f workspace) {
				f.write(
					"cloud.yaml",
					"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Secret\"}\n",
				)
			},
			message: "cloud.yaml:2:1: content after the end of the document: write --- on a line of its own before " +
				"another document",
		},
		"a second document behind the end of the first": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config: a\n...\nkind: Secret\n") },
			message: "cloud.yaml:9:1: content after the end of the document: write --- on a line of its own before " +
				"another document",
		},
		"a key twice": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config: a\n  config: b\n") },
			message: `cloud.yaml:8:3: duplicate key "config": keep one (see line 7)`,
		},
		"a key twice in the line of a separator": {
			prepare: func(f workspace) { f.write("cloud.yaml", "--- {kind: ConfigMap, kind: ConfigMap}\n") },
			message: `cloud.yaml:1:23: duplicate key "kind": keep one (see line 1)`,
		},
		"a key twice in JSON": {
			prepare: func(f workspace) {
				f.write(
					"cloud.yaml",
					`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"config": "a", "config": "b"}}`,
				)
			},
			message: `cloud.yaml:1:94: duplicate key "config": keep one (see line 1)`,
		},
		"a NUL": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config: a\x00b\n") },
			message: "cloud.yaml:7:12: invalid character U+0000: remove it, or save the text as UTF-8",
		},
		"a binary file": {
			prepare: func(f workspace) { f.write("cloud.yaml", "\x7fELF\x02\x01\x01\x00\xff\xfe") },
			message: "cloud.yaml:1:1: invalid character U+007F: remove it, or save the text as UTF-8",
		},
		"JSON that ends too early": {
			prepare: func(f workspace) { f.write("cloud.yaml", `{"apiVersion": "v1", "kind": "ConfigMap"`) },
			message: "cloud.yaml:1:41: invalid JSON: the text ends too early: a closing bracket or quote is missing",
		},
		"an alias of itself": {
			prepare: func(f workspace) { f.write("cloud.yaml", configMap+"  config: &a [*a]\n") },
			message: "cloud.yaml:7:15: invalid YAML: the value of an anchor contains itself: put a value that starts with * in quotes",
		},
		"a file without read permission": {
			prepare: func(f workspace) {
				require.NoError(f.t, os.Remove(filepath.Join(f.dir, "cloud.yaml")))
				require.NoError(f.t, os.Symlink("cloud.yaml", filepath.Join(f.dir, "cloud.yaml")))
			},
			message: "cloud.yaml cannot be read: too many levels of symbolic links",
		},
		"a named file with nothing in it": {
			prepare: func(f workspace) { f.write("secret.yaml", "") },
			flags:   []string{"--rendered-manifest-files=secret.yaml"},
			message: "secret.yaml: the file has no object: add one or remove the file",
		},
		"a named file that ends too early": {
			prepare: func(f workspace) { f.write("secret.json", `{"apiVersion": "v1", "kind": "Sec`) },
			flags:   []string{"--rendered-manifest-files=secret.json"},
			message: "secret.json:1:34: invalid JSON: the text ends too early: a closing bracket or quote is missing",
		},
		"no Infrastructure among the manifests": {
			prepare: func(f workspace) { f.write("manifests/a.yaml", configMap) },
			flags:   []string{"--infra-config-file=", "--rendered-manifest-files=manifests"},
			message: "infrastructure.config.openshift.io/cluster is not among the manifests: specify its file with " +
				"--infra-config-file",
		},
		"an Infrastructure without status": {
			prepare: func(f workspace) { f.write("infra.yaml", strings.Split(infrastructure("OpenStack"), "status:")[0]) },
			message: "infra.yaml: infrastructure.config.openshift.io/cluster has no status.platformStatus.type; " +
				"the installer writes it, restore it from the cluster's installation or a backup",
		},
		"a release that the FeatureGate does not have": {
			prepare: func(f workspace) { f.write("manifests/gate.yaml", featureGate) },
			flags:   []string{"--rendered-manifest-files=manifests", "--payload-version=4.99.0"},
			message: "manifests/gate.yaml: featuregate.config.openshift.io/cluster: status.featureGates has no entry for " +
				"--payload-version 4.99.0: " +
				"render it for this release first",
		},
		"a Secret that is not base64": {
			prepare: func(f workspace) { f.write("manifests/secret.yaml", secret+"data: {clouds.yaml: 'a secret'}\n") },
			flags:   []string{"--rendered-manifest-files=manifests"},
			message: "manifests/secret.yaml:6:8: data.clouds.yaml in secret/openstack-credentials in kube-system is not base64: " +
				"encode it, or write it under stringData",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorkspace(t)
			if test.prepare != nil {
				test.prepare(f)
			}
			require.Equal(t, result{code: 2, stderr: "validate: " + test.message + "\n"}, f.run(test.flags...))
		})
	}
}

func TestAnOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		f := newWorkspace(t)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		require.Equal(
			t,
			result{code: 2, stderr: "validate: the output cannot be written: no space left on device\n"},
			f.runTo(full, "--infra-config-file=infra.yaml", "--cloud-config-file=cloud.yaml", "-o", format),
		)
		require.NoError(t, full.Close())
	}
}

func TestAGroupWithTwoSlashesIsNamedWithItsLine(t *testing.T) {
	f := newWorkspace(t)
	f.write("more.yaml", "apiVersion: a/b/c\nkind: Proxy\nmetadata:\n  name: cluster\n")
	require.Equal(t, result{code: 2, stderr: "validate: more.yaml:1:1: apiVersion \"a/b/c\" has more than one slash: " +
		"write a group and a version, such as config.openshift.io/v1\n"}, f.command("infra.yaml", "cloud.yaml", "more.yaml"))
}
