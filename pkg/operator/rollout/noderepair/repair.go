package noderepair

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// repairFirst repairs the first node that was repaired fewer than maxRepairs times in repairPeriod. The nodes before it
// are problems, and next is the time until one of them may be repaired.
func (c *controller) repairFirst(ctx context.Context, s *snapshot, nodes []damagedNode) (
	problems []problem, next time.Duration, err error,
) {
	now := c.Clock.Now()
	for _, node := range nodes {
		recent := slices.DeleteFunc(c.repairs[node.machine], func(at time.Time) bool { return now.Sub(at) >= repairPeriod })
		c.repairs[node.machine] = recent
		if len(recent) < maxRepairs {
			repaired, err := c.repairNode(ctx, s, node)
			if err != nil {
				return nil, 0, err
			}
			if repaired {
				c.repairs[node.machine] = append(recent, now)
				c.repaired()
				delete(c.since, node.status.NodeName)
			}
			return problems, next, nil
		}
		left := recent[0].Add(repairPeriod).Sub(now)
		next = patience.Sooner(next, left)
		what, action := "its files were repaired", "find out what changes files below /etc/kubernetes there"
		if node.missing || node.status.TargetRevision != 0 {
			what, action = "its revision was installed", "check that the kubelet and the container runtime there respond, and "+
				"that nothing removes files below /etc/kubernetes"
		}
		problems = append(problems, problem{"RepairedTooOften", fmt.Sprintf(
			"node/%s: %s, and %s %d times within the last hour: %s; the next repair is in %s",
			node.status.NodeName, node.text, what, maxRepairs, action, left.Round(time.Minute))})
	}
	return problems, next, nil
}

// repairNode starts a repair unless a live read shows that another node is being repaired, or that it would disturb a
// rollout. An installation is repeated by deleting its pod, which library-go's installer controller recreates.
func (c *controller) repairNode(ctx context.Context, s *snapshot, node damagedNode) (repaired bool, err error) {
	_, live, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return false, err
	}
	if target := node.status.TargetRevision; target != 0 {
		if err := c.deleteInstallers(ctx, node, target); err != nil {
			return false, err
		}
		c.Recorder.Warningf("InstallationRepeated", "Installing revision %d on node/%s again: %s",
			target, node.status.NodeName, node.text)
		return true, nil
	}
	if s.isRepairing(live) || s.IsInstalling(live) && !node.missing {
		return false, nil
	}
	return true, c.repair(ctx, node, live)
}

// isRepairing reports whether a node is being repaired. One whose kubelet does not work holds up no other node.
func (s *snapshot) isRepairing(status *operatorv1.StaticPodOperatorStatus) bool {
	return slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return controlplane.IsRepair(&n) && controlplane.KubeletOf(s.Node(n.NodeName)) == controlplane.KubeletReady
	})
}

// repair makes the installer controller install the node's revision again, by setting it as the node's target. A
// succeeded installer pod would prove it installed, so that goes first. Only one node may have a target: a rollout at
// another node continues there afterwards.
func (c *controller) repair(
	ctx context.Context, node damagedNode, live *operatorv1.StaticPodOperatorStatus,
) error {
	revision := node.status.CurrentRevision
	if err := c.deleteInstallers(ctx, node, revision); err != nil {
		return err
	}
	status := applyoperatorv1.StaticPodOperatorStatus().WithNodeStatuses(applyoperatorv1.NodeStatus().
		WithNodeName(node.status.NodeName).WithCurrentRevision(revision).WithTargetRevision(revision))
	for _, other := range live.NodeStatuses {
		if other.TargetRevision != 0 && other.NodeName != node.status.NodeName {
			status.WithNodeStatuses(applyoperatorv1.NodeStatus().
				WithNodeName(other.NodeName).WithCurrentRevision(other.CurrentRevision).WithTargetRevision(0))
		}
	}
	manager := factory.ControllerFieldManager(name, "repair")
	if err := c.Operator.ApplyStaticPodOperatorStatus(ctx, manager, status); err != nil {
		return fmt.Errorf("setting the target of node/%s in cloudcontrollermanager/cluster: %w", node.status.NodeName, err)
	}
	c.Recorder.Warningf("NodeFilesRepaired", "Installing revision %d on node/%s again: %s",
		revision, node.status.NodeName, node.text)
	return nil
}

// deleteInstallers deletes the node's installer pods of a revision, even one that the cache does not have yet.
func (c *controller) deleteInstallers(ctx context.Context, node damagedNode, revision int32) error {
	names := []string{controlplane.InstallerName(revision, node.status.NodeName)}
	for _, pod := range node.installers {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	for _, pod := range slices.Compact(names) {
		err := operatorclient.Delete(ctx, c.Kube.CoreV1().Pods(operand.Namespace).Delete, "pod", operand.Namespace, pod,
			metav1.DeleteOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// deletePastFailures deletes the failed installer pods of revisions that their node has, or that ran on a former
// machine of its name. When a Node registers again, library-go's installer controller finds them by name: it would
// report the old failure as a new one and start with a retry.
func (c *controller) deletePastFailures(ctx context.Context, s snapshot) error {
	for _, pod := range s.Installers() {
		if pod.Status.Phase != corev1.PodFailed || !s.isPast(pod) {
			continue
		}
		err := operatorclient.Delete(ctx, c.Kube.CoreV1().Pods(pod.Namespace).Delete, "pod", pod.Namespace, pod.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if err != nil {
			return err
		}
	}
	return nil
}

// isPast reports whether the installer's node has its revision or a newer one, or is another Node by now.
func (s *snapshot) isPast(pod *corev1.Pod) bool {
	revision, isInstaller := controlplane.InstallerRevision(pod.Name)
	has := s.Revisions(pod.Spec.NodeName)
	isInstalled := has.NodeName != "" && has.TargetRevision == 0 && has.CurrentRevision >= revision
	node := s.Node(pod.Spec.NodeName)
	return isInstaller && (isInstalled || node != nil && pod.CreationTimestamp.Before(&node.CreationTimestamp))
}
