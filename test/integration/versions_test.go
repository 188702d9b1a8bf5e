package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

const (
	onlyNode  = "master-0"
	staticPod = "cloud-controller-manager-" + onlyNode
)

func TestVersionsAreReportedWhenTheNodesAreAtThem(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.AzurePlatformType)
	c.knowFeatureGatesOf(t, "4.99.0", "4.99.1", "4.99.2")
	kubelet := c.startKubelet(t)
	start := func(version, operatorImage string) *operator {
		return c.startOperator(t, "AZURE_IMAGE=localhost/azure:new",
			"AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new",
			"OPERATOR_IMAGE="+operatorImage, "OPERATOR_IMAGE_VERSION="+version, "OPERAND_IMAGE_VERSION="+version)
	}
	first := start("4.99.0", "localhost/operator:one")

	t.Run("no version while no node runs a revision", func(t *testing.T) {
		c.awaitClusterOperator(
			t, configv1.OperatorProgressing, configv1.ConditionTrue, "0 nodes have achieved new revision 1",
		)
		require.Empty(t, c.versions(t))
	})
	t.Run("no version while the DaemonSet rolls out", func(t *testing.T) {
		kubelet.runsStaticPods.Store(true)
		c.awaitNodeRevision(t, 1)
		await(t, "the DaemonSet's pod", func(ctx context.Context) error {
			daemonSet, err := c.kube.AppsV1().DaemonSets(targetNamespace).Get(ctx, nodeManagers, metav1.GetOptions{})
			if err == nil && (daemonSet.Status.UpdatedNumberScheduled != 1 || daemonSet.Status.NumberAvailable != 0) {
				return fmt.Errorf("its status is %+v", daemonSet.Status)
			}
			return err
		})
		c.awaitProgressWithout(t, "new revision 1")
		require.Empty(t, c.versions(t))
	})
	t.Run("all versions once everything runs", func(t *testing.T) {
		kubelet.runsDaemons.Store(true)
		c.awaitVersions(t, "4.99.0", "localhost/operator:one")
	})
	t.Run("an upgrade that changes nothing on the nodes reports without a rollout", func(t *testing.T) {
		before := c.nodeManagerGeneration(t)
		first.terminate(t)
		second := start("4.99.1", "localhost/operator:one")
		c.awaitVersions(t, "4.99.1", "localhost/operator:one")
		require.Equal(t, int32(1), c.awaitRevision(t, 1))
		require.Equal(t, before, c.nodeManagerGeneration(t))
		second.terminate(t)
	})
	t.Run("an upgrade with the same operand image is not reported before the nodes run it", func(t *testing.T) {
		kubelet.runsStaticPods.Store(false)
		start("4.99.2", "localhost/operator:two")
		c.awaitClusterOperator(
			t, configv1.OperatorProgressing, configv1.ConditionTrue, "0 nodes have achieved new revision 2",
		)
		require.Equal(t, allAt("4.99.1", "localhost/operator:one"), c.versions(t))
		kubelet.runsStaticPods.Store(true)
		c.awaitVersions(t, "4.99.2", "localhost/operator:two")
		c.awaitNodeRevision(t, 2)
	})
	c.noRequestDenied(t)
}

func allAt(version, operatorImage string) map[string]string {
	return map[string]string{"operator": version, "operator-image": operatorImage, "cloud-controller-manager": version}
}

// knowFeatureGatesOf gives each version the development cluster's feature gates.
func (c *cluster) knowFeatureGatesOf(t *testing.T, versions ...string) {
	t.Helper()
	gates := c.config.ConfigV1().FeatureGates()
	gate, err := gates.Get(t.Context(), "cluster", metav1.GetOptions{})
	require.NoError(t, err)
	for _, version := range versions {
		details := gate.Status.FeatureGates[0].DeepCopy()
		details.Version = version
		gate.Status.FeatureGates = append(gate.Status.FeatureGates, *details)
	}
	_, err = gates.UpdateStatus(t.Context(), gate, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (c *cluster) versions(t *testing.T) map[string]string {
	t.Helper()
	versions, err := c.getVersions(t.Context())
	require.NoError(t, err)
	return versions
}

func (c *cluster) getVersions(ctx context.Context) (map[string]string, error) {
	operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, version := range operator.Status.Versions {
		versions[version.Name] = version.Version
	}
	return versions, nil
}

func (c *cluster) awaitVersions(t *testing.T, version, operatorImage string) {
	t.Helper()
	await(t, "versions "+version, func(ctx context.Context) error {
		versions, err := c.getVersions(ctx)
		if err == nil && fmt.Sprint(versions) != fmt.Sprint(allAt(version, operatorImage)) {
			return fmt.Errorf("they are %v", versions)
		}
		return err
	})
}

// awaitProgressWithout waits until the ClusterOperator's Progressing no longer has text, whatever its status.
func (c *cluster) awaitProgressWithout(t *testing.T, text string) {
	t.Helper()
	await(t, "progress beyond "+text, func(ctx context.Context) error {
		operator, err := c.config.ConfigV1().ClusterOperators().Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range operator.Status.Conditions {
			if condition.Type == configv1.OperatorProgressing && !strings.Contains(condition.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("it has %+v", operator.Status.Conditions)
	})
}

func (c *cluster) awaitNodeRevision(t *testing.T, revision int32) {
	t.Helper()
	await(t, fmt.Sprintf("revision %d on the node", revision), func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		if nodes := resource.Status.NodeStatuses; len(nodes) != 1 || nodes[0].CurrentRevision != revision {
			return fmt.Errorf("the nodes are %+v", nodes)
		}
		return nil
	})
}

func (c *cluster) nodeManagerGeneration(t *testing.T) int64 {
	t.Helper()
	daemonSet, err := c.kube.AppsV1().DaemonSets(targetNamespace).Get(t.Context(), nodeManagers, metav1.GetOptions{})
	require.NoError(t, err)
	return daemonSet.Generation
}

// kubelet simulates a control-plane node's kubelet.
type kubelet struct {
	*cluster
	// runsStaticPods makes installer pods succeed and updates the static pod to the last installed revision.
	// runsDaemons makes the pods of DaemonSets Ready. removes makes removal pods succeed and ends the static pod.
	runsStaticPods, runsDaemons, removes atomic.Bool
}

func (c *cluster) startKubelet(t *testing.T) *kubelet {
	t.Helper()
	c.register(t, onlyNode)
	k := &kubelet{cluster: c}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait.UntilWithContext(t.Context(), func(ctx context.Context) {
			// Like a real kubelet it retries: a request may time out while the machine is busy.
			if err := k.sync(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(t.Output(), "the kubelet:", err)
			}
		}, 200*time.Millisecond)
	}()
	t.Cleanup(func() { <-ended })
	return k
}

func (k *kubelet) sync(ctx context.Context) error {
	pods, err := k.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.DeletionTimestamp != nil:
			err = k.report(ctx, pod, pod.Status.Phase)
		case pod.Name == staticPod:
			err = k.report(ctx, pod, corev1.PodRunning)
		case isDaemon(pod) && k.runsDaemons.Load():
			err = k.report(ctx, pod, corev1.PodRunning)
		case strings.HasPrefix(pod.Name, "installer-") && k.runsStaticPods.Load() && pod.Status.Phase != corev1.PodSucceeded:
			err = k.install(ctx, pod)
		case strings.HasPrefix(pod.Name, "removal-") && k.removes.Load() && pod.Status.Phase != corev1.PodSucceeded:
			err = k.remove(ctx, pod)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// install makes an installer pod succeed and runs its revision's static pod.
func (k *kubelet) install(ctx context.Context, installer *corev1.Pod) error {
	revision := strings.Split(installer.Name, "-")[1]
	if _, err := strconv.Atoi(revision); err != nil {
		return fmt.Errorf("pod/%s: %w", installer.Name, err)
	}
	pods := k.kube.CoreV1().Pods(targetNamespace)
	running, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: staticPod, Labels: map[string]string{"app": "cloud-controller-manager", "revision": revision},
		},
		Spec: corev1.PodSpec{
			NodeName:                     onlyNode,
			AutomountServiceAccountToken: ptr.To(false),
			Containers:                   []corev1.Container{{Name: "cloud-controller-manager", Image: "localhost/azure:new"}},
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if running, err = pods.Get(ctx, staticPod, metav1.GetOptions{}); err != nil {
				return err
			}
			running.Labels["revision"] = revision
			running, err = pods.Update(ctx, running, metav1.UpdateOptions{})
			return err
		})
	}
	if err != nil {
		return err
	}
	if err := k.report(ctx, running, corev1.PodRunning); err != nil {
		return err
	}
	return k.report(ctx, installer, corev1.PodSucceeded)
}

// remove ends the static pod and makes a removal pod succeed.
func (k *kubelet) remove(ctx context.Context, removal *corev1.Pod) error {
	err := k.kube.CoreV1().Pods(targetNamespace).Delete(
		ctx, staticPod, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
	)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return k.report(ctx, removal, corev1.PodSucceeded)
}

// report makes a pod Ready in the given phase.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	if pod.Status.Phase == phase && isReady(pod) && pod.DeletionTimestamp == nil {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return k.kube.CoreV1().Pods(pod.Namespace).Delete(
			ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
		)
	}
	pod.Status.Phase = phase
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image,
			ContainerID: fmt.Sprintf("containerd://%s-%s", pod.UID, container.Name), Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	_, err := k.kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func isDaemon(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
