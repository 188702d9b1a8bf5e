package noderepair

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
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
	names := map[string]bool{fmt.Sprintf("installer-%d-%s", revision, node): true}
	pods, err := c.installers(node, revision)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	for pod := range names {
		err := c.Client.Pods(operand.Namespace).Delete(ctx, pod, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting pod/%s in %s: %w", pod, operand.Namespace, err)
		}
	}
	return nil
}
