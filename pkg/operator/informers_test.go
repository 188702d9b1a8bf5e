package operator

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

func TestOfANodeOnlyWhatIsReadIsKept(t *testing.T) {
	const allowed = "cloudcontrollermanager.operator.openshift.io/node-deletion"
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		Message: "no network"}
	outOfService := corev1.Taint{Key: "node.kubernetes.io/out-of-service"}
	reported := ready
	reported.LastHeartbeatTime = metav1.Unix(9, 0)
	stripped, err := stripNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "master-0", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(7, 0),
			Labels:        map[string]string{"node-role.kubernetes.io/master": "", "any": "thing"},
			Annotations:   map[string]string{allowed: "Allowed", "big": "thing"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.NodeSpec{ProviderID: "openstack:///1", Unschedulable: true, Taints: []corev1.Taint{outOfService}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Message: "long"}, reported},
			Images:     []corev1.ContainerImage{{Names: []string{"many"}}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "master-0", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(7, 0),
			Labels: map[string]string{"node-role.kubernetes.io/master": ""}, Annotations: map[string]string{allowed: "Allowed"},
		},
		Spec:   corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{outOfService}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
	}, stripped)
}

func TestManagedFieldsAreDropped(t *testing.T) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone"}}},
		Data:       map[string]string{"k": "v"},
	}
	stripped, err := stripManagedFields(object)
	require.NoError(t, err)
	require.Equal(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}},
		stripped)
}

func TestWatchesLastAndListsAreLeftAlone(t *testing.T) {
	list := metav1.ListOptions{}
	named("one")(&list)
	require.Equal(t, metav1.ListOptions{FieldSelector: "metadata.name=one"}, list)

	watch := metav1.ListOptions{TimeoutSeconds: ptr.To[int64](300)}
	labelled("a=b")(&watch)
	require.Equal(t, "a=b", watch.LabelSelector)
	require.GreaterOrEqual(t, *watch.TimeoutSeconds, int64(1800))
	require.Less(t, *watch.TimeoutSeconds, int64(3600))
}

func TestTheClientDoesNotLimitItsRequests(t *testing.T) {
	given := &rest.Config{Host: "https://api-int", QPS: 5}
	require.Equal(t, &rest.Config{Host: "https://api-int", QPS: -1}, unthrottled(given))
	require.InDelta(t, 5, given.QPS, 0, "the caller's is not changed")
}

func TestThePodsOfTheOperandQuoteNoSecret(t *testing.T) {
	target := newInformerSet(fake.NewClientset(), nil).target.Core().V1()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: "a"}}
	pod.Status.Message = "login with hunter2-hunter2 failed"
	require.NoError(t, target.Pods().Informer().GetStore().Add(pod))
	found, err := target.Pods().Lister().Pods(operand.Namespace).Get("a")
	require.NoError(t, err)
	require.Empty(t, found.Status.Message, "the Secrets are not known yet")
}
