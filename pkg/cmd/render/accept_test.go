package render_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/operator/render/options"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	podOutput       = "out/bootstrap-manifests/cloud-controller-manager-pod.yaml"
	configOutput    = "out/config/cloud-controller-manager-config.yaml"
	namespaceOutput = "out/manifests/0000_26_cloud-controller-manager_00_namespace.yaml"
	cloudsOutput    = "out/tls/cloud-controller-manager-secret-cloud-credentials-clouds.yaml"
	trustOutput     = "out/config/cloud-controller-manager-trusted-ca-ca-bundle.crt"

	noIdentity = "render: neither secret/openstack-cloud-credentials in openshift-cloud-controller-manager nor " +
		"secret/openstack-credentials in kube-system is among the manifests, so the bootstrap node has no credentials: " +
		"no pod is written, and nodes stay uninitialized until the cluster's own cloud-controller-manager runs\n"
)

// asNone changes the installation to a platform without a cloud.
func asNone(n node) { n.edit(infraFile, "type: OpenStack\n", "type: None\n") }

// outputFiles lists the files below out.
func (n node) outputFiles() []string {
	n.t.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n.snapshot("out"))), func(name string) bool {
		info, err := os.Stat(n.path(name))
		require.NoError(n.t, err)
		return info.IsDir()
	})
}

func (n node) pod() *corev1.Pod {
	n.t.Helper()
	pod := &corev1.Pod{}
	require.NoError(n.t, yaml.UnmarshalStrict([]byte(n.read(podOutput)), pod))
	return pod
}

func TestAnInstallationOnOpenStackRendersTheBootstrapPod(t *testing.T) {
	n := newNode(t)
	require.Equal(t, result{}, n.run())
	n.requireGolden("openstack-out")
}

func TestAFileThatIsNoInputDoesNotStopAnInstallation(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(node)
		// message follows the path of the file, empty if nothing is wrong with it.
		message string
	}{
		"an object that the API server names": {
			prepare: func(n node) {
				n.write("manifests/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\n")
			},
		},
		"an empty file": {
			prepare: func(n node) { n.write("manifests/empty.yaml", "") },
			message: "manifests/empty.yaml: the file has no object: add one or remove the file",
		},
		"a file that is not YAML": {prepare: func(n node) {
			n.write("manifests/broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n# more\napiVersion: v1\nkind: ConfigMap: b\n")
		}, message: "manifests/broken.yaml:8:1: invalid YAML: there is a second colon, or the indentation is wrong: put the value in quotes or correct the indentation"},
		"an object with a key twice": {prepare: func(n node) {
			n.write("manifests/twice.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\n")
		}, message: "manifests/twice.yaml:5:3: duplicate key \"name\": keep one (see line 4)"},
		"a document that is no object": {
			prepare: func(n node) { n.write("manifests/list.yaml", "\n- a\n- b\n") },
			message: "manifests/list.yaml:2:1: this is not a Kubernetes object: it needs apiVersion, kind and metadata.name",
		},
		"a binary file": {
			prepare: func(n node) { n.write("manifests/binary.yaml", "\x00\x01\x02") },
			message: "manifests/binary.yaml:1:1: invalid character U+0000: remove it, or save the text as UTF-8",
		},
		"JSON without apiVersion": {
			prepare: func(n node) { n.write("manifests/kindless.json", `{"kind": "Proxy", "metadata": {"name": "cluster"}}`) },
			message: "manifests/kindless.json:1:1: this is not a Kubernetes object: it needs apiVersion, kind and metadata.name",
		},
		"a link to nowhere": {
			prepare: func(n node) { require.NoError(n.t, os.Symlink("nowhere", n.path("manifests/link.yaml"))) },
			message: "manifests/link.yaml cannot be read: no such file or directory",
		},
		"a named pipe": {
			prepare: func(n node) { require.NoError(n.t, syscall.Mkfifo(n.path("manifests/pipe.yaml"), 0o600)) },
			message: "manifests/pipe.yaml cannot be read: it is a named pipe; give a regular file",
		},
		"two different objects of one name": {prepare: func(n node) {
			n.write("manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
			n.write("manifests/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {a: b}\n")
		}, message: "manifests/a.yaml and manifests/b.yaml define configmap/a differently: keep one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			test.prepare(n)
			want := result{}
			if test.message != "" {
				want.stderr += "render: ignored, because it seems to be no input of the cloud-controller-manager: " + test.message + "\n"
			}
			require.Equal(t, want, n.run())
			n.requireGolden("openstack-out")
		})
	}
}

func TestTheDirectoryOfTheManifestsMayBeALink(t *testing.T) {
	n := newNode(t)
	require.NoError(t, os.Rename(n.path("manifests"), n.path("real")))
	require.NoError(t, os.Symlink("real", n.path("manifests")))
	require.Equal(t, result{}, n.run())
	n.requireGolden("openstack-out")
}

func TestSecretsAreForTheirOwnerOnly(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	modes := map[string]fs.FileMode{}
	for _, name := range n.outputFiles() {
		info, err := os.Stat(n.path(name))
		require.NoError(t, err)
		modes[name] = info.Mode()
	}
	require.Equal(t, map[string]fs.FileMode{
		podOutput:       0o600,
		configOutput:    0o600,
		namespaceOutput: 0o644,
		trustOutput:     0o644,
		cloudsOutput:    0o600,
		"out/config/cloud-controller-manager-cloud-config-ca-bundle.pem":        0o644,
		"out/tls/cloud-controller-manager-secret-cloud-config-cloud.conf":       0o600,
		"out/tls/cloud-controller-manager-secret-cloud-credentials-clouds.conf": 0o600,
	}, modes)
}

// The installer's installer-gather.sh copies /opt/openshift and removes files with known sensitive names.
func TestSecretsAreLeftOutOfTheInstallersLogBundle(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	found := 0
	for _, name := range n.outputFiles() {
		if path.Dir(name) == "out/tls" {
			found++
			require.Contains(t, path.Base(name), "secret", "find -name '*secret*' | xargs rm")
		}
	}
	require.Equal(t, 3, found)
}

func TestAPasswordOfAProxyIsForItsOwnerOnly(t *testing.T) {
	n := newNode(t)
	n.edit("manifests/cluster-proxy-01-config.yaml", "http://", "http://user:c4n4ry@")
	require.Zero(t, n.run().code)
	var holders []string
	for _, name := range n.outputFiles() {
		if strings.Contains(n.read(name), "c4n4ry") {
			holders = append(holders, name)
			info, err := os.Stat(n.path(name))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode(), name)
		}
	}
	require.Equal(t, []string{podOutput, configOutput}, holders)
}

func TestASecondRunTouchesNothing(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	before := n.snapshot(".")
	past := time.Unix(1_000_000_000, 0)
	for _, name := range n.outputFiles() {
		require.NoError(t, os.Chtimes(n.path(name), past, past))
	}
	require.Equal(t, result{}, n.run())
	require.Equal(t, before, n.snapshot("."))
	for _, name := range n.outputFiles() {
		info, err := os.Stat(n.path(name))
		require.NoError(t, err)
		require.Equal(t, past, info.ModTime(), name)
	}
}

func TestARunRepairsWhatIsNotAsItShouldBe(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	before := n.snapshot(".")
	n.write(podOutput, "half a p")
	n.remove(configOutput)
	require.NoError(t, os.Chmod(n.path(cloudsOutput), 0o644))
	// The remains of a run that was killed.
	n.write("out/tls/.cloud-controller-manager-secret-cloud-credentials-clouds.yaml.new", "half")
	n.write("out/tls/.cloud-controller-manager-secret-of-another-input.new", "half")
	n.write("out/bootstrap-manifests/.cloud-controller-manager-pod.yaml.new", "half")
	require.Zero(t, n.run().code)
	require.Equal(t, before, n.snapshot("."))
}

func TestOutputsThatNoLongerApplyAreRemovedAndNothingElse(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	n.write("out/tls/root-ca.key", "not ours")
	n.write("out/bootstrap-manifests/kube-apiserver-pod.yaml", "not ours")
	asNone(n)
	require.Zero(t, n.run().code)
	require.Equal(t, []string{"out/bootstrap-manifests/kube-apiserver-pod.yaml", configOutput, namespaceOutput, "out/tls/root-ca.key"}, n.outputFiles())
}

// clusterVersion returns the installer's ClusterVersion with the given spec.capabilities.
func clusterVersion(capabilities string) string {
	return "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata:\n  namespace: openshift-cluster-version\n  name: version\n" +
		"spec:\n  clusterID: 2a1b3c4d-0000-4000-8000-000000000000\n" + capabilities
}

func TestTheCapabilityDecidesWhetherAnythingIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		capabilities string
		disabled     bool
	}{
		"no capabilities are chosen":            {},
		"an empty choice is the default":        {capabilities: "  capabilities: {}\n"},
		"the installer's empty baseline":        {capabilities: "  capabilities:\n    baselineCapabilitySet:\n    additionalEnabledCapabilities:\n    - Ingress\n"},
		"the current baseline":                  {capabilities: "  capabilities: {baselineCapabilitySet: vCurrent}\n"},
		"the first baseline that has it":        {capabilities: "  capabilities: {baselineCapabilitySet: v4.16}\n"},
		"a baseline from before it":             {capabilities: "  capabilities: {baselineCapabilitySet: v4.14}\n", disabled: true},
		"no baseline":                           {capabilities: "  capabilities: {baselineCapabilitySet: None}\n", disabled: true},
		"no baseline, but others":               {capabilities: "  capabilities: {baselineCapabilitySet: None, additionalEnabledCapabilities: [Ingress]}\n", disabled: true},
		"no baseline, but this one in addition": {capabilities: "  capabilities: {baselineCapabilitySet: None, additionalEnabledCapabilities: [Ingress, CloudControllerManager]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.write("manifests/cvo-overrides.yaml", clusterVersion(tc.capabilities))
			got := n.run()
			if !tc.disabled {
				require.Equal(t, result{}, got)
				require.Contains(t, n.outputFiles(), podOutput)
				return
			}
			require.Equal(t, result{stderr: "render: manifests/cvo-overrides.yaml: clusterversion.config.openshift.io/version " +
				"disables the capability CloudControllerManager: no files are written\n"}, got)
			require.NoDirExists(t, n.path("out"))
		})
	}
}

func TestADisabledCapabilityRemovesEarlierOutputs(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	n.write("out/tls/root-ca.key", "not ours")
	n.write("manifests/cvo-overrides.yaml", clusterVersion("  capabilities: {baselineCapabilitySet: None}\n"))
	require.Zero(t, n.run().code)
	require.Equal(t, []string{"out/tls/root-ca.key"}, n.outputFiles())
}

func TestTheFeatureGateDecidesWhetherAnythingIsWritten(t *testing.T) {
	const nothing = ": no files are written\n"
	const gateFile = "manifests/99_feature-gate.yaml: featuregate.config.openshift.io/cluster "
	for name, tc := range map[string]struct {
		prepare func(n node)
		gate    string
		stderr  string
	}{
		"an enabled gate":  {gate: "ExternalOIDC"},
		"no required gate": {},
		"a disabled gate": {
			gate:   "VSphereMixedNodeEnv",
			stderr: "render: " + gateFile + "does not enable VSphereMixedNodeEnv in 4.22.0" + nothing,
		},
		"a gate that the release does not have": {
			gate:   "Acme",
			stderr: "render: " + gateFile + "does not enable Acme in 4.22.0" + nothing,
		},
		"no FeatureGate": {
			prepare: func(n node) { n.remove("manifests/99_feature-gate.yaml") },
			gate:    "ExternalOIDC",
			stderr:  "render: no manifest is featuregate.config.openshift.io/cluster, which must enable ExternalOIDC" + nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if tc.prepare != nil {
				tc.prepare(n)
			}
			require.Equal(t, result{stderr: tc.stderr}, n.run("--feature-gate="+tc.gate))
			if tc.stderr == "" {
				require.Contains(t, n.outputFiles(), podOutput)
				return
			}
			require.NoDirExists(t, n.path("out"))
		})
	}
}

func TestEmptyDirectoriesAreRemoved(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	asNone(n)
	require.Zero(t, n.run().code)
	require.NoDirExists(t, n.path("out/tls"))
	require.NoDirExists(t, n.path("out/bootstrap-manifests"))
}

func TestAPlatformTypeThatTheAPIDoesNotHaveHasNoPodAndIsNamed(t *testing.T) {
	for platform, message := range map[string]string{
		"Moonbase":  `unknown platform type "Moonbase"`,
		"Openstack": `unknown platform type "Openstack"; did you mean "OpenStack"?`,
	} {
		n := newNode(t)
		asNone(n)
		n.edit(infraFile, "type: None\n", "type: "+platform+"\n")
		require.Equal(t, result{stderr: "render: status.platformStatus.type of " + infraFile + ": infrastructure.config.openshift.io/cluster: " +
			message + ": no pod is written\n"}, n.run())
		require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
	}
}

func TestAPlatformWithoutACloudControllerManagerHasNoPod(t *testing.T) {
	for _, platform := range []string{"None", "BareMetal", "oVirt"} {
		t.Run(platform, func(t *testing.T) {
			n := newNode(t)
			asNone(n)
			n.edit(infraFile, "type: None\n", "type: "+platform+"\n")
			// None of these flags matters then.
			n.edit(generatedFile, "[Global]", "[Global")
			n.remove(secretFile)
			require.Equal(t, result{stderr: "render: platform " + platform + " has no cloud-controller-manager: no pod is written\n"}, n.run())
			require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
			require.Contains(t, n.read(configOutput), "platform: none\n")
		})
	}
}

func TestWithoutAnyIdentityTheInstallationGoesOn(t *testing.T) {
	n := newNode(t)
	n.remove(secretFile)
	require.Equal(t, result{stderr: noIdentity}, n.run())
	require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
}

func TestTheOperandsOwnCredentialsComeFirst(t *testing.T) {
	n := newNode(t)
	own := strings.NewReplacer("openstack-credentials", "openstack-cloud-credentials", "kube-system", "openshift-cloud-controller-manager")
	n.write("manifests/own.yaml", own.Replace(n.read(secretFile)))
	withSecret("data: {clouds.yaml: YnJva2Vu}\n")(n)
	require.Zero(t, n.run().code)
	require.Contains(t, n.read(cloudsOutput), "password: correct-horse\n")
}

func TestCredentialsMayBeText(t *testing.T) {
	n := newNode(t)
	withSecret("stringData:\n  clouds.yaml: |\n    clouds:\n      openstack:\n        auth: {auth_url: https://keystone.example.com, username: a, password: b, " +
		"project_name: c, user_domain_name: d, project_domain_name: e}\n")(n)
	r := n.run()
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, n.read(cloudsOutput), "username: a,")
}

func TestWhatIsAcceptedAllTheSameIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(node)
		flags   []string
		stderr  string
	}{
		"a likely typo": {
			prepare: withConfig("floating-network-id", "floating-networq-id"),
			stderr: "render: " + userConfig + ", line 8:1 of the value of key config: " +
				"unknown key \"floating-networq-id\" in [LoadBalancer]; did you mean \"floating-network-id\"? [CCM0003]\n",
		},
		"an ignored flag": {
			flags: []string{"--templates-input-dir=/usr/share/bootkube/manifests", "--manifest-config-file-name=a"},
			stderr: "render: --manifest-config-file-name is ignored: the pod is configured by its arguments\n" +
				"render: --templates-input-dir is ignored: the templates are part of this program\n",
		},
		"a proxy CA that is broken": {
			prepare: func(n node) {
				n.edit("manifests/user-ca-bundle-config.yaml", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE")
			},
			stderr: "render: manifests/user-ca-bundle-config.yaml: configmap/user-ca-bundle in openshift-config, " +
				"line 1:1 of the value of key ca-bundle.crt: incomplete PEM block, which is ignored; paste the whole certificate [CCM0013]\n",
		},
		"a proxy CA that is missing": {
			prepare: func(n node) { n.remove("manifests/user-ca-bundle-config.yaml") },
			stderr: "render: configmap/user-ca-bundle in openshift-config, key ca-bundle.crt: " +
				"it does not exist; create it, or correct spec.trustedCA of manifests/cluster-proxy-01-config.yaml: proxy.config.openshift.io/cluster [CCM0013]\n",
		},
		"a proxy CA under another key": {
			prepare: func(n node) { n.edit("manifests/user-ca-bundle-config.yaml", "ca-bundle.crt", "ca.crt") },
			stderr: "render: manifests/user-ca-bundle-config.yaml: configmap/user-ca-bundle in openshift-config, " +
				"key ca-bundle.crt: there is no such key, the object has ca.crt; add the key, or correct spec.trustedCA of " +
				"manifests/cluster-proxy-01-config.yaml: proxy.config.openshift.io/cluster [CCM0013]\n",
		},
		"a cloud config that names another Secret": {
			prepare: withConfig("secret-name = openstack-credentials", "secret-name = other"),
			stderr: "render: " + userConfig + ", line 2:15 of the value of key config: secret-name is \"other\", but only its default " +
				"\"openstack-credentials\" can be used (the cloud-controller-manager reads its credentials from a file): remove the line [CCM0003]\n",
		},
		"a FeatureGate without the release": {
			flags: []string{"--payload-version=4.23.0"},
			stderr: "render: manifests/99_feature-gate.yaml: featuregate.config.openshift.io/cluster: status.featureGates has no entry for " +
				"--payload-version 4.23.0: render it for this release first: until then, no feature gate is on\n",
		},
		"a baseline of capabilities that this release does not know": {
			prepare: func(n node) {
				n.write("manifests/cvo-overrides.yaml", clusterVersion("  capabilities: {baselineCapabilitySet: v9.11}\n"))
			},
		},
		"no system trust": {
			flags:  []string{"--system-trust-bundle=nowhere.pem"},
			stderr: "render: nowhere.pem does not exist, so the cloud-controller-manager trusts only the CAs in the cluster's configuration\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if test.prepare != nil {
				test.prepare(n)
			}
			require.Equal(t, result{stderr: test.stderr}, n.run(test.flags...))
			require.FileExists(t, n.path(podOutput))
		})
	}
}

func TestManifestsThatMayBeMissing(t *testing.T) {
	n := newNode(t)
	n.remove("manifests/99_feature-gate.yaml")
	n.remove("manifests/cluster-proxy-01-config.yaml")
	n.remove("manifests/user-ca-bundle-config.yaml")
	n.remove("manifests/cluster-network-02-config.yml")
	require.Equal(t, result{}, n.run())
	container := n.pod().Spec.Containers[0]
	require.NotContains(t, strings.Join(container.Args, " "), "--feature-gates")
	require.Equal(t, []corev1.EnvVar{{
		Name: "SSL_CERT_FILE", Value: "/etc/kubernetes/static-pod-resources/configmaps/trusted-ca/ca-bundle.crt",
	}}, container.Env)
}

func TestAReleaseThatIsNotNamedHasNoFeatureGates(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run("--payload-version=").code)
	require.NotContains(t, n.read(podOutput), "--feature-gates")
}

func TestTheGeneratedCloudConfigWinsWhereItHasData(t *testing.T) {
	n := newNode(t)
	n.edit(generatedFile, "regionOne", "regionTwo")
	require.Zero(t, n.run().code)
	require.Contains(t, n.read("out/tls/cloud-controller-manager-secret-cloud-config-cloud.conf"), "region = regionTwo\n")

	// cluster-config-operator always writes the object.
	n.write(generatedFile, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-cloud-config, namespace: openshift-config-managed}\n")
	require.Zero(t, n.run().code)
	require.Contains(t, n.read("out/tls/cloud-controller-manager-secret-cloud-config-cloud.conf"), "region = regionOne\n")
}

func TestTheGeneratedCloudConfigIsNoSourceWhereTheOperatorWritesIt(t *testing.T) {
	n := newNode(t)
	n.edit(infraFile, "    type: OpenStack", "    type: VSphere")
	n.edit(infraFile, "    openstack:\n      apiServerInternalIPs: []\n      ingressIPs: []\n      machineNetworks: []\n",
		"    vsphere:\n      vcenters: [{server: vcenter.example.com, datacenters: [DC1]}]\n")
	n.write("manifests/cloud-provider-config.yaml", "apiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: cloud-provider-config, namespace: openshift-config}\ndata: {config: \"global: {insecureFlag: true}\"}\n")
	n.write("manifests/99_cloud-creds-secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: vsphere-creds, namespace: kube-system}\n"+
		"stringData: {vcenter.example.com.username: a, vcenter.example.com.password: b}\n")
	r := n.run("--manifest-image=example.com/ccm:1")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, n.read("out/tls/cloud-controller-manager-secret-cloud-config-cloud.conf"), "insecureFlag: true\n")
	require.FileExists(t, n.path("out/tls/cloud-controller-manager-secret-cloud-credentials-vcenter.example.com.username"))
}

func TestTheCloudsCAMayStandBesideTheUsersConfigurationOnly(t *testing.T) {
	n := newNode(t)
	n.edit(generatedFile, "ca-bundle.pem: |", "other.pem: |")
	require.Zero(t, n.run().code)
	require.FileExists(t, n.path("out/config/cloud-controller-manager-cloud-config-ca-bundle.pem"))
}

func TestTheInstallersKeyIsMeantWhereTheInfrastructureNamesNone(t *testing.T) {
	n := newNode(t)
	n.edit(infraFile, "    key: config\n", "")
	require.Zero(t, n.run("--cloud-config-file=").code)
	require.FileExists(t, n.path(podOutput))
}

func TestFlagsReachThePod(t *testing.T) {
	n := newNode(t)
	n.write("first.yaml", "extendedArguments: {v: ['4'], controllers: ['*']}\n")
	n.write("second.yaml", "extendedArguments: {v: ['6']}\n")
	r := n.run("--image-references=", "--manifest-image=example.com/ccm:1", "--manifest-image-pull-policy=Never",
		"--manifest-namespace=kube-system", "--manifest-config-host-path=/etc/configs", "--manifest-secrets-host-path=/etc/secrets",
		"--config-override-files=first.yaml,second.yaml", "--config-output-file=elsewhere/deep/config.yaml")
	require.Equal(t, result{}, r)
	pod := n.pod()
	container := pod.Spec.Containers[0]
	require.Equal(t, "kube-system", pod.Namespace)
	require.Equal(t, "example.com/ccm:1", container.Image)
	require.Equal(t, corev1.PullNever, container.ImagePullPolicy)
	require.Contains(t, container.Args, "--v=6")
	require.Contains(t, container.Args, "--controllers=*")
	var paths []string
	for _, volume := range pod.Spec.Volumes {
		paths = append(paths, volume.HostPath.Path)
	}
	require.Contains(t, paths, "/etc/configs/cloud-controller-manager-trusted-ca-ca-bundle.crt")
	require.Contains(t, paths, "/etc/secrets/cloud-controller-manager-secret-cloud-config-cloud.conf")
	require.NoFileExists(t, n.path(configOutput))
	require.Contains(t, n.read("elsewhere/deep/config.yaml"), "  v:\n  - \"6\"\n")
}

func TestTheFewestFlags(t *testing.T) {
	n := newNode(t)
	r := n.command("--asset-output-dir=out", "--rendered-manifest-files=manifests", "--manifest-image=example.com/ccm:1",
		"--system-trust-bundle=trust/tls-ca-bundle.pem")
	require.Equal(t, result{}, r)
	require.FileExists(t, n.path(podOutput))
	require.FileExists(t, n.path(configOutput))
}

func TestWithoutAnInfrastructureThereIsNothingToRead(t *testing.T) {
	n := newNode(t)
	require.Equal(t, result{code: 1, stderr: "render: --infra-config-file or --rendered-manifest-files is required: specify the file with the Infrastructure\n"},
		n.command("--asset-output-dir=out"))
}

func TestTheSameObjectMayBeGivenTwice(t *testing.T) {
	n := newNode(t)
	// The same content in another format.
	n.write("manifests/copy.json", `{"kind": "DNS", "apiVersion": "config.openshift.io/v1", "metadata": {"name": "cluster", "creationTimestamp": null},
		"spec": {"platform": {"type": "", "aws": null}, "baseDomain": "ostest.example.com"}, "status": {}}`)
	require.Equal(t, result{}, n.run())
}

func TestSchemasAreNotRead(t *testing.T) {
	n := newNode(t)
	n.write("manifests/crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\tthis is never parsed\n")
	require.Equal(t, result{}, n.run())
}

func TestOnlyManifestsInADirectoryAreRead(t *testing.T) {
	n := newNode(t)
	n.write("manifests/README", "no manifest: at all: this\n")
	n.write("manifests/deeper/still.yml", "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n")
	require.Equal(t, result{}, n.run())
}

func TestOurManifestsDoNotBreakTheSiblingsRenders(t *testing.T) {
	n := newNode(t)
	require.Zero(t, n.run().code)
	require.NoError(t, os.CopyFS(n.path("manifests"), os.DirFS(n.path("out/manifests"))))
	sibling := options.NewGenericOptions()
	sibling.RenderedManifestInputFilenames = []string{n.path("manifests")}
	found, err := sibling.ReadInputManifests()
	require.NoError(t, err)
	require.NoError(t, found.ValidateManifestPredictability())
	require.Len(t, found, 10)
}

func TestATLSProfileWithWhichNoServerStartsIsCompleted(t *testing.T) {
	n := newNode(t)
	n.write("manifests/apiserver.yaml", "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata:\n  name: cluster\n"+
		"spec:\n  tlsSecurityProfile:\n    type: Custom\n    custom:\n      ciphers: [ECDHE-RSA-AES256-GCM-SHA384]\n"+
		"      minTLSVersion: VersionTLS12\n")
	got := n.run()
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, "render: apiserver.config.openshift.io/cluster, key spec.tlsSecurityProfile.custom.ciphers: it has "+
		"neither ECDHE-RSA-AES128-GCM-SHA256 nor ECDHE-ECDSA-AES128-GCM-SHA256: below TLS 1.3, HTTP/2 requires one of "+
		"them, and the cloud-controller-manager would exit; add one, or set minTLSVersion to VersionTLS13; until then "+
		"both are added [CCM0001]\n", got.stderr)
	require.Contains(t, n.pod().Spec.Containers[0].Args, "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,"+
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
}
