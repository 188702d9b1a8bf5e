package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configv1alpha1 "github.com/openshift/api/config/v1alpha1"
	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/management"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/versions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// observedAzure is of the platform that needs the most informers.
const observedAzure = `{"platform":"azure","cloudConfig":{"name":"cloud-provider-config","key":"config"},` +
	`"trustedCA":"user-ca-bundle","featureGates":["ConfigurablePKI"],"cluster":{"featureGates":["ConfigurablePKI"]}}`

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func target(name string) metav1.ObjectMeta { return metaOf(operand.Namespace, name) }

var resourceKind = ccmv1.Resource.GroupVersion().WithKind("CloudControllerManager")

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(resourceKind, &unstructured.Unstructured{})
	return nil
}

func operatorResource() *unstructured.Unstructured {
	var observed map[string]any
	_ = json.Unmarshal([]byte(observedAzure), &observed)
	resource := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"managementState": "Managed", "observedConfig": observed,
	}}}
	resource.SetGroupVersionKind(resourceKind)
	resource.SetName("cluster")
	return resource
}

func assemble(t *testing.T, server *apitest.Server) (Options, *controllercmd.ControllerContext) {
	t.Helper()
	return Options{
			Release:       versions.Release{OperatorImage: "operator", OperatorVersion: "1", OperandVersion: "1"},
			OperandImages: map[string]string{"azure-cloud-controller-manager": "ccm"},
		}, &controllercmd.ControllerContext{
			Clock: clock.RealClock{}, KubeConfig: server.Config, ProtoKubeConfig: server.Config,
			EventRecorder: events.NewInMemoryRecorder(
				"test", clock.RealClock{},
			), OperatorNamespace: operatorclient.OperatorNamespace,
		}
}

// enqueued returns how often each controller's queue got a key. library-go names the queue after the controller, and
// Kubernetes counts.
func enqueued(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "workqueue_adds_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "name" && label.GetValue() != "" {
					counts[label.GetValue()] += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return counts
}

// since returns the queues that have got keys since before, sorted.
func since(t *testing.T, before map[string]float64) []string {
	t.Helper()
	var names []string
	for name, count := range enqueued(t) {
		if count > before[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var watchRow = regexp.MustCompile("(?m)^\\| `(/api[^`]*)` \\| (?:`([^`]*)`|all) \\|")

// documented returns the table of watches in docs/architecture.md, each as its path and its selector.
func documented(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	var rows []string
	for _, row := range watchRow.FindAllStringSubmatch(string(content), -1) {
		rows = append(rows, strings.TrimSpace(row[1]+" "+row[2]))
	}
	return rows
}

// eventually is how long a test waits for the controllers: the race detector may run beside it.
const eventually = 10 * time.Minute

func TestTheOperatorWatchesWhatTheDocumentSaysAndRunsEveryController(t *testing.T) {
	server := apitest.Start(t, addToScheme)
	server.Set(t, operatorResource())
	// Without it, config observation removes trustedCA, perhaps before anything reads it.
	server.Set(t, &configv1.Proxy{
		ObjectMeta: metaOf("", "cluster"),
		Spec:       configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: "user-ca-bundle"}},
	})
	before := enqueued(t)
	o, cc := assemble(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Run(ctx, o, cc) }()
	want := documented(t)
	var have []string
	var controllers []string
	for deadline := time.Now().Add(eventually); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if have, controllers = watched(t, server), since(t, before); slices.Equal(have, want) &&
			slices.Equal(controllers, allControllers) {
			break
		}
	}
	served := ownMetrics(t)
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, want, have)
	require.Equal(t, allControllers, controllers)
	require.Contains(t, served, "cloud_controller_manager_operator_info", "the operator's metrics are not registered")
	require.Empty(t, ownMetrics(t), "the metrics end with the operator")
	require.True(t, management.IsOperatorAlwaysManaged(), "library-go's controllers would obey spec.managementState")
	require.True(t, management.IsOperatorNotRemovable(), "library-go's controllers would remove what the operator does not")
	recorded := cc.EventRecorder.(events.InMemoryRecorder).Events()
	require.False(t, slices.ContainsFunc(recorded, func(e *corev1.Event) bool {
		return e.Reason == "ConfigMapCreated" || e.Reason == "SecretCreated"
	}), "these events tell an administrator nothing")
}

// ownMetrics returns the names of the operator's own metrics that the process serves.
func ownMetrics(t *testing.T) []string {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "cloud_controller_manager_operator_") {
			names = append(names, family.GetName())
		}
	}
	return names
}

// watched returns the server's watches like documented.
func watched(t *testing.T, server *apitest.Server) []string {
	t.Helper()
	var rows []string
	for _, r := range server.Requests() {
		if r.Watch {
			rows = append(rows, strings.TrimSpace(r.Path+" "+cmp.Or(r.Labels, r.Fields)))
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// allControllers are the queues of every controller.
var allControllers = []string{
	"AdmissionPolicyController",
	"Availability",
	"ClientCA",
	"ConfigObserver",
	"Installer",
	"LeaderElection",
	"LoadBalancerController",
	"LoggingSyncer",
	"ManagedCloudConfig",
	"MissingStaticPodController",
	"NodeDeletionController",
	"NodeInitializationController",
	"NodeManagerController",
	"NodeRepair",
	"PlatformInformers",
	"Preflight",
	"PruneController",
	"RemovalController",
	"RevisionController",
	"RolloutProgressController",
	"ServingCertificate",
	"StaleConditionsController",
	"StaticPodControllers",
	"StaticResources",
	"StatusSyncer_cloud-controller-manager",
	"Takeover",
	"TargetConfigController",
	"Tokens",
	"TrustedCAExpiryController",
	"Unmanaged",
	"Versions",
	"cloud-controller-manager-InstallerState",
	"cloud-controller-manager-Node",
	"cloud-controller-manager-StaticPodState",
	"cloud-controller-manager-UnsupportedConfigOverrides",
}

func TestEachEventReachesItsControllers(t *testing.T) {
	labelledPod := func(name string, labels map[string]string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: target(name)}
		pod.Labels = labels
		return pod
	}
	managed := map[string]string{"app.kubernetes.io/managed-by": "cloud-controller-manager-operator"}
	binding := &rbacv1.RoleBinding{ObjectMeta: metaOf("kube-system", "b")}
	binding.Labels = managed
	clusterBinding := &rbacv1.ClusterRoleBinding{ObjectMeta: metaOf("", "b")}
	clusterBinding.Labels = managed
	part := map[string]string{"app.kubernetes.io/part-of": "cloud-controller-manager-operator"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metaOf("", "p")}
	policy.Labels = part
	policyBinding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metaOf("", "p")}
	policyBinding.Labels = part
	master := &corev1.Node{ObjectMeta: metaOf("", "master-0")}
	master.Labels = map[string]string{operatorclient.MasterLabel: ""}
	for name, tc := range map[string]struct {
		object runtime.Object
		want   []string
	}{
		"the operator's resource": {
			operatorResource(),
			[]string{
				"AdmissionPolicyController",
				"Availability",
				"ClientCA",
				"ConfigObserver",
				"LeaderElection",
				"LoadBalancerController",
				"LoggingSyncer",
				"ManagedCloudConfig",
				"NodeDeletionController",
				"NodeInitializationController",
				"NodeManagerController",
				"NodeRepair",
				"PlatformInformers",
				"Preflight",
				"RemovalController",
				"ServingCertificate",
				"StaleConditionsController",
				"StaticPodControllers",
				"StaticResources",
				"Takeover",
				"TargetConfigController",
				"Tokens",
				"TrustedCAExpiryController",
				"Unmanaged",
				"Versions",
			},
		},
		"the lease": {
			&coordinationv1.Lease{ObjectMeta: target("cloud-controller-manager")},
			[]string{"Availability", "LeaderElection", "NodeDeletionController", "RemovalController", "Takeover"},
		},
		"a static pod": {
			labelledPod("cloud-controller-manager-master-0", map[string]string{"app": "cloud-controller-manager"}),
			[]string{"Availability", "LeaderElection", "NodeRepair", "Preflight", "RemovalController", "Takeover"},
		},
		"a pod of the predecessor": {
			labelledPod("x", map[string]string{"infrastructure.openshift.io/cloud-controller-manager": "Azure"}),
			[]string{"Availability", "LeaderElection", "NodeRepair", "RemovalController", "Takeover"},
		},
		"a Secret": {
			&corev1.Secret{ObjectMeta: target("kube-token")},
			[]string{"NodeRepair", "RemovalController", "StaticResources", "TargetConfigController", "Tokens"},
		},
		"the candidate of a preflight": {
			&corev1.Secret{ObjectMeta: target("cloud-controller-manager-preflight")},
			[]string{"LeaderElection", "NodeRepair", "Preflight", "RemovalController", "StaticResources", "TargetConfigController", "Tokens"},
		},
		"the lease of a preflight": {
			&coordinationv1.Lease{ObjectMeta: target("cloud-controller-manager-preflight")},
			[]string{"Preflight"},
		},
		"the pod of a preflight": {
			labelledPod("preflight", map[string]string{"app": "cloud-controller-manager-preflight"}),
			[]string{"LeaderElection", "NodeRepair", "Preflight", "RemovalController", "Takeover"},
		},
		"a ConfigMap": {
			&corev1.ConfigMap{ObjectMeta: target("kubeconfigs")},
			[]string{"NodeRepair", "RemovalController", "TargetConfigController", "Versions"},
		},
		"a ServiceAccount": {
			&corev1.ServiceAccount{ObjectMeta: target("cloud-controller-manager")},
			[]string{"RemovalController", "StaticResources", "Tokens"},
		},
		"a Service": {
			&corev1.Service{ObjectMeta: target("cloud-controller-manager")},
			[]string{"StaticResources"},
		},
		"a RoleBinding": {
			&rbacv1.RoleBinding{ObjectMeta: target("b")},
			[]string{"StaticResources"},
		},
		"a RoleBinding in kube-system": {
			binding,
			[]string{"StaticResources"},
		},
		"a ClusterRoleBinding": {
			clusterBinding,
			[]string{"StaticResources"},
		},
		"an admission policy": {
			policy,
			[]string{"AdmissionPolicyController"},
		},
		"a binding of one": {
			policyBinding,
			[]string{"AdmissionPolicyController", "StaticResources"},
		},
		"a Deployment of the predecessor": {
			&appsv1.Deployment{ObjectMeta: target("azure-cloud-controller-manager")},
			[]string{"ConfigObserver", "RemovalController", "Takeover", "Unmanaged", "Versions"},
		},
		"the DaemonSet": {
			&appsv1.DaemonSet{ObjectMeta: target("azure-cloud-node-manager")},
			[]string{"NodeManagerController", "TargetConfigController", "Versions"},
		},
		"the namespace": {
			&corev1.Namespace{ObjectMeta: metaOf("", operand.Namespace)},
			[]string{"Takeover", "TargetConfigController"},
		},
		"a control-plane Node": {
			master,
			[]string{"Availability", "LeaderElection", "NodeRepair", "RemovalController", "Takeover"},
		},
		"Infrastructure": {
			&configv1.Infrastructure{ObjectMeta: metaOf("", "cluster")},
			[]string{"Availability", "ConfigObserver", "LeaderElection"},
		},
		"Network": {
			&configv1.Network{ObjectMeta: metaOf("", "cluster")},
			[]string{"ConfigObserver"},
		},
		"Proxy": {
			&configv1.Proxy{ObjectMeta: metaOf("", "cluster")},
			[]string{"ConfigObserver"},
		},
		"APIServer": {
			&configv1.APIServer{ObjectMeta: metaOf("", "cluster")},
			[]string{"ConfigObserver"},
		},
		"FeatureGate": {
			&configv1.FeatureGate{ObjectMeta: metaOf("", "cluster")},
			[]string{"ConfigObserver"},
		},
		"PKI": {
			&configv1alpha1.PKI{ObjectMeta: metaOf("", "cluster")},
			[]string{"ServingCertificate"},
		},
		"the ClusterOperator": {
			&configv1.ClusterOperator{ObjectMeta: metaOf("", "cloud-controller-manager")},
			nil,
		},
		"the managed configuration": {
			&corev1.ConfigMap{ObjectMeta: metaOf("openshift-config-managed", "kube-cloud-config")},
			[]string{"ManagedCloudConfig", "TargetConfigController", "TrustedCAExpiryController"},
		},
		"the API server's CAs": {
			&corev1.ConfigMap{ObjectMeta: metaOf("kube-system", "extension-apiserver-authentication")},
			[]string{"ClientCA", "ConfigObserver"},
		},
		"the signer": {
			&corev1.Secret{ObjectMeta: metaOf(operatorclient.OperatorNamespace, "cloud-controller-manager-serving-signer")},
			[]string{"ServingCertificate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := apitest.Start(t, addToScheme)
			server.Set(t, tc.object)
			o, cc := assemble(t, server)
			w, err := newWiring(o, cc)
			require.NoError(t, err)
			before := enqueued(t)
			w.controllers()
			w.resource.Start(t.Context().Done())
			w.informers.start(t.Context().Done())
			for _, demand := range w.demands() {
				// Its first list reaches its controller with a delay, whatever the object is.
				if demand.Informers != w.loadBalancers {
					demand.Informers.Start(t.Context().Done())
				}
			}
			want := slices.Clone(tc.want)
			slices.Sort(want)
			var have []string
			for deadline := time.Now().Add(eventually); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
				if have = since(t, before); slices.Equal(have, want) {
					break
				}
			}
			require.Equal(t, want, have)
		})
	}
}
