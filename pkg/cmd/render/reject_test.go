package render_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	infraFile     = "manifests/cluster-infrastructure-02-config.yml"
	cloudFile     = "manifests/cloud-provider-config.yaml"
	generatedFile = "config-bootstrap/cloud-provider-config-generated.yaml"
	secretFile    = "manifests/99_cloud-creds-secret.yaml"

	userConfig = cloudFile + ": configmap/cloud-provider-config in openshift-config"
	rootSecret = secretFile + ": secret/openstack-credentials in kube-system"
)

// withConfig replaces the user's cloud configuration and cluster-config-operator's copy.
func withConfig(from, to string) func(node) {
	return func(n node) {
		n.edit(cloudFile, from, to)
		n.edit(generatedFile, from, to)
	}
}

// withSecret replaces the credentials.
func withSecret(data string) func(node) {
	return func(n node) {
		n.write(secretFile, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: openstack-credentials\n  namespace: kube-system\n"+data)
	}
}

const correctInfra = "correct spec.cloudConfig of manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster [CCM0011]"

// The proxy is optional, so an installation would go on without it.
func TestABrokenInputStopsAnInstallationInWhateverFormItIsWritten(t *testing.T) {
	const proxyFile = "manifests/cluster-proxy-01-config.yaml"
	const item = "- apiVersion: config.openshift.io/v1\n  kind: Proxy\n  metadata: {name: cluster}\n"
	for name, test := range map[string]struct{ content, message string }{
		"the ClusterVersion, which the installer gives a namespace": {
			clusterVersion("  capabilities: {\n"), ":8:3: invalid YAML: a value is expected here: check the brackets, or put the value in quotes",
		},
		"JSON on one line that is cut off": {
			`{"apiVersion":"config.openshift.io/v1","kind":"Proxy","metadata":{"name":"cluster"},"status":{}`,
			":1:96: invalid JSON: the text ends too early: a closing bracket or quote is missing",
		},
		"metadata on one line": {
			"apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: {name: cluster}\nspec: {\n",
			":4:1: invalid YAML: a value is expected here: check the brackets, or put the value in quotes",
		},
		"an annotation called name": {
			"apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata:\n  annotations:\n    name: a\n  name: cluster\nspec: {\n",
			":7:1: invalid YAML: a value is expected here: check the brackets, or put the value in quotes",
		},
		"a byte order mark": {
			"\ufeffapiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata:\n  name: cluster\nspec: {\n",
			":5:1: invalid YAML: a value is expected here: check the brackets, or put the value in quotes",
		},
		"an item of a list": {
			"apiVersion: v1\nkind: List\nitems:\n" + item + "  spec:\n    httpProxy: a\n    httpProxy: b\n",
			":9:5: duplicate key \"httpProxy\": keep one (see line 8)",
		},
		"an item of a list in which another item is broken": {
			"apiVersion: v1\nkind: List\nitems:\n" + item + "- {\n",
			":7:1: invalid YAML: a value is expected here: check the brackets, or put the value in quotes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.write(proxyFile, test.content)
			require.Equal(t, result{code: 1, stderr: "render: " + proxyFile + test.message + "\n"}, n.run())
		})
	}
}

func TestRejectedInputLeavesNothingBehind(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(node)
		flags   []string
		message string
	}{
		"an unknown flag": {
			flags:   []string{"--colour"},
			message: "unknown flag: --colour",
		},
		"an argument": {
			flags:   []string{"manifests"},
			message: "unexpected argument \"manifests\": use flags for all inputs",
		},
		"no output directory": {
			flags:   []string{"--asset-output-dir="},
			message: "--asset-output-dir is required: specify the output directory",
		},
		"a pull policy that does not exist": {
			flags:   []string{"--manifest-image-pull-policy=Sometimes"},
			message: "--manifest-image-pull-policy is \"Sometimes\": specify Always, IfNotPresent or Never",
		},
		"a relative directory on the host": {
			flags:   []string{"--manifest-secrets-host-path=secrets"},
			message: "--manifest-secrets-host-path is \"secrets\": specify an absolute path",
		},
		"an empty namespace": {
			flags:   []string{"--manifest-namespace="},
			message: "--manifest-namespace is empty: specify a namespace or omit the flag",
		},
		"an infrastructure file that is missing": {
			flags:   []string{"--infra-config-file=missing.yaml"},
			message: "missing.yaml cannot be read: no such file or directory",
		},
		"an infrastructure file that is empty": {
			prepare: func(n node) { n.write("infra.yaml", "# nothing\n") },
			flags:   []string{"--infra-config-file=infra.yaml"},
			message: "infra.yaml: the file has no object: add one or remove the file",
		},
		"an infrastructure file that is a directory": {
			flags:   []string{"--infra-config-file=manifests"},
			message: "manifests cannot be read: is a directory",
		},
		"an infrastructure file with something else": {
			flags: []string{"--infra-config-file=" + cloudFile},
			message: "manifests/cloud-provider-config.yaml must have exactly " +
				"infrastructure.config.openshift.io/cluster, but has configmap/cloud-provider-config in " +
				"openshift-config",
		},
		"an infrastructure file with more than the infrastructure": {
			prepare: func(n node) { n.write("infra.yaml", n.read(infraFile)+"---\n"+n.read(cloudFile)) },
			flags:   []string{"--infra-config-file=infra.yaml"},
			message: "infra.yaml must have exactly infrastructure.config.openshift.io/cluster, but has " +
				"infrastructure.config.openshift.io/cluster and configmap/cloud-provider-config in openshift-config",
		},
		"an infrastructure without status": {
			prepare: func(n node) { n.edit(infraFile, "status:\n", "statut:\n") },
			message: "manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster has no status.platformStatus.type; " +
				"the installer writes it, restore it from the cluster's installation or a backup",
		},
		"an infrastructure of the wrong shape": {
			prepare: func(n node) { n.edit(infraFile, "    type: OpenStack\nstatus", "    type: [OpenStack]\nstatus") },
			message: "manifests/cluster-infrastructure-02-config.yml:15:5: spec.platformSpec.type in infrastructure.config.openshift.io/cluster is a list, but must be a string: correct it",
		},
		"no infrastructure among the manifests": {
			prepare: func(n node) { n.remove(infraFile) },
			flags:   []string{"--infra-config-file="},
			message: "infrastructure.config.openshift.io/cluster is not among the manifests: specify its file with " +
				"--infra-config-file",
		},
		"two infrastructures that differ": {
			prepare: func(n node) { n.write("infra.yaml", strings.ReplaceAll(n.read(infraFile), "x7k2p", "x7k2q")) },
			flags:   []string{"--infra-config-file=infra.yaml"},
			message: "manifests/cluster-infrastructure-02-config.yml and infra.yaml define infrastructure.config.openshift.io/cluster differently: keep one of them",
		},
		"a manifest directory that is missing": {
			flags:   []string{"--rendered-manifest-files=nowhere"},
			message: "nowhere cannot be read: no such file or directory",
		},
		"an infrastructure that cannot be read": {
			prepare: func(n node) {
				n.remove(infraFile)
				require.NoError(n.t, os.Symlink("nowhere", n.path(infraFile)))
			},
			flags: []string{"--infra-config-file="},
			message: infraFile + " cannot be read: no such file or directory; infrastructure.config.openshift.io/cluster is not among " +
				"the manifests: specify its file with --infra-config-file",
		},
		"a cloud config file with something else": {
			flags: []string{"--cloud-config-file=" + cloudFile},
			message: "manifests/cloud-provider-config.yaml must have exactly configmap/kube-cloud-config in " +
				"openshift-config-managed, but has configmap/cloud-provider-config in openshift-config",
		},
		"a cloud config file that is missing": {
			flags:   []string{"--cloud-config-file=missing.yaml"},
			message: "missing.yaml cannot be read: no such file or directory",
		},
		"image references that are something else": {
			flags:   []string{"--image-references=" + cloudFile},
			message: "manifests/cloud-provider-config.yaml must have exactly one ImageStream: specify the release's image-references",
		},
		"image references that contradict the flag": {
			flags:   []string{"--manifest-image=example.com/ccm:1"},
			message: "--manifest-image is example.com/ccm:1, but image-references has quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:2222222222222222222222222222222222222222222222222222222222222222 for openstack-cloud-controller-manager: specify only one, or the same image",
		},
		"a required feature gate without a release": {
			flags:   []string{"--payload-version=", "--feature-gate=ExternalOIDC"},
			message: "--feature-gate requires --payload-version: specify the release whose gates count",
		},
		"a required feature gate of another release": {
			flags:   []string{"--payload-version=4.23.0", "--feature-gate=ExternalOIDC"},
			message: "manifests/99_feature-gate.yaml: featuregate.config.openshift.io/cluster: status.featureGates has no entry for --payload-version 4.23.0: render it for this release first",
		},
		"an override with a second document": {
			prepare: func(n node) { n.write("override.yaml", "{\"proxy\": {}}\n{\"platform\": \"none\"}\n") },
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml:2:1: content after the end of the document: write --- on a line of its own before " +
				"another document",
		},
		"an override with two documents": {
			prepare: func(n node) { n.write("override.yaml", "proxy: {}\n---\nplatform: none\n") },
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml:2:1: a second document starts here: move it to a file of its own",
		},
		"an override that is not in the schema": {
			prepare: func(n node) { n.write("override.yaml", "extendedArgument: {}\n") },
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml: the operand's configuration does not fit its schema: unknown field \"extendedArgument\"; " +
				"if spec.unsupportedConfigOverrides of cloudcontrollermanager/cluster sets it, correct it there",
		},
		"an override that is missing": {
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml cannot be read: no such file or directory",
		},
		"a named pipe as override": {
			prepare: func(n node) { require.NoError(n.t, syscall.Mkfifo(n.path("override.yaml"), 0o600)) },
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml cannot be read: it is a named pipe; give a regular file",
		},
		"a system trust bundle without an end": {
			flags:   []string{"--system-trust-bundle=/dev/zero"},
			message: "/dev/zero cannot be read: it is a device; give a regular file",
		},
		"a system trust bundle that cannot be read": {
			flags:   []string{"--system-trust-bundle=trust"},
			message: "trust cannot be read: is a directory",
		},
		"an output directory that is a file": {
			flags:   []string{"--asset-output-dir=image-references"},
			message: "image-references/config/cloud-controller-manager-trusted-ca-ca-bundle.crt cannot be read: not a directory",
		},
		"an output that is a directory": {
			flags:   []string{"--config-output-file=manifests"},
			message: "manifests is a directory, but must be a file: remove it or specify another directory",
		},
		"two outputs in one place": {
			flags:   []string{"--config-output-file=out/bootstrap-manifests/../bootstrap-manifests/cloud-controller-manager-pod.yaml"},
			message: "two outputs have the path out/bootstrap-manifests/cloud-controller-manager-pod.yaml: specify another --config-output-file",
		},
		"a directory below a file": {
			flags:   []string{"--config-output-file=image-references/config.yaml"},
			message: "image-references/config.yaml cannot be read: not a directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if test.prepare != nil {
				test.prepare(n)
			}
			before := n.snapshot(".")
			r := n.run(test.flags...)
			require.Equal(t, 1, r.code, r.stderr)
			require.Empty(t, r.stdout)
			lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			require.Equal(t, "render: "+test.message, lines[len(lines)-1])
			require.Equal(t, before, n.snapshot("."))
		})
	}
}

// bootkube.sh tries a failed step again for ever, and nobody can correct an input there. In the cluster somebody can: the
// operator reports the same.
func TestWithAnInputThatTheCloudControllerManagerWouldExitForThereIsNoPod(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(node)
		flags   []string
		message string
	}{
		"an infrastructure without a name for the cluster": {
			prepare: func(n node) { n.edit(infraFile, "  infrastructureName: ostest-x7k2p\n", "") },
			message: "manifests/cluster-infrastructure-02-config.yml: infrastructure.config.openshift.io/cluster: infrastructureName is not observed yet: infrastructure.config.openshift.io/cluster has no status.infrastructureName",
		},
		"a manifest twice and differently": {prepare: func(n node) {
			n.write("manifests/zz.yaml", strings.ReplaceAll(n.read(secretFile), "clouds.conf", "clouds.toml"))
		}, message: "manifests/99_cloud-creds-secret.yaml and manifests/zz.yaml define secret/openstack-credentials in kube-system differently: keep one of them"},
		"a Secret of the credentials that is not YAML": {
			prepare: func(n node) { n.edit(secretFile, "data:\n", "data: {\n") },
			message: secretFile + ":3:1: invalid YAML: a comma or a closing bracket is missing",
		},
		"a cloud config with a key twice": {
			prepare: func(n node) { n.edit(cloudFile, "metadata:\n", "metadata:\n  name: other\n") },
			flags:   []string{"--cloud-config-file="},
			message: cloudFile + ":6:3: duplicate key \"name\": keep one (see line 4)",
		},
		"a cloud config whose section is not closed": {
			prepare: withConfig("[Global]", "[Global"),
			message: userConfig + ", line 1:1 of the value of key config: the header of section [Global] is not closed: write \"]\" after the name [CCM0001]",
		},
		"a cloud config with a value that the provider rejects": {
			prepare: withConfig("floating-network-id", "enabled = perhaps\n    floating-network-id"),
			message: userConfig + ", line 8:11 of the value of key config: enabled is \"perhaps\", but must be true or false [CCM0001]",
		},
		"a cloud config that is not there": {
			prepare: func(n node) { n.remove(cloudFile) },
			flags:   []string{"--cloud-config-file="},
			message: "configmap/cloud-provider-config in openshift-config, key config: it does not exist; create it, or " + correctInfra,
		},
		"a cloud config under another key": {
			prepare: func(n node) { n.edit(infraFile, "key: config", "key: konfig") },
			flags:   []string{"--cloud-config-file="},
			message: userConfig + ", key konfig: there is no such key, the object has ca-bundle.pem, config; add the key, or " + correctInfra,
		},
		"a cloud config that is empty": {prepare: func(n node) {
			n.write(cloudFile, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud-provider-config, namespace: openshift-config}\ndata: {config: ''}\n")
		}, flags: []string{"--cloud-config-file="}, message: "manifests/99_cloud-creds-secret.yaml: secret/openstack-credentials in kube-system, line 11:13 of the value of key clouds.yaml: cacert is \"/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\", which will not exist for the cloud-controller-manager: put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line [CCM0001]"},
		"a cloud config without any key": {prepare: func(n node) {
			n.write(cloudFile, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud-provider-config, namespace: openshift-config}\n")
		}, flags: []string{"--cloud-config-file="}, message: "manifests/cloud-provider-config.yaml: configmap/cloud-provider-config in openshift-config, key config: there is no such key, the object has no data; add the key, or " + correctInfra},
		"a cloud config that is binary": {prepare: func(n node) {
			n.write(cloudFile, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud-provider-config, namespace: openshift-config}\nbinaryData: {config: AAE=}\n")
		}, flags: []string{"--cloud-config-file="}, message: "manifests/cloud-provider-config.yaml: configmap/cloud-provider-config in openshift-config, key config: binary data is not supported; store the value as UTF-8 text [CCM0011]"},
		"a cloud config that nothing names": {prepare: func(n node) {
			n.edit(infraFile, "  cloudConfig:\n    key: config\n    name: cloud-provider-config\n", "  cloudConfig: {}\n")
		}, flags: []string{"--cloud-config-file="}, message: "manifests/99_cloud-creds-secret.yaml: secret/openstack-credentials in kube-system, line 11:13 of the value of key clouds.yaml: cacert is \"/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem\", which will not exist for the cloud-controller-manager: put the CA certificates under the key ca-bundle.pem beside the cloud configuration, or remove the line [CCM0001]"},
		"a cloud CA that is binary": {
			prepare: func(n node) {
				n.edit(cloudFile, "data:\n  ca-bundle.pem: |\n", "binaryData: {ca-bundle.pem: AAE=}\ndata:\n  other: |\n")
			},
			flags:   []string{"--cloud-config-file="},
			message: userConfig + ", key ca-bundle.pem: binary data is not supported; store the value as UTF-8 text [CCM0011]",
		},
		"a generated cloud config that is broken where the user's is not": {
			prepare: func(n node) { n.edit(generatedFile, "[LoadBalancer]", "[LoadBalancer") },
			message: "config-bootstrap/cloud-provider-config-generated.yaml: configmap/kube-cloud-config in openshift-config-managed, line 7:1 of the value of key cloud.conf: the header of section [LoadBalancer] is not closed: write \"]\" after the name [CCM0001]",
		},
		"a cloud CA that is no PEM": {
			prepare: withConfig("-----BEGIN CERTIFICATE-----", "-----BEGIN-----"),
			message: userConfig + ", key ca-bundle.pem: it contains no PEM certificate, so the cloud-controller-manager would exit: write the CA certificates in PEM format [CCM0001]",
		},
		"credentials without clouds.yaml": {
			prepare: withSecret("data: {clouds.conf: Zm9v}\n"),
			message: rootSecret + ", key clouds.yaml: the credentials Secret has no such key, only clouds.conf [CCM0001]",
		},
		"credentials without any key": {
			prepare: withSecret(""),
			message: rootSecret + ", key clouds.yaml: the credentials Secret is empty: it needs the key clouds.yaml [CCM0001]",
		},
		"credentials that are no YAML": {
			prepare: withSecret("stringData:\n  clouds.yaml: |\n    clouds:\n      openstack: [\n"),
			message: rootSecret + ", line 2:3 of the value of key clouds.yaml: invalid YAML: a value is expected here: check the brackets, or put the value in quotes [CCM0001]",
		},
		"credentials without the cloud": {
			prepare: withSecret("stringData:\n  clouds.yaml: |\n    clouds:\n      devstack: {}\n"),
			message: rootSecret + ", line 2:3 of the value of key clouds.yaml: there is no cloud named openstack, only \"devstack\": rename the entry to openstack [CCM0001]",
		},
		"credentials that are not base64": {
			prepare: withSecret("data: {clouds.yaml: 'a secret'}\n"),
			message: "manifests/99_cloud-creds-secret.yaml:6:8: data.clouds.yaml in secret/openstack-credentials in kube-system " +
				"is not base64: encode it, or write it under stringData",
		},
		"credentials whose key is a path": {
			prepare: withSecret("stringData: {../clouds.yaml: a}\n"),
			message: rootSecret + ", key \"../clouds.yaml\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+'), must not start with '..'",
		},
		"no image at all": {
			flags: []string{"--image-references="},
			message: "--manifest-image or --image-references, key openstack-cloud-controller-manager: there is no image of the cloud-controller-manager for platform openstack; " +
				"the release must name it [CCM0014]",
		},
		"image references without the platform's": {prepare: func(n node) {
			n.edit("image-references", `"openstack-cloud-controller-manager"`, `"aws-cloud-controller-manager"`)
		}, message: "image-references, key openstack-cloud-controller-manager: there is no image of the cloud-controller-manager for platform openstack; the release must name it [CCM0014]"},
		"an override for another platform": {
			prepare: func(n node) { n.write("override.yaml", "platform: none\n") },
			flags:   []string{"--config-override-files=override.yaml"},
			message: "override.yaml: the configuration is for platform \"none\", the candidate for \"openstack\" [CCM0015]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if test.prepare != nil {
				test.prepare(n)
			}
			r := n.run(test.flags...)
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, strings.Split(r.stderr, "\n"), "render: "+test.message+": no pod is written, and nodes stay "+
				"uninitialized until the cluster's own cloud-controller-manager runs")
			require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
		})
	}
}

func TestNamesWithControlCharactersDoNotReachTheTerminalRaw(t *testing.T) {
	const name = "e\x1b[2J\u009b\u202evil.yaml"
	n := newNode(t)
	got := n.run("--infra-config-file=" + name)
	require.Equal(t, result{code: 1, stderr: `render: e\x1b[2J\u009b\u202evil.yaml cannot be read: no such file or directory` + "\n"}, got)
	asNone(n)
	n.edit(infraFile, "type: None\n", "type: \"\\e[2J\\u202e\"\n")
	got = n.run("--asset-input-dir=a")
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stderr, "\x1b")
	require.NotContains(t, got.stderr, "\u202e")
}
