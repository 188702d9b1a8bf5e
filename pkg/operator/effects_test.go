package operator

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// secretValue is a credential of the cloud, which the CCM quotes.
const secretValue = "correct-horse-battery"

// What the leader logs.
const (
	leads = `I1125 10:00:09.000000       1 leaderelection.go:272] "Successfully acquired lease" lock="ns/ccm"` + "\n"
	fails = "I0101 00:00:04.123456       1 node_controller.go:236] error syncing 'waiting': failed to get instance metadata " +
		"for node waiting: login with " + secretValue + ": got 401 instead: {}, requeuing\n"
	skips = `W1125 10:00:09.200000       1 controllermanager.go:300] Skipping "cloud-node-controller"` + "\n"
)

// world is a control plane in simulated time, and the operator. Its CCMs do nothing, but the leader renews its lease.
type world struct {
	*apitest.Server
	kube  kubernetes.Interface
	stop  context.CancelFunc
	ended chan error
	// holder replaces the process that renews the lease.
	holder atomic.Pointer[string]
}

// startWorld must be called in a bubble.
func startWorld(t *testing.T) *world {
	t.Helper()
	// k8s.io/apimachinery/pkg/util/runtime keeps the time at which the process started, and sleeps until then at the
	// first error.
	<-time.After(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
	server := apitest.Start(t, addToScheme)
	o, cc := assemble(t, server)
	ctx, stop := context.WithCancel(t.Context())
	w := &world{Server: server, kube: kubernetes.NewForConfigOrDie(server.Config), stop: stop, ended: make(chan error, 1)}
	resource := operatorResource()
	resource.Object["spec"].(map[string]any)["observedConfig"] = map[string]any{"platform": "openstack"}
	w.Set(t, resource, &configv1.Infrastructure{
		ObjectMeta: metaOf("", "cluster"),
		Status: configv1.InfrastructureStatus{
			PlatformStatus:       &configv1.PlatformStatus{Type: configv1.OpenStackPlatformType},
			ControlPlaneTopology: configv1.HighlyAvailableTopologyMode,
			APIServerInternalURL: "https://api-int.ostest.example.com:6443",
		},
	}, &corev1.Secret{ObjectMeta: target("cloud-credentials"), Data: map[string][]byte{"password": []byte(secretValue)}})
	c := controlplanetest.New("m0", "m1", "m2")
	for name, pod := range c.Pods {
		master := machine(name, corev1.ConditionTrue)
		master.Labels = map[string]string{operatorclient.MasterLabel: ""}
		pod.Spec.Containers = []corev1.Container{{Name: "cloud-controller-manager", Image: "ccm"}}
		w.Set(t, master, pod)
	}
	go func() {
		for ctx.Err() == nil {
			c.Lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
			if holder := w.holder.Load(); holder != nil {
				c.Lease.Spec.HolderIdentity = holder
			}
			w.Set(t, c.Lease.DeepCopy())
			select {
			case <-time.After(26 * time.Second):
			case <-ctx.Done():
			}
		}
	}()
	go func() { w.ended <- Run(ctx, o, cc) }()
	return w
}

// machine returns the Node of a machine, with what its kubelet says.
func machine(name string, ready corev1.ConditionStatus) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metaOf("", name), Spec: corev1.NodeSpec{ProviderID: "openstack:///" + name}}
	node.CreationTimestamp = metav1.Now()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	return node
}

func (w *world) resource(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	content, err := w.kube.CoreV1().RESTClient().Get().AbsPath(
		"/apis/operator.openshift.io/v1/cloudcontrollermanagers/cluster").DoRaw(t.Context())
	require.NoError(t, err)
	resource := &unstructured.Unstructured{}
	require.NoError(t, resource.UnmarshalJSON(content))
	return resource
}

func (w *world) conditions(t *testing.T) []operatorv1.OperatorCondition {
	t.Helper()
	var resource ccmv1.CloudControllerManager
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(w.resource(t).Object, &resource))
	return resource.Status.Conditions
}

func (w *world) condition(t *testing.T, conditionType string) operatorv1.OperatorCondition {
	t.Helper()
	for _, condition := range w.conditions(t) {
		if condition.Type == conditionType {
			return condition
		}
	}
	return operatorv1.OperatorCondition{}
}

// metric returns the sum of the metric's series.
func metric(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, series := range family.GetMetric() {
			if family.GetName() == "cloud_controller_manager_operator_"+name {
				sum += series.GetGauge().GetValue() + series.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestWhatControllersShareHasItsEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWorld(t)
		defer func() {
			synctest.Wait()
			w.stop()
			require.NoError(t, <-w.ended)
		}()
		waiting := machine("waiting", corev1.ConditionTrue)
		waiting.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: "NoSchedule"}}
		service := &corev1.Service{ObjectMeta: metaOf("shop", "web"), Spec: corev1.ServiceSpec{Type: "LoadBalancer"}}
		service.CreationTimestamp = metav1.Now()
		w.SetLog("cloud-controller-manager-m0", leads+fails)
		w.Set(t, waiting, service, &corev1.Event{
			ObjectMeta:     metaOf("shop", "web.1"),
			InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: "web", UID: "uid-of-web"},
			Type:           "Warning", Reason: "SyncLoadBalancerFailed", Message: "login with " + secretValue,
			Source: corev1.EventSource{Component: "service-controller"}, LastTimestamp: metav1.Now(),
		}, machine("silent", corev1.ConditionUnknown), &corev1.Event{
			ObjectMeta:     metaOf("default", "silent.1"),
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "silent", UID: "uid-of-silent"},
			Source:         corev1.EventSource{Component: "cloud-node-lifecycle-controller"}, Reason: "DeletingNode", LastTimestamp: metav1.Now(),
		})
		<-time.After(3 * time.Minute)

		require.Equal(t, `not initialized by the cloud-controller-manager: node/waiting (since 2100-01-01T00:00:00Z): the `+
			`cloud rejects the credentials ("login with <password>: got 401 instead: {}"); replace the credentials`,
			w.condition(t, "NodeInitializationNotices").Message)
		require.Positive(t, metric(t, "nodes_waiting"))
		require.Contains(t, w.condition(t, "LoadBalancerNotices").Message,
			`without an address since 2100-01-01T00:00:00Z; "SyncLoadBalancerFailed: login with <password>"`)
		require.Contains(t, w.condition(t, "NodeDeletionDegraded").Message,
			"wants to delete node/silent, because the cloud does not know the machine, but it did not find the machine of the "+
				"living node m0, m1, m2 either", "the brake sees workers, and asks about living Nodes")

		w.SetLog("cloud-controller-manager-m0", leads+skips)
		<-time.After(time.Minute)
		require.Contains(t, w.condition(t, "DeafLeaderNotices").Message,
			"the cloud-controller-manager on node/m0 leads and looks at no node, while node/waiting waits")

		replaced := metric(t, "deaf_leaders_replaced_total")
		<-time.After(4 * time.Minute)
		require.InDelta(t, 1, metric(t, "deaf_leaders_replaced_total")-replaced, 0)
	})
}
