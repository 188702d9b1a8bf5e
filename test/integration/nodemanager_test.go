package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// The node manager's ServiceAccount, and its DaemonSet.
const (
	nodeManager  = "cloud-node-manager"
	nodeManagers = "azure-cloud-node-manager"

	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

func TestAzureHasANodeManagerAndFederatedTokens(t *testing.T) {
	t.Parallel()
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
	t.Run("a node manager changes only what the cloud says of its own node", c.testForeignNode)
	t.Run("its tokens end with its ServiceAccount, which is made again", func(t *testing.T) {
		c.revokesWithServiceAccount(t, "cloud-node-manager")
	})
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

func TestAzureTakesOverThePredecessorsNodeManager(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/azure-cloud-node-manager.predecessor.yaml")
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		selector map[string]string
		kept     bool
	}{
		"since 4.11 it is updated in place": {
			selector: map[string]string{"k8s-app": nodeManagers, "infrastructure.openshift.io/cloud-node-manager": "Azure"}, kept: true,
		},
		"one with another selector is created again": {selector: map[string]string{"app": nodeManagers}},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, configv1.AzurePlatformType)
			daemonSets := c.kube.AppsV1().DaemonSets(targetNamespace)
			old := &appsv1.DaemonSet{}
			require.NoError(t, yaml.UnmarshalStrict(data, old))
			old.Spec.Selector.MatchLabels, old.Spec.Template.Labels = tc.selector, tc.selector
			old, err := daemonSets.Create(t.Context(), old, metav1.CreateOptions{})
			require.NoError(t, err)

			c.startOperator(t, "AZURE_IMAGE=localhost/azure:new", "AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new")
			await(t, "the new image", func(ctx context.Context) error {
				daemonSet, err := daemonSets.Get(ctx, nodeManagers, metav1.GetOptions{})
				if err == nil && daemonSet.Spec.Template.Spec.Containers[0].Image != "localhost/azure-node-manager:new" {
					resource, _ := c.resource(ctx)
					return fmt.Errorf("it is %s, conditions:\n%s", daemonSet.Spec.Template.Spec.Containers[0].Image, describe(resource.Status.Conditions))
				}
				return err
			})
			daemonSet, err := daemonSets.Get(t.Context(), nodeManagers, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, tc.kept, daemonSet.UID == old.UID)
			require.Empty(t, daemonSet.Spec.Template.Spec.Containers[0].Ports, "a port of the predecessor's")
			c.awaitCondition(t, "TargetConfigControllerDegraded", operatorv1.ConditionFalse, "")
			c.awaitCondition(t, "NodeManagerDegraded", operatorv1.ConditionFalse, "")
			c.noRequestDenied(t)
		})
	}
}

// nodeManagerClient returns a client with the token of a pod of the node manager on a node.
func (c *cluster) nodeManagerClient(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	pod, err := c.kube.CoreV1().Pods(targetNamespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-node-manager"},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: nodeManager, Containers: []corev1.Container{{Name: nodeManager, Image: "localhost/none"}},
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
	return client
}

// createNode creates an uninitialized node in the state that the kubelet and kube-controller-manager leave it in.
func (c *cluster) createNode(t *testing.T, name string) {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"kubernetes.io/hostname": name, "node-role.kubernetes.io/worker": ""},
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.128.0.0/24", PodCIDRs: []string{"10.128.0.0/24"},
			Taints: []corev1.Taint{
				{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
				{Key: "example.com/dedicated", Effect: corev1.TaintEffectNoExecute, TimeAdded: ptr.To(metav1.Now().Rfc3339Copy())},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Status = corev1.NodeStatus{
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4000m"), corev1.ResourceMemory: resource.MustParse("16384Mi"),
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		Images:    []corev1.ContainerImage{},
		NodeInfo:  corev1.NodeSystemInfo{OperatingSystem: "linux", KubeletVersion: "v1.36.0"},
	}
	for i := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("quay.example.com/%s/%d@sha256:%064d", strings.Repeat("x", 100), i, i)}, SizeBytes: int64(i),
		})
	}
	status := node.Status
	// kube-controller-manager updates the new Node too.
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if node, err = c.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		node.Status = status
		node, err = c.kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	}))
}

// testForeignNode changes nodes like a pod of the node manager on the node "own".
func (c *cluster) testForeignNode(t *testing.T) {
	const label = `{"metadata":{"labels":{"topology.kubernetes.io/zone":"1"}}}`
	c.createNode(t, "own")
	c.createNode(t, "other")
	client := c.nodeManagerClient(t, "own")
	patch := func(ctx context.Context, node, patch string, subresources ...string) error {
		_, err := client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
	await(t, "its own node", func(ctx context.Context) error { return patch(ctx, "own", label) })
	// The API server sees the policy's binding after a short delay.
	await(t, "a rejection", func(ctx context.Context) error {
		if err := patch(ctx, "other", label); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("a patch of another node is admitted"), err)
		}
		return nil
	})
	for _, subresources := range [][]string{nil, {"status"}} {
		require.NoError(t, patch(t.Context(), "own", label, subresources...))
		require.ErrorContains(t, patch(t.Context(), "other", label, subresources...), "a cloud-node-manager may change only the node that it runs on")
	}
	for name, tc := range ownNodePatches() {
		t.Run(name, func(t *testing.T) {
			for _, subresource := range tc.subresources {
				err := patch(t.Context(), "own", tc.patch, strings.Fields(subresource)...)
				if tc.rejected == "" {
					require.NoError(t, err, "%q", subresource)
					continue
				}
				require.True(t, apierrors.IsForbidden(err), "%q: %v", subresource, err)
				require.ErrorContains(t, err, tc.rejected, "%q", subresource)
			}
		})
	}
	t.Run("a node is initialized by one update of the whole object", func(t *testing.T) { initialize(t, client) })
	t.Run("an initialized node's taint and provider ID stay", func(t *testing.T) {
		require.ErrorContains(t, patch(t.Context(), "own", `{"spec":{"taints":[{"key":"`+uninitialized+`","effect":"NoSchedule"}]}}`),
			"a cloud-node-manager may change no taint but remove "+uninitialized)
		require.Error(t, patch(t.Context(), "own", `{"spec":{"providerID":"azure:///y"}}`))
	})
}

// ownNodePatches are patches of a node that do not belong to its initialization by its own node manager. Both
// resources change metadata; each also changes only its own half of the object.
func ownNodePatches() map[string]struct {
	patch        string
	subresources []string
	rejected     string
} {
	const labels, fields = "a cloud-node-manager may not change these labels: ", "a cloud-node-manager may not change these fields: "
	const taints = "a cloud-node-manager may change no taint but remove " + uninitialized
	both, object, status := []string{"", "status"}, []string{""}, []string{"status"}
	return map[string]struct {
		patch        string
		subresources []string
		rejected     string
	}{
		"the labels of the cloud are allowed": {`{"metadata":{"labels":{"node.kubernetes.io/instance-type":"a","beta.kubernetes.io/instance-type":"a",` +
			`"topology.kubernetes.io/region":"b","failure-domain.beta.kubernetes.io/region":"b","topology.kubernetes.io/zone":"b-1",` +
			`"failure-domain.beta.kubernetes.io/zone":"b-1","topology.kubernetes.azure.com/sub-fault-domain":"2",` +
			`"topology.kubernetes.azure.com/interconnect-group":"3"}}}`, both, ""},
		"the addresses are allowed": {
			`{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.4"},{"type":"Hostname","address":"own"},{"$patch":"replace"}]}}`, status, "",
		},
		"a control-plane label is rejected":     {`{"metadata":{"labels":{"node-role.kubernetes.io/master":""}}}`, both, labels + "node-role.kubernetes.io/master"},
		"a label of NodeRestriction's is too":   {`{"metadata":{"labels":{"node-restriction.kubernetes.io/x":""}}}`, both, labels + "node-restriction.kubernetes.io/x"},
		"another value of a label is too":       {`{"metadata":{"labels":{"kubernetes.io/hostname":"x"}}}`, both, labels + "kubernetes.io/hostname"},
		"a label that is removed is too":        {`{"metadata":{"labels":{"node-role.kubernetes.io/worker":null}}}`, both, labels + "node-role.kubernetes.io/worker"},
		"an annotation is too":                  {`{"metadata":{"annotations":{"alpha.kubernetes.io/provided-node-ip":"10.0.0.9"}}}`, both, fields + "metadata.annotations"},
		"a finalizer is too":                    {`{"metadata":{"finalizers":["example.com/x"]}}`, both, fields + "metadata.finalizers"},
		"a new taint is too":                    {`{"spec":{"taints":[{"key":"x","effect":"NoExecute"}]}}`, object, taints},
		"another taint that is removed is too":  {`{"spec":{"taints":null}}`, object, taints},
		"an unschedulable node is too":          {`{"spec":{"unschedulable":true}}`, object, fields + "spec.unschedulable"},
		"a capacity is too":                     {`{"status":{"capacity":{"example.com/gpu":"8"}}}`, status, fields + "status."},
		"a condition is too":                    {`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, status, fields + "status.conditions"},
		"the condition of a cloud's routes too": {`{"status":{"conditions":[{"type":"NetworkUnavailable","status":"True"}]}}`, status, fields + "status.conditions"},
		"an image is too":                       {`{"status":{"images":null}}`, status, fields + "status.images"},
		"the port of the kubelet is too":        {`{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}}}`, status, fields + "status.daemonEndpoints"},
	}
}

// initialize updates a joining node with the whole object, like pkg/nodemanager of cloud-provider-azure.
func initialize(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := client.CoreV1().Nodes().Get(t.Context(), "own", metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Labels["topology.kubernetes.io/zone"] = "b-2"
		node.Spec.ProviderID = "azure:///x"
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == uninitialized })
		_, err = client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		return err
	}))
	node, err := client.CoreV1().Nodes().Get(t.Context(), "own", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "azure:///x", node.Spec.ProviderID)
	require.Equal(t, "b-2", node.Labels["topology.kubernetes.io/zone"])
	require.NotContains(t, node.Labels, "node-role.kubernetes.io/master")
}
