package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// predecessors are the Deployments of every platform. No cluster has them all; here they prove the right to delete each.
var predecessors = []string{
	"aws-cloud-controller-manager", "azure-cloud-controller-manager", "gcp-cloud-controller-manager", "ibm-cloud-controller-manager",
	"nutanix-cloud-controller-manager", "openstack-cloud-controller-manager", "powervs-cloud-controller-manager", "vsphere-cloud-controller-manager",
}

// TestATakeoverEndsWheneverTheOperatorIsKilled takes over again and again. Each time the operator is killed at a random
// moment, once or, with E2E_LONG, fifty times. The last time the API server is restarted instead. Nothing may be left.
func TestATakeoverEndsWheneverTheOperatorIsKilled(t *testing.T) {
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
		await(t, fmt.Sprintf("cycle %d, disturbed after %s: nothing of the predecessor", cycle, after), func(ctx context.Context) error {
			return c.leftOfPredecessor(ctx, holder)
		})
	}
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
					Containers:                   []corev1.Container{{Name: ccmName, Image: "localhost/old", Command: []string{"/bin/" + name, "--secure-port=0"}}},
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
