package validate_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/inputs"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/snapshottest"
)

const (
	region = "[Global]\nregion = one\n[LoadBalancer]\nenabled = true\n"

	// canary begins each secret of the cluster.
	canary = "CANARY"
)

// liveCluster is a cluster on OpenStack with three control-plane nodes, of which master-0 leads.
func liveCluster(t *testing.T) *snapshottest.Cluster {
	t.Helper()
	plane := controlplanetest.New("master-0", "master-1", "master-2")
	resource := &ccmv1.CloudControllerManager{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	resource.Spec.ObservedConfig.Raw = []byte(`{"platform":"openstack"}`)
	resource.Status.LatestAvailableRevision = 7
	infrastructure := &configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec: configv1.InfrastructureSpec{
			CloudConfig:  configv1.ConfigMapFileReference{Name: "cloud-provider-config", Key: "config"},
			PlatformSpec: configv1.PlatformSpec{Type: configv1.OpenStackPlatformType},
		},
		Status: configv1.InfrastructureStatus{
			InfrastructureName: "ostest-x7k2p", APIServerInternalURL: "https://api-int.ostest.example.com:6443",
			ControlPlaneTopology: configv1.HighlyAvailableTopologyMode,
			PlatformStatus:       &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType},
		},
	}
	credentials := map[string][]byte{"clouds.yaml": []byte(cloudsWith("first"))}
	now := controlplanetest.At(20)
	accepted, _, err := inputs.Accepted{
		CloudConfig: inputs.AcceptCloudConfig(nil, operand.CloudConfig{
			Source: "configmap/cloud-provider-config in openshift-config", Key: "config", Data: []byte(region),
		}, now),
		Credentials: inputs.AcceptCredentials(nil, operand.Inputs{Credentials: operand.Credentials{
			Source: "secret/openstack-cloud-credentials in openshift-cloud-controller-manager", Data: credentials,
		}}, now),
	}.Secret("openstack")
	require.NoError(t, err)
	c := &snapshottest.Cluster{Now: now, Objects: []any{
		resource, infrastructure, accepted, plane.Lease,
		&configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}},
		&configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}},
		&configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "cloud-provider-config"}, Data: map[string]string{"config": region},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: operand.Namespace, Name: "cloud-controller-manager-pod",
			Annotations: map[string]string{
				operand.AcceptedInputAnnotation: operand.InputDigest(operand.Inputs{CloudConfig: operand.CloudConfig{Data: []byte(region)}}),
			},
		}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "openstack-cloud-credentials"}, Data: credentials},
	}}
	for _, name := range []string{"master-0", "master-1", "master-2"} {
		resource.Status.NodeStatuses = append(resource.Status.NodeStatuses, operatorv1.NodeStatus{NodeName: name, CurrentRevision: 7})
		c.Objects = append(c.Objects, plane.Nodes[name], plane.Pods[name])
	}
	return c
}

func cloudsWith(password string) string {
	return "clouds:\n  openstack:\n    auth:\n      auth_url: https://keystone.example.com\n      username: demo\n      password: " + canary + password +
		"\n      project_name: demo\n      user_domain_name: Default\n      project_domain_name: Default\n"
}

// against runs the command on a cluster and checks that it shows no secret.
func against(t *testing.T, c *snapshottest.Cluster, f workspace, args ...string) result {
	t.Helper()
	c.Kubeconfig(t, filepath.Join(f.dir, "kubeconfig"))
	got := f.command(append([]string{"--against-cluster", "--kubeconfig=kubeconfig"}, args...)...)
	require.NotContains(t, got.stdout+got.stderr, canary)
	return got
}

func config(text string) string {
	return configMap + "  config: |\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
}

const (
	nothing = "nothing changes: no file, and no node\n"
	rolls   = "revision 8 would roll out, node by node: master-1, master-2, master-0 (leads)\n"
	proves  = "revision 8 would roll out, node by node: master-1 (leads next), master-0 (leads), master-2\n"
)

const regionDiff = `    @@ -1,5 +1,5 @@
     [Global]
    -region = one
    +region = two
     use-clouds = true
     clouds-file = /etc/kubernetes/static-pod-resources/secrets/cloud-credentials/clouds.yaml
     cloud = openstack
`

func TestValidateAgainstACluster(t *testing.T) {
	secret := func(password string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: openstack-cloud-credentials\n  namespace: openshift-cloud-controller-manager\n" +
			"stringData:\n  clouds.yaml: |\n    " + strings.ReplaceAll(cloudsWith(password), "\n", "\n    ") + "\n"
	}
	changed := "secret/cloud-config, key cloud.conf is changed\n"
	for name, tc := range map[string]struct {
		file   string
		change func(*snapshottest.Cluster)
		code   int
		want   string
	}{
		"nothing is given": {want: nothing + "0 errors, 0 warnings in the cluster, checked for platform openstack\n"},
		"the same again":   {file: config(region), want: nothing + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n"},
		"another region": {
			file: config(strings.Replace(region, "one", "two", 1)),
			want: changed + regionDiff + proves + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"a typo": {
			file: config(strings.Replace(region, "region", "regoin", 1)), code: 1,
			want: "cloud.yaml:9:5: error: unknown key \"regoin\" in [Global]; did you mean \"region\"? [CCM0003]\n" +
				"CloudConfig is rejected: until then, the version accepted at 2026-11-21T09:00:20Z stays in use; to let a preflight judge it, run: oc " +
				"annotate --overwrite cloudcontrollermanager cluster cloudcontrollermanager.operator.openshift.io/accepted-preflight=92589d342c9f\n" +
				nothing + "1 error, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"the same password": {file: secret("first"), want: nothing + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n"},
		"another password": {
			file: secret("second"),
			want: "secret/cloud-credentials, key clouds.yaml is changed; a secret is not shown\n" + rolls +
				"0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"a password that a preflight has rejected": {
			file: secret("second"), code: 1, change: func(c *snapshottest.Cluster) { c.Objects = append(c.Objects, rejectedSecond(t)) },
			want: "cloud.yaml:1:1: error: a cloud-controller-manager with the changed inputs, on node/master-1 for 0s at " +
				"2026-11-21T09:00:20Z: the cloud rejects it; it is tried again at 2026-11-21T09:01:20Z; to use it nevertheless, run: oc annotate " +
				"--overwrite cloudcontrollermanager cluster cloudcontrollermanager.operator.openshift.io/accepted-preflight=b6b5cbe8d02b " +
				"[CCM0012]\nCredentials is rejected: until then, the version accepted at 2026-11-21T09:00:20Z stays in use\n" + nothing +
				"1 error, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"no right to the Secrets": {
			file: config(strings.Replace(region, "one", "two", 1)), change: func(c *snapshottest.Cluster) { c.Forbidden = []string{"secrets"} },
			want: "no right to list secrets in openshift-cloud-controller-manager: the cluster's credentials are not checked, given ones are not " +
				"compared with them, and the accepted inputs are not known\n" +
				changed + regionDiff + proves + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"cluster-config-operator has derived something else": {
			file: config(strings.Replace(region, "one", "two", 1)), change: func(c *snapshottest.Cluster) {
				c.Objects = append(c.Objects, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config-managed", Name: "kube-cloud-config"},
					Data:       map[string]string{"cloud.conf": region + "monitor-delay = 7s\n"},
				})
			},
			want: "cluster-config-operator changes what it derives from configmap/cloud-provider-config: compared is the text of the file\n" +
				changed + regionDiff + "    @@ -6,6 +6,5 @@\n     \n     [LoadBalancer]\n     enabled = true\n    -monitor-delay = 7s\n" +
				"     max-shared-lb = 1\n     manage-security-groups = true\n" +
				proves + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"a proxy with a password": {
			file: "apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata:\n  name: cluster\nstatus:\n  httpsProxy: https://user:" + canary + "@proxy\n",
			want: "configmap/cloud-controller-manager-pod, key pod.yaml is changed\n    +cloud-controller-manager: HTTPS_PROXY=<not shown>\n" +
				proves + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
		"another log level": {
			file: "apiVersion: operator.openshift.io/v1\nkind: CloudControllerManager\nmetadata:\n  name: cluster\nspec:\n  logLevel: Debug\n",
			want: "configmap/cloud-controller-manager-pod, key pod.yaml is changed\n    -cloud-controller-manager: --v=2\n    +cloud-controller-manager: --v=4\n" +
				proves + "0 errors, 0 warnings in cloud.yaml over the cluster, checked for platform openstack\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, c := workspace{t: t, dir: t.TempDir()}, liveCluster(t)
			if tc.change != nil {
				tc.change(c)
			}
			var args []string
			if tc.file != "" {
				f.write("cloud.yaml", tc.file)
				args = []string{"cloud.yaml"}
			}
			got := against(t, c, f, args...)
			require.Equal(t, result{code: tc.code, stdout: tc.want}, got)
		})
	}
}

func TestAConfigMapOfAnyNameIsLaidOverTheClusters(t *testing.T) {
	f := workspace{t: t, dir: t.TempDir()}
	f.write("new.yaml", strings.Replace(config(strings.Replace(region, "region", "regoin", 1)), "name: cloud-provider-config", "name: proposal", 1))
	got := against(t, liveCluster(t), f, "--cloud-config-file=new.yaml", "--output=json")
	require.Equal(t, 1, got.code, got.stderr)
	var parsed map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &parsed))
	finding, is := parsed["findings"].([]any)[0].(map[string]any)
	require.True(t, is)
	require.Equal(t, "new.yaml", finding["file"])
	require.InDelta(t, 9, finding["line"], 0)
	require.Equal(t, map[string]any{"changes": []any{}}, parsed["effect"])
}

func TestTheEffectIsForProgramsToo(t *testing.T) {
	f := workspace{t: t, dir: t.TempDir()}
	f.write("new.yaml", config(strings.Replace(region, "one", "two", 1)))
	got := against(t, liveCluster(t), f, "new.yaml", "-o", "json")
	var parsed struct {
		Effect struct {
			Changes  []struct{ Object, Key, What string }
			Revision int
			Nodes    []string
			Leader   string
			Prover   string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &parsed))
	require.Equal(t, 8, parsed.Effect.Revision)
	require.Equal(t, []string{"master-1", "master-0", "master-2"}, parsed.Effect.Nodes)
	require.Equal(t, "master-0", parsed.Effect.Leader)
	require.Equal(t, "master-1", parsed.Effect.Prover)
	require.Equal(t, "cloud.conf", parsed.Effect.Changes[0].Key)
}

func TestWhatCannotBeComparedIsOneLineAndExitCode2(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*snapshottest.Cluster)
		args   []string
		want   string
	}{
		"no right to the configuration": {
			change: func(c *snapshottest.Cluster) { c.Forbidden = []string{"proxies"} },
			want:   "validate: reading proxies/cluster: you have no right to read this: bind the roles for support\n",
		},
		"a flag that the cluster determines": {
			args: []string{"--for=takeover"}, want: "validate: --for does not go with --against-cluster: the cluster determines it; omit the flag\n",
		},
		"an unknown format": {args: []string{"--output=xml"}, want: "validate: --output is \"xml\": specify text or json\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, c := workspace{t: t, dir: t.TempDir()}, liveCluster(t)
			if tc.change != nil {
				tc.change(c)
			}
			require.Equal(t, result{code: 2, stderr: tc.want}, against(t, c, f, tc.args...))
		})
	}
}

func TestAPreviewOnlyReads(t *testing.T) {
	c := liveCluster(t)
	require.Equal(t, 0, against(t, c, workspace{t: t, dir: t.TempDir()}).code)
	for _, request := range c.Requests {
		require.True(t, strings.HasPrefix(request, "GET "), request)
	}
	require.LessOrEqual(t, len(c.Requests), 22)
}

// rejectedSecond is the record of a preflight that failed with the password "second".
func rejectedSecond(t *testing.T) *corev1.Secret {
	t.Helper()
	candidate := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: operand.CloudCredentialsSecret}, Data: map[string][]byte{"clouds.yaml": []byte(cloudsWith("second"))},
	}
	inputs := operand.Objects{Secrets: []*corev1.Secret{candidate}}.StartDigests(0)
	record := &trial.Record{Inputs: inputs}
	record.Conclude(&trial.Verdict{
		Result: trial.Failed, Message: "the cloud rejects it", Node: "master-1", Tries: 1,
		Ended: metav1.NewTime(controlplanetest.At(20)),
	})
	secret, err := record.InSecret()
	require.NoError(t, err)
	return secret
}
