package simulation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/crypto"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// What the administrator and the installer of the cluster write.
const (
	cloudsYAML = `clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.com:5000/v3
      username: ccm
      password: %s
      project_name: cluster
      user_domain_name: Default
      project_domain_name: Default
    region_name: regionOne
    identity_api_version: 3
`
	cloudConf = `[Global]
secret-name = openstack-credentials
secret-namespace = kube-system
region = regionOne

[LoadBalancer]
floating-network-id = %s
`
	credentialsKey = target + "/openstack-cloud-credentials"
)

func networkID(n int) string { return fmt.Sprintf("1d1b7e3e-6c7e-4b80-8d53-%012d", n) }

// secretWord is in each password of the cloud.
const secretWord = "correct-horse"

func password(n int) string { return fmt.Sprintf("%s-%d", secretWord, n) }

// skipped are the kinds of manifests that the API in memory has no types for, and the Deployment, which has a model.
var skipped = []string{
	"CustomResourceDefinition", "PrometheusRule", "ServiceMonitor", "CredentialsRequest", "Deployment",
}

// install creates what the cluster-version-operator and the installer of the cluster create, if it is missing.
func (w *world) install() {
	files, err := filepath.Glob("../../manifests/*.yaml")
	require.NoError(w, err)
	require.NotEmpty(w, files)
	slices.Sort(files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(w, err)
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			o := object{}
			require.NoError(w, yaml.Unmarshal(document, &o))
			kind, _ := o["kind"].(string)
			isOfFormerRelease := annotation(o, "release.openshift.io/delete") == "true"
			if kind == "" || slices.Contains(skipped, kind) || isOfFormerRelease {
				continue
			}
			w.putMissing("cluster-version-operator", apitest.Decode(o))
		}
	}
	for _, o := range w.given() {
		w.putMissing("installer", w.api.Encode(o))
	}
}

func (w *world) putMissing(user string, o object) {
	kind := schema.FromAPIVersionAndKind(fmt.Sprint(o["apiVersion"]), fmt.Sprint(o["kind"]))
	if r, _ := meta.UnsafeGuessKindToResource(kind); w.api.Get(r, apitest.Key(o)) == nil {
		w.api.Put(user, o)
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// given is what the operator finds in an OpenStack cluster.
func (w *world) given() []runtime.Object {
	gates := []configv1.FeatureGateAttributes{{Name: "BuildCSIVolumes"}}
	return []runtime.Object{
		&configv1.Infrastructure{
			ObjectMeta: named("", "cluster"),
			Spec: configv1.InfrastructureSpec{
				CloudConfig:  configv1.ConfigMapFileReference{Name: "cloud-provider-config", Key: "config"},
				PlatformSpec: configv1.PlatformSpec{Type: configv1.OpenStackPlatformType},
			},
			Status: configv1.InfrastructureStatus{
				InfrastructureName: "demo-x7k2p",
				PlatformStatus: &configv1.PlatformStatus{
					Type: configv1.OpenStackPlatformType, OpenStack: &configv1.OpenStackPlatformStatus{CloudName: "openstack"},
				},
				APIServerInternalURL: "https://api-int.demo.example.com:6443", APIServerURL: "https://api.demo.example.com:6443",
				ControlPlaneTopology:   w.plan.topology,
				InfrastructureTopology: configv1.HighlyAvailableTopologyMode,
			},
		},
		&configv1.Network{ObjectMeta: named("", "cluster"), Status: configv1.NetworkStatus{
			ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
			ServiceNetwork: []string{"172.30.0.0/16"}, NetworkType: "OVNKubernetes",
		}},
		&configv1.Proxy{ObjectMeta: named("", "cluster")},
		&configv1.APIServer{ObjectMeta: named("", "cluster")},
		&configv1.FeatureGate{ObjectMeta: named("", "cluster"), Status: configv1.FeatureGateStatus{
			FeatureGates: []configv1.FeatureGateDetails{{Version: version(0), Enabled: gates}, {Version: version(1), Enabled: gates}},
		}},
		&corev1.Namespace{ObjectMeta: named("", "openshift-config")},
		&corev1.Namespace{ObjectMeta: named("", "openshift-config-managed")},
		&corev1.ConfigMap{ObjectMeta: named("openshift-config", "cloud-provider-config"),
			Data: map[string]string{"config": fmt.Sprintf(cloudConf, networkID(0))}},
		&corev1.ConfigMap{ObjectMeta: named("openshift-config-managed", "kube-cloud-config"),
			Data: map[string]string{"cloud.conf": fmt.Sprintf(cloudConf, networkID(0))}},
		&corev1.ConfigMap{ObjectMeta: named("kube-system", "extension-apiserver-authentication"), Data: map[string]string{
			"client-ca-file": authority(), "requestheader-client-ca-file": authority(),
			"requestheader-allowed-names":        `["kube-apiserver-proxy","system:openshift-aggregator"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}},
		&corev1.ConfigMap{ObjectMeta: named(target, "kube-root-ca.crt"), Data: map[string]string{"ca.crt": authority()}},
		&corev1.Secret{ObjectMeta: named(target, "openstack-cloud-credentials"),
			Data: map[string][]byte{"clouds.yaml": fmt.Appendf(nil, cloudsYAML, password(0))}},
	}
}

// authority is a certificate authority in PEM.
var authority = sync.OnceValue(func() string {
	config, err := crypto.MakeSelfSignedCAConfig("authority", 3000*24*time.Hour)
	if err != nil {
		panic(err)
	}
	content, _, err := config.GetPEMBytes()
	if err != nil {
		panic(err)
	}
	return string(content)
})

// configure changes the cloud configuration, which cluster-config-operator copies.
func (w *world) configure(network int) {
	w.note("CHANGE the cloud configuration names network %d", network)
	w.configured = network
	set := func(user, key, name string) {
		w.api.Edit(user, configMaps, key, func(o object) bool {
			o["data"] = map[string]any{name: fmt.Sprintf(cloudConf, networkID(network))}
			return true
		})
	}
	set("administrator", "openshift-config/cloud-provider-config", "config")
	<-time.After(500 * time.Millisecond)
	set("cluster-config-operator", "openshift-config-managed/kube-cloud-config", "cloud.conf")
}

// rotate writes other credentials.
func (w *world) rotate(n int) {
	w.note("CHANGE the credentials are %s", password(n))
	w.trace.Lock()
	w.rotated = time.Now()
	w.trace.Unlock()
	fresh := w.api.Encode(&corev1.Secret{Data: map[string][]byte{"clouds.yaml": fmt.Appendf(nil, cloudsYAML, password(n))}})
	w.api.Edit("administrator", secrets, credentialsKey, func(o object) bool {
		o["data"] = fresh["data"]
		return true
	})
}

// cordon makes a Node unschedulable, or schedulable again.
func (w *world) cordon(name string, is bool) {
	w.note("CHANGE node %s is unschedulable: %v", name, is)
	w.api.Edit("administrator", nodes, "/"+name, func(o object) bool {
		node := apitest.Load[corev1.Node](o)
		node.Spec.Unschedulable = is
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeUnschedulable
		})
		if is {
			node.Spec.Taints = append(node.Spec.Taints,
				corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
		o["spec"] = w.api.Encode(node)["spec"]
		return true
	})
}

// state is what the API says about the operator at one moment.
type state struct {
	conditions map[string]condition
	latest     int64
	nodes      string
	// settled is true when each node has the latest revision.
	settled bool
}

func (w *world) state() state {
	s := state{conditions: conditionsOf(w.api.Get(clusterOperators, clusterOperatorKey))}
	o := w.api.Get(operators, operatorKey)
	status, _ := o["status"].(map[string]any)
	s.latest, _ = status["latestAvailableRevision"].(int64)
	s.nodes = revisionsOf(o)
	list, _ := status["nodeStatuses"].([]any)
	s.settled = len(list) > 0 && s.latest > 0
	for _, item := range list {
		n, _ := item.(map[string]any)
		current, _ := n["currentRevision"].(int64)
		next, _ := n["targetRevision"].(int64)
		s.settled = s.settled && current == s.latest && next == 0
	}
	return s
}

// revisionsOf describes the revisions of the nodes.
func revisionsOf(o object) string {
	status, _ := o["status"].(map[string]any)
	var b strings.Builder
	fmt.Fprintf(&b, "latest %v:", status["latestAvailableRevision"])
	list, _ := status["nodeStatuses"].([]any)
	for _, item := range list {
		n, _ := item.(map[string]any)
		fmt.Fprintf(&b, " %v=%v", n["nodeName"], n["currentRevision"])
		if next := n["targetRevision"]; next != nil && next != int64(0) {
			fmt.Fprintf(&b, "→%v", next)
		}
	}
	return b.String()
}

func (s state) is(name, status string) bool { return s.conditions[name].status == status }

// healthy reports whether everything is done and nothing is wrong.
func (s state) healthy() bool {
	return s.settled && s.is("Available", "True") && s.is("Progressing", "False") && s.is("Degraded", "False")
}

func (w *world) healthy() bool { return w.state().healthy() }
