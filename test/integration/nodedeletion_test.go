package integration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

const (
	nodeDeletion = "cloudcontrollermanager.operator.openshift.io/node-deletion"
	operandUser  = "system:serviceaccount:" + targetNamespace + ":" + ccmName
)

// The operator, the payload's policies and the API server are real. The test acts as the cloud-controller-manager,
// under its identity, and as the kubelets, of which one falls silent.
func TestADeletionOfANodeHasToBeConfirmed(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	ccm := c.as(t, operandUser)
	c.startOperator(t)
	living := []string{"worker-0", "worker-1", "worker-2"}
	asked := append(slices.Clone(living), "worker-3")
	for _, name := range asked {
		c.createInitialized(t, name)
	}
	for _, name := range living {
		c.live(t, name)
	}
	c.hold(t, "master-0_1", time.Now())
	c.awaitCondition(t, "NodeDeletionDegraded", operatorv1.ConditionFalse, "")
	refused := func(t *testing.T, name, message string) {
		t.Helper()
		err := ccm.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, message)
	}
	await(t, "the policy and the right to delete", func(ctx context.Context) error {
		err := ccm.CoreV1().Nodes().Delete(ctx, living[0], metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !apierrors.IsForbidden(err) {
			return fmt.Errorf("the deletion of a Node is not refused: %w", err)
		}
		if message := err.Error(); !strings.Contains(message, "the kubelet of this node reports its state") {
			return errors.New(message)
		}
		return nil
	})

	t.Run("a lie: the cloud does not know living nodes either", func(t *testing.T) {
		c.setReady(t, "worker-3", corev1.ConditionUnknown)
		refused(t, "worker-3", "the operator has not confirmed that the machine of this node is gone")
		c.announce(t, "worker-3")
		c.awaitQuestion(t, asked)
		c.awaitCondition(t, "NodeDeletionDegraded", operatorv1.ConditionTrue,
			"the cloud-controller-manager wants to delete node/worker-3, "+
				"because the cloud does not know the machine, but it did not find the machine of the living node "+
				"worker-0, worker-1, worker-2 "+
				"either within 30s: check that the credentials and the cloud configuration are those of this cluster's "+
				"project and region")
		c.awaitNoTaints(t)
		refused(t, "worker-3", "the operator has not confirmed")
	})
	t.Run("the truth: the cloud knows the others", func(t *testing.T) {
		c.awaitQuestion(t, asked)
		for _, name := range living {
			removeTaint(t, ccm, name)
		}
		await(t, "the confirmation", func(ctx context.Context) error {
			node, err := c.kube.CoreV1().Nodes().Get(ctx, "worker-3", metav1.GetOptions{})
			if err == nil && node.Annotations[nodeDeletion] != "Confirmed" {
				return fmt.Errorf("the annotations are %v", node.Annotations)
			}
			return err
		})
		c.awaitCondition(t, "NodeDeletionDegraded", operatorv1.ConditionFalse, "")
		require.NoError(t, ccm.CoreV1().Nodes().Delete(t.Context(), "worker-3", metav1.DeleteOptions{}))
	})
	t.Run("an administrator's word", func(t *testing.T) {
		refused(t, "worker-2", "the kubelet of this node reports its state")
		_, err := c.kube.CoreV1().Nodes().Patch(t.Context(), "worker-2", types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"Allowed"}}}`, nodeDeletion), metav1.PatchOptions{})
		require.NoError(t, err)
		require.NoError(t, ccm.CoreV1().Nodes().Delete(t.Context(), "worker-2", metav1.DeleteOptions{}))
	})
	t.Run("the operator may change nothing else on a Node", func(t *testing.T) {
		operator := c.as(t, operatorUser)
		_, err := operator.CoreV1().Nodes().Patch(t.Context(), "worker-0", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"node-role.kubernetes.io/master":""}}}`), metav1.PatchOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, "the operator may not change these fields: metadata.labels")
	})
}

// as returns a client with the identity of a ServiceAccount.
func (c *cluster) as(t *testing.T, user string) kubernetes.Interface {
	t.Helper()
	config := c.RESTConfig()
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{
		UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func (c *cluster) createInitialized(t *testing.T, name string) {
	t.Helper()
	_, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "rack-7"}},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + name},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.setReady(t, name, corev1.ConditionTrue)
}

func (c *cluster) setReady(t *testing.T, name string, ready corev1.ConditionStatus) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := c.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.Conditions = []corev1.NodeCondition{
			{
				Type: corev1.NodeReady, Status: ready, Reason: "Test",
				LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
			},
		}
		_, err = c.kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	}))
}

// announce writes the event that precedes each deletion by a cloud-controller-manager, under its identity.
func (c *cluster) announce(t *testing.T, name string) {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	now := metav1.NewTime(time.Now().Add(time.Second)) // An event has whole seconds.
	_, err = c.as(t, operandUser).CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: name + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID},
		Source:         corev1.EventSource{Component: "cloud-node-lifecycle-controller"}, Type: corev1.EventTypeNormal,
		Reason: "DeletingNode", FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// questioned are the nodes with the taint that the operator asks by.
func (c *cluster) questioned(ctx context.Context) ([]string, error) {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, node := range nodes.Items {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == uninitialized && t.Effect == corev1.TaintEffectPreferNoSchedule
		}) {
			names = append(names, node.Name)
		}
	}
	return names, nil
}

func (c *cluster) awaitQuestion(t *testing.T, want []string) {
	t.Helper()
	await(t, "the question", func(ctx context.Context) error {
		names, err := c.questioned(ctx)
		if err == nil && !slices.Equal(want, names) {
			return fmt.Errorf("it is about %v", names)
		}
		return err
	})
}

func (c *cluster) awaitNoTaints(t *testing.T) {
	t.Helper()
	await(t, "the end of the question", func(ctx context.Context) error {
		names, err := c.questioned(ctx)
		if err == nil && len(names) > 0 {
			return fmt.Errorf("it is still about %v", names)
		}
		return err
	})
}

// removeTaint answers as a cloud-controller-manager that finds the machine: with the update that initializes a Node.
func removeTaint(t *testing.T, ccm kubernetes.Interface, name string) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := ccm.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := maps.Clone(node.Labels)
		require.Equal(t, "rack-7", before[corev1.LabelTopologyZone])
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
		node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelFailureDomainBetaZone] = "nova", "nova"
		node.Labels[corev1.LabelInstanceTypeStable] = "m1.large"
		written, err := ccm.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		if err == nil {
			require.Equal(t, before, written.Labels, "labels of a living node")
			require.Empty(t, written.Spec.Taints)
		}
		return err
	}))
}
