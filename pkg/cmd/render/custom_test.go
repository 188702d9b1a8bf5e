package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const (
	resourceFile = "manifests/99_cloud-controller-manager.yaml"
	secretsFile  = "manifests/99_secrets.yaml"
	ownResource  = resourceFile + ": cloudcontrollermanager.operator.openshift.io/cluster"
	stays        = "no pod is written, and nodes stay uninitialized until the cluster's own cloud-controller-manager runs\n"

	externalInfrastructure = `apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata:
  name: cluster
spec:
  cloudConfig:
    name: ""
  platformSpec:
    type: External
    external:
      platformName: acme
status:
  apiServerInternalURI: https://api-int.ostest.example.com:6443
  infrastructureName: ostest-x7k2p
  platform: External
  platformStatus:
    type: External
    external:
      cloudControllerManager:
        state: External
`
	customCCM = `
    image: registry.example.com/acme/ccm:1
    command: [/bin/acme-ccm]
    args: [--cloud-provider=acme, --controllers=*, --key-file=/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/key,
      --token-file=/etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token]
    env: [{name: ACME_REGION, value: north}]
    cloudConfig: {name: acme, key: acme.yaml}
    secrets:
    - name: acme-key
    - name: acme-token
      delivery: Reloaded
    probe: {port: 9999, scheme: HTTP, path: /live}`
	customSecrets = `apiVersion: v1
kind: Secret
metadata: {name: acme-key, namespace: openshift-cloud-controller-manager}
stringData: {key: correct-horse}
---
apiVersion: v1
kind: Secret
metadata: {name: acme-token, namespace: openshift-cloud-controller-manager}
data: {token: YmF0dGVyeQ==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: acme, namespace: openshift-config}
data: {acme.yaml: "zone: north-1\n"}
`
	digitalOcean = `
    platform: DigitalOcean
    image: registry.example.com/do/ccm:1`
	digitalOceanSecret = `apiVersion: v1
kind: Secret
metadata: {name: digitalocean-cloud-credentials, namespace: openshift-cloud-controller-manager}
stringData: {access-token: dop_v1_correct-horse}
`
)

// newExternalNode returns an installation on an External platform with the given spec.custom and additional
// manifests.
func newExternalNode(t *testing.T, custom, more string) node {
	t.Helper()
	n := newNode(t)
	n.write(infraFile, externalInfrastructure)
	n.remove(secretFile)
	n.remove("manifests/cloud-provider-config.yaml")
	// cluster-config-operator's output without a cloud configuration.
	n.write(generatedFile, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-cloud-config, namespace: openshift-config-managed}\n")
	if custom != "" {
		n.write(resourceFile, "apiVersion: operator.openshift.io/v1\nkind: CloudControllerManager\nmetadata:\n  name: cluster\nspec:\n"+
			"  managementState: Managed\n  custom:"+custom+"\n")
	}
	if more != "" {
		n.write(secretsFile, more)
	}
	return n
}

func TestACloudControllerManagerOfOnesOwnRunsOnTheBootstrapNode(t *testing.T) {
	n := newExternalNode(t, customCCM, customSecrets)
	require.Equal(t, result{}, n.run())
	n.requireGolden("external-out")
	require.NotContains(t, n.read(podOutput), "correct-horse")
	require.NotContains(t, n.read(podOutput), "battery")
}

func TestDigitalOceanRunsOnTheBootstrapNode(t *testing.T) {
	n := newExternalNode(t, digitalOcean, digitalOceanSecret)
	require.Equal(t, result{}, n.run())
	n.requireGolden("digitalocean-out")
	require.NotContains(t, n.read(podOutput), "correct-horse")
}

func TestWhereNothingRunsOnTheBootstrapNodeOfAnExternalPlatform(t *testing.T) {
	for name, tc := range map[string]struct {
		custom, more string
		prepare      func(node)
		stderr       string
	}{
		"the administrator runs one": {
			stderr: "render: platform External has a cloud-controller-manager that the administrator runs: no pod is written; to have one, " +
				"add the manifest of cloudcontrollermanager/cluster with spec.custom\n",
		},
		"the nodes wait for none": {
			custom: customCCM, more: customSecrets,
			prepare: func(n node) { n.edit(infraFile, "state: External", "state: None") },
			stderr:  "render: platform External has no cloud-controller-manager: no pod is written\n",
		},
		"the credentials come later": {
			custom: customCCM,
			stderr: "render: spec.custom names secret/acme-key in openshift-cloud-controller-manager and secret/acme-token in " +
				"openshift-cloud-controller-manager, but the manifests do not contain all of them, so the bootstrap node has no credentials: " + stays,
		},
		"those of a built-in one come later": {
			custom: digitalOcean,
			stderr: "render: no secret/digitalocean-cloud-credentials in openshift-cloud-controller-manager is among the manifests, so the bootstrap node " +
				"has no credentials: " + stays,
		},
		"arguments that are all the administrator's": {
			custom: "\n    image: registry.example.com/acme/ccm:1\n    argsPolicy: Replace\n    args: [--leader-elect-resource-namespace=openshift-cloud-controller-manager]",
			stderr: "render: spec.custom.argsPolicy is Replace, so the bootstrap node's cloud-controller-manager cannot be limited to initializing " +
				"nodes: " + stays,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newExternalNode(t, tc.custom, tc.more)
			if tc.prepare != nil {
				tc.prepare(n)
			}
			require.Equal(t, result{stderr: tc.stderr}, n.run())
			require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
		})
	}
}

func TestMistakesInSpecCustomOnTheBootstrapNode(t *testing.T) {
	replace := func(from, to string) func(node) {
		return func(n node) { n.edit(resourceFile, from, to) }
	}
	for name, tc := range map[string]struct {
		prepare func(node)
		flags   []string
		stderr  string
		// code is the exit code. hasPod reports whether there is a pod nevertheless.
		code   int
		hasPod bool
	}{
		"an unknown field": {
			prepare: replace("command:", "hostPaths: [/etc]\n    command:"),
			stderr:  resourceFile + ":9:5: spec.custom.hostPaths: unknown field; correct its name or remove it",
			hasPod:  true,
		},
		"unknown fields outside spec.custom": {
			prepare: replace("spec:", "specs: {}\nspec:\n  external: {}"),
			stderr: resourceFile + ":7:3: spec.external: unknown field; correct its name or remove it\nrender: " +
				resourceFile + ":5:1: specs: unknown field; correct its name or remove it",
			hasPod: true,
		},
		"a variable from elsewhere": {
			prepare: replace("value: north", "valueFrom: {}"),
			stderr: resourceFile +
				":12:31: spec.custom.env[0].valueFrom: unknown field; correct its name or remove it",
			hasPod: true,
		},
		"a value of another type": {
			prepare: replace("port: 9999", "port: high"),
			stderr: resourceFile + ":18:13: spec.custom.probe.port in " +
				"cloudcontrollermanager.operator.openshift.io/cluster is a string, " +
				"but must be a number: correct it",
			code: 1,
		},
		"another image than the flag's": {
			flags: []string{"--manifest-image=registry.example.com/other:1"},
			stderr: "--manifest-image is registry.example.com/other:1, but spec.custom of cloudcontrollermanager/cluster has registry.example.com/acme/ccm:1: " +
				"specify only one, or the same image",
			code: 1,
		},
		"a file that is not delivered": {
			prepare: replace("cloud-credentials/key", "cloud-credentials/kee"),
			stderr: ownResource + ", key spec.custom.args[2]: the file " +
				"/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/kee does not exist; its directory " +
				"has key; correct the path [CCM0015]",
		},
		"a file that only the cluster's nodes have": {
			prepare: replace("--cloud-provider=acme", "--tls-cert-file=/etc/kubernetes/static-pod-certs/secrets/serving-cert/tls.crt"),
			stderr: ownResource + ", key spec.custom.args[0]: the file " +
				"/etc/kubernetes/static-pod-certs/secrets/serving-cert/tls.crt does not exist; correct the path, " +
				"or add the key to a Secret of spec.custom.secrets [CCM0015]",
		},
		"two Secrets with the same key": {
			prepare: func(n node) {
				n.edit(resourceFile, "delivery: Reloaded", "delivery: ReadOnce")
				n.edit(secretsFile, "token: YmF0", "key: YmF0")
			},
			stderr: secretsFile + ": secret/acme-token in openshift-cloud-controller-manager, key key: " + secretsFile + ": secret/acme-key in " +
				"openshift-cloud-controller-manager also has this key with the same delivery; rename the key in one " +
				"of them [CCM0012]",
		},
		"a key that is no file's name": {
			prepare: func(n node) { n.edit(secretsFile, "stringData: {key:", "stringData: {../key:") },
			stderr:  secretsFile + `: secret/acme-key in openshift-cloud-controller-manager, key "../key": `,
		},
		"a cloud configuration that is not there": {
			prepare: replace("name: acme, key: acme.yaml", "name: acne, key: acme.yaml"),
			stderr:  "configmap/acne in openshift-config, key acme.yaml: it does not exist; create it, or correct spec.custom.cloudConfig of cloudcontrollermanager/cluster [CCM0011]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newExternalNode(t, customCCM, customSecrets)
			if tc.prepare != nil {
				tc.prepare(n)
			}
			r := n.run(tc.flags...)
			require.Equal(t, tc.code, r.code, r.stderr)
			want := "render: " + tc.stderr
			switch {
			case tc.code != 0:
				require.Empty(t, n.outputFiles())
			case tc.hasPod:
				require.FileExists(t, n.path(podOutput))
			default:
				require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
				want = strings.TrimSuffix(want+": "+stays, "\n")
			}
			if strings.HasSuffix(tc.stderr, ": ") {
				require.Contains(t, r.stderr, "render: "+tc.stderr)
				return
			}
			require.Equal(t, want+"\n", r.stderr)
		})
	}
}

func TestTheImageMayComeFromTheFlag(t *testing.T) {
	n := newExternalNode(t, strings.Replace(digitalOcean, "\n    image: registry.example.com/do/ccm:1", "", 1), digitalOceanSecret)
	r := n.run()
	require.Equal(t, result{stderr: "render: " + ownResource + ", key spec.custom.image: no release ships a " +
		"cloud-controller-manager for platform digitalocean; name its image here [CCM0014]: " + stays}, r)

	require.Equal(t, result{}, n.run("--manifest-image=registry.example.com/do/ccm:2", "--manifest-image-pull-policy=Always"))
	spec := n.pod().Spec
	require.Equal(t, "registry.example.com/do/ccm:2", spec.Containers[0].Image)
	require.Equal(t, corev1.PullAlways, spec.Containers[0].ImagePullPolicy)
	require.Equal(t, corev1.PullAlways, spec.InitContainers[0].ImagePullPolicy)
}

func TestOptionalCredentialsAreDoneWithout(t *testing.T) {
	n := newExternalNode(t, "", "")
	n.edit(infraFile, "platformSpec:\n    type: External\n    external:\n      platformName: acme\n", "platformSpec:\n    type: AWS\n")
	n.edit(infraFile, "type: External\n    external:\n      cloudControllerManager:\n        state: External\n", "type: AWS\n    aws: {region: eu-central-1}\n")
	require.Equal(t, result{}, n.run("--manifest-image=registry.example.com/aws:1"))
	require.NotContains(t, n.outputFiles(), "out/tls/cloud-controller-manager-secret-cloud-credentials-credentials")
	require.Equal(t, "registry.example.com/aws:1", n.pod().Spec.Containers[0].Image)
}

func TestNoTokensAreIssuedBeforeTheAPIRuns(t *testing.T) {
	n := newExternalNode(t, "", `apiVersion: v1
kind: Secret
metadata: {name: cloud-controller-manager-credentials, namespace: openshift-cloud-controller-manager}
stringData:
  credentials: |
    [default]
    role_arn = arn:aws:iam::123456789012:role/ccm
    web_identity_token_file = /var/run/secrets/openshift/serviceaccount/token
`)
	n.edit(infraFile, "platformSpec:\n    type: External\n    external:\n      platformName: acme\n", "platformSpec:\n    type: AWS\n")
	n.edit(infraFile, "type: External\n    external:\n      cloudControllerManager:\n        state: External\n", "type: AWS\n    aws: {region: eu-central-1}\n")
	require.Equal(t, result{stderr: "render: " + secretsFile + ": secret/cloud-controller-manager-credentials in openshift-cloud-controller-manager requires ServiceAccount " +
		"tokens, which cannot be issued before the API server runs: " + stays}, n.run("--manifest-image=registry.example.com/aws:1"))
	require.Equal(t, []string{configOutput, namespaceOutput}, n.outputFiles())
}
