package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
)

// predecessors are the Deployments of every platform. No cluster has them all; here they prove the right to delete
// each.
var predecessors = []string{
	"aws-cloud-controller-manager", "azure-cloud-controller-manager", "gcp-cloud-controller-manager",
	"ibm-cloud-controller-manager",
	"nutanix-cloud-controller-manager", "openstack-cloud-controller-manager", "powervs-cloud-controller-manager",
	"vsphere-cloud-controller-manager",
}

// TestATakeoverEndsWheneverTheOperatorIsKilled takes over again and again. Each time the operator is killed at a random
// moment, once or, with E2E_LONG, fifty times. The last time the API server is restarted instead. Nothing may be left.
func TestATakeoverEndsWheneverTheOperatorIsKilled(t *testing.T) {
	t.Parallel()
	kills := 1
	if os.Getenv("E2E_LONG") != "" {
		kills = 50
	}
	c := startCluster(t, configv1.OpenStackPlatformType)
	k := c.startKubelet(t)
	k.runsStaticPods.Store(true)
	o := c.startOperator(t)
	c.awaitCondition(t, "TakingOver", operatorv1.ConditionFalse, "")
	c.awaitRevision(t, 1)
	await(t, "the static pod", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err == nil && (len(resource.Status.NodeStatuses) == 0 || resource.Status.NodeStatuses[0].CurrentRevision == 0) {
			err = errors.New("it is not installed")
		}
		return err
	})
	c.standBy(t)
	for cycle := range kills + 1 {
		// A take-over lasts about a second here.
		after := rand.N(1500 * time.Millisecond)
		holder := fmt.Sprintf("%s_%d", onlyNode, cycle)
		c.createPredecessor(t, holder)
		<-time.After(after)
		if cycle == kills {
			c.noRequestDenied(t) // an API server that starts denies requests for a moment
			require.NoError(t, c.StopAPIServer(t.Context()))
			require.NoError(t, c.StartAPIServer(t.Context()))
		} else {
			o.kill(t)
			c.releaseElection(t)
			o = c.startOperator(t)
			o.awaitLog(t, "Starting #1 worker of Takeover controller")
		}
		await(
			t,
			fmt.Sprintf("cycle %d, disturbed after %s: nothing of the predecessor", cycle, after),
			func(ctx context.Context) error {
				return c.leftOfPredecessor(ctx, holder)
			},
		)
	}
}

// standBy acquires the lease, like a static pod on the only node, whenever it has no holder.
func (c *cluster) standBy(t *testing.T) {
	t.Helper()
	leases := c.unthrottled(t).CoordinationV1().Leases(targetNamespace)
	go func() {
		_ = wait.PollUntilContextCancel(t.Context(), 100*time.Millisecond, false, func(ctx context.Context) (bool, error) {
			// Another attempt follows a failed one.
			if lease, err := leases.Get(ctx, ccmName, metav1.GetOptions{}); err == nil &&
				ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
				now := metav1.NowMicro()
				lease.Spec.HolderIdentity = ptr.To(onlyNode + "_ours")
				lease.Spec.AcquireTime, lease.Spec.RenewTime = &now, &now
				_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
			}
			return false, nil
		})
	}()
}

// createPredecessor makes the predecessor lead: its Deployments, whose pods nothing schedules, the lease and the
// namespace's label.
func (c *cluster) createPredecessor(t *testing.T, holder string) {
	t.Helper()
	_, err := c.kube.CoreV1().Namespaces().Patch(t.Context(), targetNamespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"openshift.io/run-level":"0"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.hold(t, holder, time.Now().Add(-time.Hour))
	for _, name := range predecessors {
		labels := map[string]string{"k8s-app": name, "infrastructure.openshift.io/cloud-controller-manager": "Platform"}
		_, err = c.kube.AppsV1().Deployments(targetNamespace).Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: ptr.To(false),
					Containers: []corev1.Container{
						{Name: ccmName, Image: "localhost/old", Command: []string{"/bin/" + name, "--secure-port=0"}},
					},
				},
			}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// leftOfPredecessor returns what is left, nil if nothing is.
func (c *cluster) leftOfPredecessor(ctx context.Context, holder string) error {
	theirs := metav1.ListOptions{LabelSelector: "infrastructure.openshift.io/cloud-controller-manager"}
	deployments, err := c.kube.AppsV1().Deployments(targetNamespace).List(ctx, theirs)
	if err != nil {
		return err
	}
	if len(deployments.Items) > 0 {
		return fmt.Errorf("%d Deployments", len(deployments.Items))
	}
	pods, err := c.kube.CoreV1().Pods(targetNamespace).List(ctx, theirs)
	if err != nil {
		return err
	}
	if len(pods.Items) > 0 {
		return fmt.Errorf("%d pods", len(pods.Items))
	}
	lease, err := c.kube.CoordinationV1().Leases(targetNamespace).Get(ctx, ccmName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") == holder {
		return fmt.Errorf("%s holds the lease", holder)
	}
	namespace, err := c.kube.CoreV1().Namespaces().Get(ctx, targetNamespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if namespace.Labels["openshift.io/run-level"] != "" {
		return errors.New("the namespace has the label")
	}
	return c.takeoverEnded(ctx)
}

func (c *cluster) takeoverEnded(ctx context.Context) error {
	resource, err := c.resource(ctx)
	if err != nil {
		return err
	}
	for _, condition := range resource.Status.Conditions {
		if condition.Type == "TakingOver" && condition.Status != operatorv1.ConditionFalse {
			return fmt.Errorf("%s: %s", condition.Reason, condition.Message)
		}
	}
	return nil
}

// A standby waits for its own lease duration, so the predecessor's must be kept while it contends for the lease.
func TestASingleNodeKeepsThePredecessorsTimingsWhileItRuns(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.register(t, onlyNode)
	infrastructure, err := c.config.ConfigV1().Infrastructures().Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	infrastructure.Status.ControlPlaneTopology = configv1.SingleReplicaTopologyMode
	_, err = c.config.ConfigV1().Infrastructures().UpdateStatus(t.Context(), infrastructure, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.createPredecessor(t, onlyNode+"_old")
	c.startOperator(t)
	c.awaitRevision(t, 1)
	require.NotContains(t, c.observedConfig(t), "leader-elect-lease-duration")

	for _, name := range predecessors {
		require.NoError(t, c.kube.AppsV1().Deployments(targetNamespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	await(t, "the timings of a single node", func(context.Context) error {
		if observed := c.observedConfig(t); !strings.Contains(observed, `"leader-elect-lease-duration":["270s"]`) {
			return errors.New(observed)
		}
		return nil
	})
}

func (c *cluster) observedConfig(t *testing.T) string {
	t.Helper()
	resource, err := c.resource(t.Context())
	require.NoError(t, err)
	return string(resource.Spec.ObservedConfig.Raw)
}

func TestNothingIsInstalledWhileKubeControllerManagerRunsTheCloudControllers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startKubelet(t)
	owns := c.createKubeControllerManager(t)
	owns("True")
	c.startOperator(t)
	c.awaitCondition(
		t,
		"TakingOver",
		operatorv1.ConditionTrue,
		"kube-controller-manager runs the cloud controllers: CloudControllerOwner of "+
			"kubecontrollermanager/cluster is True; nothing is installed before its operator sets that condition to False, "+
			"so check "+
			"clusteroperator/kube-controller-manager",
	)
	await(t, "the candidate", func(ctx context.Context) error {
		_, err := c.kube.CoreV1().ConfigMaps(targetNamespace).Get(ctx, "cloud-controller-manager-pod", metav1.GetOptions{})
		return err
	})
	resource, err := c.resource(t.Context())
	require.NoError(t, err)
	require.Zero(t, resource.Status.LatestAvailableRevision)

	owns("False")
	c.awaitRevision(t, 1)
	c.awaitCondition(t, "TakingOver", operatorv1.ConditionFalse, "")
}

// createKubeControllerManager creates the resource of cluster-kube-controller-manager-operator, with a definition that
// accepts any status. It returns a function that writes the condition CloudControllerOwner.
func (c *cluster) createKubeControllerManager(t *testing.T) (owns func(status string)) {
	t.Helper()
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	_, err := c.dynamic.Resource(
		schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	).
		Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{
				"name":        "kubecontrollermanagers.operator.openshift.io",
				"annotations": map[string]any{"api-approved.kubernetes.io": "https://github.com/openshift/api"},
			},
			"spec": map[string]any{
				"group": "operator.openshift.io", "scope": "Cluster",
				"names": map[string]any{
					"kind":     "KubeControllerManager",
					"plural":   "kubecontrollermanagers",
					"singular": "kubecontrollermanager",
				},
				"versions": []any{map[string]any{
					"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": anything},
				}},
			},
		}}, metav1.CreateOptions{})
	require.NoError(t, err)
	client := c.dynamic.Resource(
		schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "kubecontrollermanagers"},
	)
	await(t, "the definition to be served", func(ctx context.Context) error {
		_, err := client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "operator.openshift.io/v1", "kind": "KubeControllerManager",
			"metadata": map[string]any{"name": "cluster"},
		}}, metav1.CreateOptions{})
		return err
	})
	return func(status string) {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"CloudControllerOwner","status":%q}]}}`, status)
		_, err := client.Patch(t.Context(), "cluster", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
}
