package noderepair

import (
	"context"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// retryInstallation makes library-go's installer controller create the node's installer pod again.
func (c *controller) retryInstallation(ctx context.Context, node damagedNode) error {
	revision := node.status.TargetRevision
	if err := c.deleteInstallers(ctx, node.machine.name, revision); err != nil {
		return err
	}
	c.Recorder.Warningf("InstallationRepeated", "Installing revision %d on node/%s again: %s",
		revision, node.machine.name, node.text)
	return nil
}

// deleteInstallers deletes the node's installer pods of a revision, also one that the cache does not have yet.
func (c *controller) deleteInstallers(ctx context.Context, node string, revision int32) error {
	names := map[string]bool{controlplane.InstallerName(revision, node): true}
	pods, err := c.installers(node, revision)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	for pod := range names {
		err := operatorclient.Delete(ctx, c.Client.Pods(operand.Namespace).Delete, "pod", operand.Namespace, pod,
			metav1.DeleteOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// deletePastFailures deletes the failed installer pods whose revision the node has, and those that a former machine of
// its name ran. library-go's installer controller takes them by their names when the Node registers again: it would
// report the old failure as a new one and begin with a retry.
func (c *controller) deletePastFailures(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	pods, err := controlplane.Installers(c.Pods.Lister())
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodFailed {
			continue
		}
		past, err := c.isPast(pod, status)
		if err != nil {
			return err
		}
		if !past {
			continue
		}
		err = operatorclient.Delete(ctx, c.Client.Pods(pod.Namespace).Delete, "pod", pod.Namespace, pod.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if err != nil {
			return err
		}
	}
	return nil
}

// isPast reports whether the node of an installer pod has its revision or a newer one, or is another Node by now.
func (c *controller) isPast(pod *corev1.Pod, status *operatorv1.StaticPodOperatorStatus) (bool, error) {
	revision, isInstaller := controlplane.InstallerRevision(pod.Name)
	if !isInstaller {
		return false, nil
	}
	if slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return n.NodeName == pod.Spec.NodeName && n.TargetRevision == 0 && n.CurrentRevision >= revision
	}) {
		return true, nil
	}
	node, err := c.node(pod.Spec.NodeName)
	return node != nil && pod.CreationTimestamp.Before(&node.CreationTimestamp), err
}
