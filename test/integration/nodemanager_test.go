package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The node manager's ServiceAccount, and its DaemonSet.
const (
	nodeManager  = "cloud-node-manager"
	nodeManagers = "azure-cloud-node-manager"
)

func TestAzureHasANodeManagerAndFederatedTokens(t *testing.T) {
	c := startCluster(t, configv1.AzurePlatformType)
	c.startOperator(t, "AZURE_IMAGE=localhost/azure:new", "AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new")
	c.awaitRevision(t, 1)
	daemonSets := c.kube.AppsV1().DaemonSets(targetNamespace)

	t.Run("its node manager is there and without trouble", func(t *testing.T) {
		c.awaitCondition(t, "NodeManagerProgressing", operatorv1.ConditionFalse, "")
		c.awaitCondition(t, "NodeManagerDegraded", operatorv1.ConditionFalse, "")
		daemonSet, err := daemonSets.Get(t.Context(), nodeManagers, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "localhost/azure-node-manager:new", daemonSet.Spec.Template.Spec.Containers[0].Image)
	})
	t.Run("a changed node manager is corrected", func(t *testing.T) {
		daemonSet, err := daemonSets.Get(t.Context(), nodeManagers, metav1.GetOptions{})
		require.NoError(t, err)
		daemonSet.Spec.Template.Spec.NodeSelector = map[string]string{"none": "at-all"}
		_, err = daemonSets.Update(t.Context(), daemonSet, metav1.UpdateOptions{})
		require.NoError(t, err)
		await(t, "the node manager's selector", func(ctx context.Context) error {
			daemonSet, err := daemonSets.Get(ctx, nodeManagers, metav1.GetOptions{})
			if err == nil && daemonSet.Spec.Template.Spec.NodeSelector["kubernetes.io/os"] != "linux" {
				return fmt.Errorf("it is %v", daemonSet.Spec.Template.Spec.NodeSelector)
			}
			return err
		})
	})
	t.Run("a node manager changes no other node", c.testNodesOfOthers)
	t.Run("the lock of the provider is bound in kube-system", func(t *testing.T) {
		await(t, "the binding", func(ctx context.Context) error {
			_, err := c.kube.RbacV1().RoleBindings("kube-system").Get(ctx, "system:openshift:cloud-controller-manager:azure-lock", metav1.GetOptions{})
			return err
		})
	})
	t.Run("a federated identity gets a token before its revision is made", func(t *testing.T) {
		c.editSecret(t, "azure-cloud-credentials", func(s *corev1.Secret) {
			delete(s.Data, "azure_client_secret")
			s.Data["azure_federated_token_file"] = []byte("/var/run/secrets/openshift/serviceaccount/token")
		})
		require.Equal(t, int32(2), c.awaitRevision(t, 2))
		secret, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), "cloud-tokens", metav1.GetOptions{})
		require.NoError(t, err)
		review, err := c.kube.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: string(secret.Data["token"]), Audiences: []string{"openshift"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Empty(t, review.Status.Error)
		require.Equal(t, "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager", review.Status.User.Username)
		require.Equal(t, []string{"openshift"}, review.Status.Audiences)
	})
	c.noRequestDenied(t)
}

// testNodesOfOthers asks as a pod of the node manager would.
func (c *cluster) testNodesOfOthers(t *testing.T) {
	for _, name := range []string{"own", "other"} {
		_, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	pod, err := c.kube.CoreV1().Pods(targetNamespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-node-manager"},
		Spec: corev1.PodSpec{
			NodeName: "own", ServiceAccountName: nodeManager, Containers: []corev1.Container{{Name: nodeManager, Image: "localhost/none"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := c.kube.CoreV1().ServiceAccounts(targetNamespace).CreateToken(t.Context(), nodeManager, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(c.RESTConfig())
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	patch := func(ctx context.Context, node string, subresources ...string) error {
		_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"metadata":{"labels":{"zone":"here"}}}`),
			metav1.PatchOptions{}, subresources...)
		return err
	}
	await(t, "its own node", func(ctx context.Context) error { return patch(ctx, "own") })
	// The API server needs a moment to see the binding of the policy.
	await(t, "a refusal", func(ctx context.Context) error {
		if err := patch(ctx, "other"); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("another node is not refused"), err)
		}
		return nil
	})
	for _, subresources := range [][]string{nil, {"status"}} {
		require.NoError(t, patch(t.Context(), "own", subresources...))
		require.ErrorContains(t, patch(t.Context(), "other", subresources...), "a cloud-node-manager may change only the node that it runs on")
	}
}
