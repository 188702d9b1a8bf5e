package operator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

// controlPlaneNode is what the API server has.
func controlPlaneNode() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metaOf("", "master-0")}
	node.UID, node.Labels = "u", map[string]string{operatorclient.MasterLabel: ""}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastTransitionTime: metav1.Unix(100, 0), LastHeartbeatTime: metav1.Unix(100, 0),
	}}
	return node
}

func TestAHandlerIsCalledForAChangeOfANodeOnly(t *testing.T) {
	taint := corev1.Taint{Key: "node.kubernetes.io/out-of-service", Effect: corev1.TaintEffectNoExecute}
	for name, tc := range map[string]struct {
		change func(node *corev1.Node)
		called bool
	}{
		"the kubelet reports again": {change: func(node *corev1.Node) {
			node.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(200, 0)
		}},
		"an image was pulled": {change: func(node *corev1.Node) {
			node.Status.Images = []corev1.ContainerImage{{Names: []string{"new"}}}
		}},
		"a label that nobody reads": {change: func(node *corev1.Node) { node.Labels["zone"] = "1" }},
		"another condition": {change: func(node *corev1.Node) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure})
		}},
		"the kubelet is not Ready": {called: true, change: func(node *corev1.Node) {
			node.Status.Conditions[0].Status = corev1.ConditionFalse
		}},
		"the kubelet is not Ready for another reason": {called: true, change: func(node *corev1.Node) {
			node.Status.Conditions[0].Message = "no network"
		}},
		"the kubelet has been Ready since another time": {called: true, change: func(node *corev1.Node) {
			node.Status.Conditions[0].LastTransitionTime = metav1.Unix(200, 0)
		}},
		"the Node is cordoned":         {called: true, change: func(node *corev1.Node) { node.Spec.Unschedulable = true }},
		"the Node has a taint":         {called: true, change: func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{taint} }},
		"another machine has the name": {called: true, change: func(node *corev1.Node) { node.UID = "v" }},
		"an administrator allows the deletion": {called: true, change: func(node *corev1.Node) {
			node.Annotations = map[string]string{operatorclient.NodeDeletionAnnotation: "Allowed"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			version := func(version string, change func(*corev1.Node)) any {
				node := controlPlaneNode()
				node.ResourceVersion = version
				change(node)
				stripped, err := stripNode(node)
				require.NoError(t, err)
				return stripped
			}
			unchanged := version("1", func(*corev1.Node) {})
			require.Equal(t, tc.called, isChange(unchanged, version("2", tc.change)))
			require.True(t, isChange(unchanged, unchanged), "a resync")
		})
	}
}

// Every controller gets its events from the one informer of the factory, which has each version nevertheless.
func TestTheInformerOfControlPlaneNodesDropsHeartbeats(t *testing.T) {
	server := apitest.Start(t, addToScheme)
	server.Set(t, controlPlaneNode())
	kube, err := kubernetes.NewForConfig(server.Config)
	require.NoError(t, err)
	nodes := newInformerSet(kube, nil).nodes
	informer := nodes.Core().V1().Nodes().Informer()
	seen := make(chan string, 100)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { seen <- "added" },
		UpdateFunc: func(_, obj any) {
			seen <- map[bool]string{true: "cordoned", false: "heartbeat"}[obj.(*corev1.Node).Spec.Unschedulable]
		},
		DeleteFunc: func(any) { seen <- "deleted" },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	nodes.Start(ctx.Done())
	t.Cleanup(func() { cancel(); nodes.Shutdown() })
	require.Equal(t, "added", <-seen)

	node := controlPlaneNode()
	for second := range int64(10) {
		node.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(200+second, 0)
		server.Set(t, node)
	}
	node.Spec.Unschedulable = true
	server.Set(t, node)
	require.Equal(t, "cordoned", <-seen)
	require.Empty(t, seen)
}

// A resync is no heartbeat: a controller looks at the Nodes again though none changes.
func TestTheHandlersOfControlPlaneNodesAreCalledEveryTenMinutes(t *testing.T) {
	kube := fake.NewClientset(controlPlaneNode())
	synctest.Test(t, func(t *testing.T) {
		nodes := newInformerSet(kube, nil).nodes
		called := make(chan string)
		_, err := nodes.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { called <- "added" },
			UpdateFunc: func(any, any) { called <- "updated" },
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		nodes.Start(ctx.Done())
		t.Cleanup(func() { cancel(); nodes.Shutdown() })
		require.Equal(t, "added", <-called)
		for range 2 {
			before := time.Now()
			require.Equal(t, "updated", <-called)
			require.Equal(t, 10*time.Minute, time.Since(before))
		}
	})
}
