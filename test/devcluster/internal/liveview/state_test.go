package liveview

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
)

func reader(objects []runtime.Object, others ...runtime.Object) *Reader {
	kinds := map[schema.GroupVersionResource]string{operatorResource: "CloudControllerManagerList",
		statusResource: "ClusterOperatorList"}
	return &Reader{
		client:  fake.NewClientset(objects...),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, others...),
	}
}

func object(apiVersion, kind, name string, status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "status": status,
	}}
}

func node(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + name, Taints: taints},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

func TestReadFindsRevisionsTaintsConditionsAndWaitingPods(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "installer-3-b"},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "installer",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
				Message: "no such image"}},
		}}},
	}
	done := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "installer-3-a"},
		Status:     corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	r := reader(
		[]runtime.Object{
			node("b", corev1.ConditionFalse, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized",
				Effect: "NoSchedule"}),
			node("a", corev1.ConditionTrue), pod, done,
		},
		object("operator.openshift.io/v1", "CloudControllerManager", "cluster", map[string]any{
			"latestAvailableRevision": int64(3),
			"nodeStatuses": []any{
				map[string]any{"nodeName": "a", "currentRevision": int64(3)},
				map[string]any{"nodeName": "b", "currentRevision": int64(2), "targetRevision": int64(3)},
			},
		}),
		object("config.openshift.io/v1", "ClusterOperator", "cloud-controller-manager", map[string]any{
			"versions": []any{map[string]any{"name": "operator", "version": "4.99.0-dev"}},
			"conditions": []any{
				map[string]any{"type": "Progressing", "status": "True", "reason": "NodeInstaller",
					"message": "1 node is\nat revision 2"},
				map[string]any{"type": "Available", "status": "True", "reason": "AsExpected"},
				map[string]any{"type": "EvaluationConditionsDetected", "status": "Unknown", "reason": "NoData"},
			},
		}),
	)
	state, err := r.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
revision 3, operator 4.99.0-dev
NODE                   READY     REVISION  INITIALIZED    PROVIDER ID
a                      yes       3         yes            openstack:///a
b                      no        2>3       no             openstack:///b
Available              True      AsExpected
Progressing            True      NodeInstaller 1 node is at revision 2
waiting: openshift-cloud-controller-manager/installer-3-b: container installer: ErrImagePull no such image`, "\n"),
		strings.Join(state.Lines(), "\n"))
	require.Equal(t, "revision 3, a at 3, b at 2>3 not ready uninitialized, Available=True, Progressing=True "+
		"(NodeInstaller)", state.Summary())
	require.Equal(t, []string{
		"node b is at revision 2, not 3",
		"node b carries the taint node.cloudprovider.kubernetes.io/uninitialized",
	}, state.Missing(Initialized))
	require.Empty(t, state.Missing(Unmanaged))
}

func TestAnEmptyClusterLacksEverything(t *testing.T) {
	state, err := reader(nil).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"ClusterOperator cloud-controller-manager is not Available: not reported yet",
		"there is no revision",
	}, state.Missing(Initialized))
}

func TestAnUnavailableOperatorIsNamedWithItsReason(t *testing.T) {
	state := State{Conditions: []configv1.ClusterOperatorStatusCondition{{
		Type: configv1.OperatorAvailable, Status: configv1.ConditionFalse, Reason: "NoPods",
		Message: "0 of 3\npods are ready",
	}}}
	require.Equal(t,
		[]string{"ClusterOperator cloud-controller-manager is not Available: NoPods 0 of 3 pods are ready"},
		state.Missing(Unmanaged))
}

func TestWithoutACloudNodesStayUninitialized(t *testing.T) {
	state := State{
		Latest: 2,
		Nodes:  []Node{{Name: "a", Current: 2, Uninitialized: true}},
		Conditions: []configv1.ClusterOperatorStatusCondition{{Type: configv1.OperatorAvailable,
			Status: configv1.ConditionTrue}},
	}
	require.Empty(t, state.Missing(Running))
	require.Equal(t, []string{"node a carries the taint node.cloudprovider.kubernetes.io/uninitialized"},
		state.Missing(Initialized))
}

func TestAMissingImageIsReportedByTheClusterOperator(t *testing.T) {
	state := State{Waiting: []string{"openshift-cloud-controller-manager/cloud-controller-manager-a: container " +
		"cloud-controller-manager: ErrImagePull"}}
	require.Equal(t, []string{
		"no installer pod waits for the image of its static pod",
		"ClusterOperator cloud-controller-manager does not report the image: not reported yet",
	}, state.Missing(ImageMissing))
	state.Waiting = append(state.Waiting, "openshift-cloud-controller-manager/installer-2-a: container "+
		"pull-cloud-controller-manager: ImagePullBackOff")
	state.Conditions = []configv1.ClusterOperatorStatusCondition{{
		Type: configv1.OperatorDegraded, Status: configv1.ConditionTrue,
		Message: "ImagePullDegraded: revision 2 cannot be installed on node/a",
	}}
	require.Empty(t, state.Missing(ImageMissing))
}

func TestWhyWaiting(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	cases := map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"a completed pod does not wait": {
			status: corev1.PodStatus{Phase: corev1.PodSucceeded,
				Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse, "PodCompleted",
					"")}},
		},
		"a ready pod does not wait": {
			status: corev1.PodStatus{Phase: corev1.PodRunning,
				Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "", "")}},
		},
		"an unschedulable pod tells the scheduler's reason": {
			status: corev1.PodStatus{Phase: corev1.PodPending,
				Conditions: []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable",
					"0/3 nodes are available")}},
			want: "not PodScheduled: Unschedulable 0/3 nodes are available",
		},
		"a failed container tells its exit code": {
			status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "installer",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2,
					Message: "no kubeconfig"}},
			}}},
			want: "container installer: exit code 2 no kubeconfig",
		},
		"a pod without conditions tells its phase": {
			status: corev1.PodStatus{Phase: corev1.PodPending},
			want:   "Pending",
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, whyWaiting(&corev1.Pod{Status: test.status}))
		})
	}
}
