package customccm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds/external"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	resource     = "cloudcontrollermanager.operator.openshift.io/cluster"
	rightsNotice = resource + ", key spec.custom: the cloud-controller-manager runs as " +
		"serviceaccount/cloud-controller-manager in openshift-cloud-controller-manager, which has only the " +
		"permissions that all cloud-controller-managers need; bind a role to it if it needs more"
	lease = "the operator detects the leader by lease/cloud-controller-manager in " +
		"openshift-cloud-controller-manager"
	namespaceArg  = "--leader-elect-resource-namespace=openshift-cloud-controller-manager"
	kubeconfigArg = "--kubeconfig=/etc/kubernetes/static-pod-resources/" +
		"configmaps/kubeconfigs/cloud-controller-manager.kubeconfig"
)

// customPlatform is the platform of a custom cloud-controller-manager.
var customPlatform = platform.Platform{Name: "external", Custom: true, Rewrite: external.Rewrite}

// customInputs returns the inputs of a cluster with the given spec.custom in YAML.
func customInputs(
	t *testing.T, phase operand.Phase, custom string, secrets map[string]map[string][]byte,
) operand.Inputs {
	t.Helper()
	spec := &operatorv1.CustomCloudControllerManager{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(custom), spec))
	asJSON, err := yaml.YAMLToJSON([]byte(custom))
	require.NoError(t, err)
	gathered, err := customccm.Gather(spec, operand.IsOwnSecret, func(name string) (string, map[string][]byte, error) {
		return "secret/" + name + " in openshift-cloud-controller-manager", secrets[name], nil
	})
	require.NoError(t, err)
	in := operand.Inputs{
		Phase:    phase,
		Platform: customPlatform,
		Config: fmt.Appendf(nil, `{"platform": "external", "infrastructureName": "demo-x7k2p",
			"apiServerInternalURI": "https://api-int.demo.example.com:6443",
			"proxy": {"HTTPS_PROXY": "http://proxy.example.com:3128", "NO_PROXY": ".svc"},
			"extendedArguments": {"cluster-name": ["demo-x7k2p"]}, "custom": %s}`, asJSON),
		Images:      operand.Images{Operator: "registry/operator:1"},
		Credentials: operand.CustomCredentials(gathered),
		Custom:      gathered,
	}
	if phase.Files == nil {
		in.Identity = &operand.Identity{
			CABundle: []byte("the API server's CA"), FileSyncerToken: []byte("file-syncer-token"),
		}
	}
	return in
}

func renderCustom(
	t *testing.T, phase operand.Phase, custom string, secrets map[string]map[string][]byte,
) *operand.Resources {
	t.Helper()
	resources, err := operand.Render(customInputs(t, phase, custom, secrets))
	require.NoError(t, err)
	return resources
}

func TestSpecCustomChangesThePod(t *testing.T) {
	ours := renderCustom(t, operand.OperatorPhase(), `{image: registry/ccm:1}`, nil).Pod.Spec.Containers[0]
	require.Contains(t, ours.Args, "--cluster-name=demo-x7k2p")
	require.Equal(t, "registry/ccm:1", ours.Image)
	for name, tc := range map[string]struct {
		custom string
		want   func(c *corev1.Container)
	}{
		"only an image": {
			custom: `{image: registry/ccm:1}`,
			want:   func(*corev1.Container) {},
		},
		"the operator's first argument is replaced": {
			custom: `{image: registry/ccm:1, args: [` + strings.Split(ours.Args[0], "=")[0] + `=mine]}`,
			want:   func(c *corev1.Container) { c.Args[0] = strings.Split(c.Args[0], "=")[0] + "=mine" },
		},
		"a switch as the last argument, and a boolean in another spelling": {
			custom: `{image: registry/ccm:1, argsPolicy: Replace, args: [--leader-elect=1, --leader-elect]}`,
			want:   func(c *corev1.Container) { c.Args = []string{"--leader-elect=1", "--leader-elect"} },
		},
		"true in another spelling": {
			custom: `{image: registry/ccm:1, args: [--leader-elect=T]}`,
			want: func(c *corev1.Container) {
				for i := range c.Args {
					c.Args[i] = strings.Replace(c.Args[i], "--leader-elect=true", "--leader-elect=T", 1)
				}
			},
		},
		"a command": {
			custom: `{image: registry/ccm:1, command: [/bin/ccm, run]}`,
			want:   func(c *corev1.Container) { c.Command = []string{"/bin/ccm", "run"} },
		},
		"a command with flags, which the operator's arguments follow": {
			custom: `{image: registry/ccm:1, command: [/bin/ccm, --leader-elect=false, --secure-port=0]}`,
			want: func(c *corev1.Container) {
				c.Command = []string{"/bin/ccm", "--leader-elect=false", "--secure-port=0"}
			},
		},
		"arguments replace the operator's of the same name, others follow in their order": {
			custom: `{image: registry/ccm:1, args: [--z=1, --cluster-name=mine, --a=2, -v=4, more]}`,
			want: func(c *corev1.Container) {
				for i := range c.Args {
					c.Args[i] = strings.Replace(c.Args[i], "--cluster-name=demo-x7k2p", "--cluster-name=mine", 1)
				}
				c.Args = append(c.Args, "--z=1", "--a=2", "-v=4", "more")
			},
		},
		"arguments replace all of the operator's": {
			custom: `{image: registry/ccm:1, argsPolicy: Replace, args: [` + namespaceArg + `, ` + kubeconfigArg + `]}`,
			want: func(c *corev1.Container) {
				c.Args = []string{namespaceArg, kubeconfigArg}
			},
		},
		"an environment, which takes precedence over the cluster's proxy": {
			custom: `{image: registry/ccm:1, env: [{name: REGION, value: one}, {name: NO_PROXY, value: .cloud}]}`,
			want: func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{
					c.Env[0], {Name: "TZ", Value: "UTC"}, {Name: "REGION", Value: "one"}, {Name: "NO_PROXY", Value: ".cloud"},
					{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"},
				}
			},
		},
		"a time zone of its own": {
			custom: `{image: registry/ccm:1, env: [{name: TZ, value: Asia/Tokyo}]}`,
			want: func(c *corev1.Container) {
				at := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "TZ" })
				c.Env[at].Value = "Asia/Tokyo"
			},
		},
		"a probe": {
			custom: `{image: registry/ccm:1, probe: {port: 9999, scheme: HTTP, path: /live}}`,
			want:   probed("HTTP", "/live", 9999),
		},
		"a probe of the operator's port": {
			custom: `{image: registry/ccm:1, probe: {path: /live}}`,
			want:   probed("HTTPS", "/live", 10258),
		},
		"the highest port": {
			custom: `{image: registry/ccm:1, probe: {port: 65535}}`,
			want:   probed("HTTPS", "/healthz", 65535),
		},
		"a server on localhost beside the one that the kubelet probes": {
			custom: `{image: registry/ccm:1, args: [--bind-address=::1], probe: {port: 8080}}`,
			want: func(c *corev1.Container) {
				probed("HTTPS", "/healthz", 8080)(c)
				c.Args = append(c.Args, "--bind-address=::1")
			},
		},
		"only the port of a probe": {
			custom: `{image: registry/ccm:1, args: [--secure-port=10300], probe: {port: 10300}}`,
			want: func(c *corev1.Container) {
				probed("HTTPS", "/healthz", 10300)(c)
				for i := range c.Args {
					c.Args[i] = strings.Replace(c.Args[i], "--secure-port=10258", "--secure-port=10300", 1)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := ours.DeepCopy()
			tc.want(want)
			got := renderCustom(t, operand.OperatorPhase(), tc.custom, nil).Pod.Spec.Containers[0]
			require.Equal(t, *want, got)
		})
	}
}

func probed(scheme corev1.URIScheme, path string, port int32) func(c *corev1.Container) {
	return func(c *corev1.Container) {
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			probe.HTTPGet = &corev1.HTTPGetAction{Scheme: scheme, Path: path, Port: intstr.FromInt32(port)}
		}
	}
}

func TestOnTheBootstrapNodeACustomCCMOnlyInitializesNodes(t *testing.T) {
	pod := renderCustom(t, operand.BootstrapPhase(), `{image: registry/ccm:1,
		command: [/ccm, --controllers=*, --zone=a, --controllers, "*", --leader-elect, start],
		args: [--controllers=*, --leader_elect=true, --authentication-skip-lookup=false, --region=one]}`, nil).Pod
	require.Equal(t, []string{"/ccm", "--zone=a", "start"}, pod.Spec.Containers[0].Command,
		"the values of --controllers in a command would add up with those in the arguments")
	args := pod.Spec.Containers[0].Args
	require.NotContains(t, args, "--leader_elect=true")
	require.Contains(t, args, "--controllers=cloud-node-controller")
	require.Contains(t, args, "--leader-elect=false")
	require.Contains(t, args, "--authentication-skip-lookup=true")
	require.Contains(t, args, "--region=one")
	require.NotContains(t, args, "--controllers=*")
}

func TestSecretsOfSpecCustomAreDelivered(t *testing.T) {
	const custom = `{image: registry/ccm:1,
		secrets: [{name: a}, {name: b, delivery: ReadOnce}, {name: c, delivery: Reloaded}],
		args: [--key=/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/key,
			"--paths=/etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token,/etc/kubernetes/static-pod-certs"]}`
	secrets := map[string]map[string][]byte{
		"a": {"key": []byte("1")}, "b": {"other": []byte("2")}, "c": {"token": []byte("3"), "key": []byte("4")},
	}

	operator := renderCustom(t, operand.OperatorPhase(), custom, secrets)
	credentials := operator.Secrets[1]
	require.Equal(t, "cloud-credentials", credentials.Name)
	require.Equal(t, map[string][]byte{"key": []byte("1"), "other": []byte("2")}, credentials.Data)
	podConfigMap := operator.ConfigMaps[len(operator.ConfigMaps)-1]
	require.Equal(t, "key,token", podConfigMap.Annotations[customccm.ReloadedAnnotation])

	secrets["c"] = map[string][]byte{"token": []byte("new"), "key": []byte("new")}
	require.Equal(t, operator.Digest, renderCustom(t, operand.OperatorPhase(), custom, secrets).Digest,
		"what is reloaded is no part of the candidate")

	bootstrap := renderCustom(t, operand.BootstrapPhase(), custom, secrets)
	files := map[string]string{}
	for _, f := range bootstrap.Files {
		if f.Secret {
			files[f.Name] = string(f.Data)
		}
	}
	require.Equal(t, map[string]string{
		"cloud-controller-manager-secret-cloud-config-cloud.conf": "",
		"cloud-controller-manager-secret-cloud-credentials-key":   "1",
		"cloud-controller-manager-secret-cloud-credentials-other": "2",
		"cloud-controller-manager-secret-cloud-tokens-key":        "new",
		"cloud-controller-manager-secret-cloud-tokens-token":      "new",
	}, files)
	var mounts []string
	for _, mount := range bootstrap.Pod.Spec.Containers[0].VolumeMounts {
		mounts = append(mounts, mount.MountPath)
	}
	require.Subset(t, mounts, []string{
		"/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/key",
		"/etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token",
	})
}

func TestAWarningNamesTheServiceAccountOfACustomCCM(t *testing.T) {
	for _, tc := range []struct {
		phase operand.Phase
		want  []string
	}{
		{operand.OperatorPhase(), []string{rightsNotice}},
		{operand.BootstrapPhase(), nil},
	} {
		var warnings []string
		for _, w := range renderCustom(t, tc.phase, `{image: registry/ccm:1}`, nil).Warnings {
			warnings = append(warnings, w.String())
		}
		require.Equal(t, tc.want, warnings, tc.phase.Name)
	}
}

func TestRejectedSpecCustom(t *testing.T) {
	const at = resource + ", key spec.custom."
	secrets := map[string]map[string][]byte{
		"a": {"key": []byte("1"), "more": []byte("1")}, "same": {"key": []byte("2")}, "empty": {},
		"big": {"big": []byte(strings.Repeat("x", 1<<20))},
	}
	for name, tc := range map[string]struct {
		custom string
		want   []string
	}{
		"no image": {
			custom: `{command: [/ccm]}`,
			want: []string{at + "image: no release ships a cloud-controller-manager for platform external; " +
				"name its image here"},
		},
		"a built-in platform that is not the cluster's": {
			custom: `{platform: AlibabaCloud, image: registry/ccm:1}`,
			want: []string{at + "platform: platform AlibabaCloud is not supported on this cluster; correct it, or " +
				"remove it and set spec.custom.image"},
		},
		"values that the API server rejects": {
			custom: `{image: registry/ccm:1, argsPolicy: Prepend, secrets: [{name: a, delivery: Env}],
				probe: {scheme: TCP, path: healthz, port: 65536}}`,
			want: []string{
				at + `argsPolicy: it is "Prepend"; use Extend or Replace`,
				at + `secrets[a].delivery: it is "Env"; use ReadOnce or Reloaded`,
				at + `probe.scheme: it is "TCP"; use HTTP or HTTPS`,
				at + `probe.path: it is "healthz"; start it with a slash`,
				at + `probe.port: it is 65536; use a port from 1 to 65535`,
			},
		},
		"names that the API server rejects": {
			custom: `{image: registry/ccm:1, env: [{name: ACME-REGION, value: x}],
				secrets: [{name: kube-system/a}, {name: b}, {name: b}]}`,
			want: []string{
				"secret/kube-system/a in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets of " +
					"cloudcontrollermanager/cluster names it; create it, or remove it from the list",
				"secret/b in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets of " +
					"cloudcontrollermanager/cluster names it; create it, or remove it from the list",
				"secret/b in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets of " +
					"cloudcontrollermanager/cluster names it; create it, or remove it from the list",
				at + "env[ACME-REGION]: the name must consist of letters, digits and underscores, and not start with a digit",
				at + "secrets[kube-system/a]: it cannot be the name of a Secret; write a name without namespace",
				at + "secrets[b]: duplicate name; remove one of the entries",
			},
		},
		"a port below the lowest": {
			custom: `{image: registry/ccm:1, probe: {port: -1}}`,
			want:   []string{at + `probe.port: it is -1; use a port from 1 to 65535`},
		},
		"a flag of the operator with a separate value": {
			custom: `{image: registry/ccm:1, args: [--cluster-name, mine]}`,
			want: []string{at + "args[0]: the operator also sets --cluster-name; write flag and value as one " +
				"argument: --cluster-name=value"},
		},
		"no leader election": {
			custom: `{image: registry/ccm:1, args: [--leader-elect=F]}`,
			want: []string{at + "args: --leader-elect is F, but " + lease + "; remove the flag or use " +
				"--leader-elect=true"},
		},
		"no leader election, with underscores": {
			custom: `{image: registry/ccm:1, args: [--leader_elect=false]}`,
			want: []string{at + "args: --leader-elect is false, but " + lease + "; remove the flag or use " +
				"--leader-elect=true"},
		},
		"no leader election in a command to which the operator adds no arguments": {
			custom: `{image: registry/ccm:1, command: [/ccm, --leader-elect=false], argsPolicy: Replace,
				args: [` + namespaceArg + `]}`,
			want: []string{at + "command: --leader-elect is false, but " + lease + "; remove the flag or use " +
				"--leader-elect=true"},
		},
		"another port in such a command": {
			custom: `{image: registry/ccm:1, command: [/ccm, --secure-port=10300], argsPolicy: Replace,
				args: [` + namespaceArg + `]}`,
			want: []string{at + "probe.port: --secure-port is 10300, but the default probe uses port 10258 and " +
				"would restart the cloud-controller-manager repeatedly; set the probe's port"},
		},
		"other leases": {
			custom: `{image: registry/ccm:1, args: [--leader-elect-resource-name=mine,
				--leader-elect-resource-namespace=kube-system]}`,
			want: []string{
				at + "args: --leader-elect-resource-name is mine, but " + lease + "; remove the flag or use " +
					"--leader-elect-resource-name=cloud-controller-manager",
				at + "args: --leader-elect-resource-namespace is kube-system, " +
					"but " + lease + "; remove the flag or use " +
					"--leader-elect-resource-namespace=openshift-cloud-controller-manager",
			},
		},
		"another lease in arguments that replace the operator's": {
			custom: `{image: registry/ccm:1, argsPolicy: Replace,
				args: [--leader-elect-resource-namespace, kube-system]}`,
			want: []string{
				at + "args: --leader-elect-resource-namespace is kube-system, " +
					"but " + lease + "; remove the flag or use " +
					"--leader-elect-resource-namespace=openshift-cloud-controller-manager",
			},
		},
		"a variable of the operator": {
			custom: `{image: registry/ccm:1, env: [{name: SSL_CERT_FILE, value: /mine}]}`,
			want: []string{at + "env[SSL_CERT_FILE]: the operator sets this variable; remove it; to trust a CA, " +
				"add it to the ConfigMap in spec.trustedCA of proxy.config.openshift.io/cluster"},
		},
		"a variable twice": {
			custom: `{image: registry/ccm:1, env: [{name: A, value: "1"}, {name: A, value: "2"}]}`,
			want:   []string{at + "env[A]: duplicate name; remove one of the variables"},
		},
		"another port without a probe": {
			custom: `{image: registry/ccm:1, args: [--secure-port=10300]}`,
			want: []string{at + "probe.port: --secure-port is 10300, but the default probe uses port 10258 and " +
				"would restart the cloud-controller-manager repeatedly; set the probe's port"},
		},
		"a server on localhost, which the kubelet cannot probe": {
			custom: `{image: registry/ccm:1, args: [--bind-address=127.0.0.1], probe: {port: 10258}}`,
			want: []string{at + "args: --bind-address is 127.0.0.1, but the kubelet probes the node's IP and would restart " +
				"the cloud-controller-manager repeatedly; remove the flag"},
		},
		"a lock that Kubernetes has removed": {
			custom: `{image: registry/ccm:1, args: [--leader-elect-resource-lock=configmaps]}`,
			want: []string{at + "args: --leader-elect-resource-lock is configmaps, which Kubernetes has removed, and " +
				lease + "; remove the flag or use --leader-elect-resource-lock=leases"},
		},
		"a file that is not delivered": {
			custom: `{image: registry/ccm:1, secrets: [{name: a}],
				args: ["--keys=x,/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/kee"],
				env: [{name: TOKEN, value: "file:///etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token"}]}`,
			want: []string{
				at + "args[0]: the file /etc/kubernetes/static-pod-resources/secrets/cloud-credentials/kee does not " +
					"exist; its directory has key, more; correct the path",
				at + "env[TOKEN]: the file /etc/kubernetes/static-pod-certs/secrets/cloud-tokens/token does not " +
					"exist; correct the path, or add the " +
					"key to a Secret of spec.custom.secrets",
			},
		},
		"a file that only the file-syncer can read": {
			custom: `{image: registry/ccm:1, args: [--token=/etc/kubernetes/static-pod-resources/secrets/file-syncer-token/token]}`,
			want: []string{at + "args[0]: the file " +
				"/etc/kubernetes/static-pod-resources/secrets/file-syncer-token/token does not exist; " +
				"correct the path, or add the key to a Secret of spec.custom.secrets"},
		},
		"Secrets of the operator": {
			custom: `{image: registry/ccm:1, secrets: [{name: cloud-config},
				{name: cloud-credentials-12, delivery: Reloaded}, {name: kube-token},
				{name: file-syncer-identity}]}`,
			want: []string{
				at + "secrets[cloud-config]: the operator uses this name; put the keys into a Secret with another name",
				at + "secrets[cloud-credentials-12]: the operator uses this name; put the keys into a Secret with " +
					"another name",
				at + "secrets[kube-token]: the operator uses this name; put the keys into a Secret with another name",
				at + "secrets[file-syncer-identity]: the operator uses this name; put the keys into a Secret with " +
					"another name",
			},
		},
		"Secrets that are missing or empty": {
			custom: `{image: registry/ccm:1, secrets: [{name: gone}, {name: empty, delivery: Reloaded}]}`,
			want: []string{
				"secret/gone in openshift-cloud-controller-manager: it does not exist, but spec.custom.secrets " +
					"of cloudcontrollermanager/cluster names it; create it, or remove it from the list",
				"secret/empty in openshift-cloud-controller-manager: it has no keys, so no file is delivered; add a " +
					"key, or remove the Secret from spec.custom.secrets of " +
					"cloudcontrollermanager/cluster",
			},
		},
		"two Secrets with the same key": {
			custom: `{image: registry/ccm:1, secrets: [{name: a}, {name: same}]}`,
			want: []string{"secret/same in openshift-cloud-controller-manager, key key: secret/a in " +
				"openshift-cloud-controller-manager also has this key with the same delivery; rename the key in one " +
				"of them"},
		},
		"more data than fits into one Secret": {
			custom: `{image: registry/ccm:1, secrets: [{name: big, delivery: Reloaded}]}`,
			want: []string{at + "secrets: the Secrets with delivery Reloaded have 1048579 bytes in total; the " +
				"limit is 1032192; remove some keys"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := operand.Render(customInputs(t, operand.OperatorPhase(), tc.custom, secrets))
			var rejected *operand.InputError
			require.ErrorAs(t, err, &rejected)
			var got []string
			for _, p := range rejected.Diagnostics {
				got = append(got, p.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPathsThatAreOnTheNodeAreAccepted(t *testing.T) {
	for _, path := range []string{
		"static-pod-resources/secrets/cloud-credentials", // a directory that is empty
		"static-pod-certs/configmaps/client-ca/ca-bundle.crt", "static-pod-certs/secrets/kube-token/token",
		"static-pod-certs/secrets/serving-cert/tls.key",
	} {
		renderCustom(t, operand.OperatorPhase(), "{image: registry/ccm:1, args: [--path=/etc/kubernetes/"+path+"]}",
			nil)
	}
}

func TestAFileOfTheCloudConfigurationThatIsNotDeliveredIsANotice(t *testing.T) {
	const resources = "/etc/kubernetes/static-pod-resources/"
	in := customInputs(t, operand.OperatorPhase(), `{image: registry/ccm:1, secrets: [{name: a}]}`,
		map[string]map[string][]byte{"a": {"clouds.yaml": nil}})
	in.CloudConfig = operand.CloudConfig{Source: "configmap/acme in openshift-config", Key: "cloud.conf",
		Data: []byte("kubeconfig = " + resources + "configmaps/kubeconfigs/cloud-controller-manager.kubeconfig\n" +
			"clouds-file = \"" + resources + "secrets/cloud-credentials/cloud.yaml\"\nother = /etc/acme\n")}
	rendered, err := operand.Render(in)
	require.NoError(t, err, "a line that the cloud-controller-manager ignores may name it")
	require.Len(t, rendered.Warnings, 2)
	require.Equal(t, "configmap/acme in openshift-config, key cloud.conf: the file "+resources+
		"secrets/cloud-credentials/cloud.yaml does not exist; its directory has clouds.yaml; correct the path",
		rendered.Warnings[0].String())
}

func TestASecretThatFitsIsDelivered(t *testing.T) {
	const maxBytes = 1032192
	secrets := map[string]map[string][]byte{"a": {"key": make([]byte, maxBytes-len("key"))}}
	resources := renderCustom(t, operand.OperatorPhase(), `{image: registry/ccm:1, secrets: [{name: a}]}`, secrets)
	require.Equal(t, secrets["a"], resources.Secrets[1].Data)
}

func TestSpecCustomCannotBeOverridden(t *testing.T) {
	const payload = "platform external runs the cloud-controller-manager of the release payload, which cannot be " +
		"replaced; remove the field"
	for name, tc := range map[string]struct {
		phase operand.Phase
		image string
		want  string
	}{
		"in the cluster": {operand.OperatorPhase(), "", ", key spec.unsupportedConfigOverrides.custom: " +
			"spec.custom cannot be overridden; remove the field and change spec.custom instead"},
		"in the cluster, on a platform of the payload": {operand.OperatorPhase(), "image",
			", key spec.unsupportedConfigOverrides.custom: " + payload},
		"at bootstrap, on a platform of the payload": {operand.BootstrapPhase(), "image", ", key custom: " + payload},
	} {
		t.Run(name, func(t *testing.T) {
			in := customInputs(t, tc.phase, `{image: registry/ccm:1}`, nil)
			in.Platform.Image = tc.image
			in.Overrides = []byte(`{"custom": {"image": "registry/mine:1"}}`)
			_, err := operand.Render(in)
			require.ErrorContains(t, err, resource+tc.want)
		})
	}
}

func TestAPlatformOfThePayloadNeedsNoImageOfSpecCustom(t *testing.T) {
	in := customInputs(t, operand.OperatorPhase(), `{args: [--a=b]}`, nil)
	in.Platform = platform.Platform{Name: "alibabacloud", Image: "image", Rewrite: external.Rewrite}
	in.Images.Operand = "registry/ccm:1"
	in.Config = []byte(strings.Replace(string(in.Config), `"platform": "external"`, `"platform": "alibabacloud"`, 1))
	_, err := operand.Render(in)
	require.EqualError(t, err, resource+", key spec.custom.args: the operator sets this on platform alibabacloud; "+
		"remove the field")
}

func TestABuiltInPlatformNeedsNoField(t *testing.T) {
	in := customInputs(t, operand.OperatorPhase(), `{platform: AlibabaCloud}`, nil)
	in.Platform = platform.Platform{Name: "alibabacloud", Image: "image", Rewrite: external.Rewrite}
	in.Images.Operand = "registry/ccm:1"
	in.Config = []byte(strings.Replace(string(in.Config), `"platform": "external"`, `"platform": "alibabacloud"`, 1))
	_, err := operand.Render(in)
	require.NoError(t, err)
}

func TestPathsAreNotCheckedWithoutTheSecrets(t *testing.T) {
	in := customInputs(t, operand.OperatorPhase(), `{image: registry/ccm:1, secrets: [{name: gone}],
		args: [--key=/etc/kubernetes/static-pod-resources/secrets/cloud-credentials/key]}`, nil)
	in.Custom.Diagnostics = nil
	checked, err := operand.Check(in)
	require.NoError(t, err)
	require.Empty(t, checked.Diagnostics)
}

func TestAPathThatThePodDoesNotMountGetsAWarning(t *testing.T) {
	for arg, want := range map[string]string{
		"--cloud-config=/etc/acme/cloud.yaml":       "/etc/acme/cloud.yaml",
		"--kubeconfig=/etc/kubernetes/kubeconfig":   "/etc/kubernetes/kubeconfig",
		"--cloud-config=":                           "",
		"--cloud-config=cloud.yaml":                 "",
		"--plugins=/usr/libexec/acme":               "",
		"--cloud_config=/etc/kubernetes/cloud.conf": "/etc/kubernetes/cloud.conf",
	} {
		var warnings []string
		for _, w := range renderCustom(t, operand.OperatorPhase(), `{image: registry/ccm:1, args: ["`+arg+`"]}`, nil).Warnings {
			warnings = append(warnings, w.String())
		}
		wanted := []string{rightsNotice}
		if want != "" {
			wanted = []string{resource + ", key spec.custom.args[0]: the pod mounts nothing at " + want + ", unless the image " +
				"has this file; correct the path, or add the key to a Secret of spec.custom.secrets", rightsNotice}
		}
		require.Equal(t, wanted, warnings, arg)
	}
}

func TestAnotherTimeZoneOfTheLogGetsAWarning(t *testing.T) {
	warnings := func(zone string) []diagnostic.Diagnostic {
		return renderCustom(t, operand.OperatorPhase(), `{image: registry/ccm:1, env: [{name: TZ, value: "`+zone+`"}]}`, nil).Warnings
	}
	for _, zone := range []string{"UTC", "Etc/UTC", ""} {
		require.Len(t, warnings(zone), 1, "only that of the ServiceAccount")
	}
	got := warnings("Asia/Tokyo")
	require.Len(t, got, 2)
	require.Equal(t, resource+`, key spec.custom.env[TZ]: the times in the log will be those of "Asia/Tokyo", so the operator `+
		"takes no line of it for genuine, and names no causes; remove the variable", got[0].String())
}

func TestReplacedArgumentsWithoutTheLeaseGetAWarning(t *testing.T) {
	resources := renderCustom(t, operand.OperatorPhase(),
		`{image: registry/ccm:1, argsPolicy: Replace, args: [--leader-election-id=x]}`, nil)
	require.Len(t, resources.Warnings, 2)
	require.Equal(t, resource+", key spec.custom.args: "+
		"--leader-elect-resource-namespace=openshift-cloud-controller-manager is not set, but "+lease+
		"; set it unless the cloud-controller-manager renews this lease by default", resources.Warnings[0].String())
}

func TestABuiltInPlatformAcceptsOnlyAnImage(t *testing.T) {
	in := customInputs(t, operand.OperatorPhase(), `{platform: DigitalOcean, image: registry/ccm:1,
		command: [/a], args: [--a=b], argsPolicy: Extend, env: [{name: A, value: b}],
		secrets: [{name: a}], probe: {port: 1}}`, map[string]map[string][]byte{"a": {"key": nil}})
	in.Platform = platform.Platform{Name: "alibabacloud", Rewrite: external.Rewrite}
	in.Config = []byte(strings.Replace(string(in.Config), `"platform": "external"`, `"platform": "alibabacloud"`, 1))
	_, err := operand.Render(in)
	const at = resource + ", key spec.custom."
	require.EqualError(t, err, strings.Join([]string{
		at + "platform: it is DigitalOcean, but infrastructure.config.openshift.io/cluster has alibabacloud; remove " +
			"the field",
		at + "command: the operator sets this on platform alibabacloud; remove the field",
		at + "args: the operator sets this on platform alibabacloud; remove the field",
		at + "argsPolicy: the operator sets this on platform alibabacloud; remove the field",
		at + "env: the operator sets this on platform alibabacloud; remove the field",
		at + "secrets: the operator sets this on platform alibabacloud; remove the field",
		at + "probe: the operator sets this on platform alibabacloud; remove the field",
	}, "\n"))
}
