package availability

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
)

// helperApps are the apps of the pods of this operator that run beside the operand and never take its lease.
var helperApps = []string{"installer", "pruner"}

// releaseLease frees the lease of a process that is proven to have ended. Otherwise nobody leads until the lease
// expires, 137 seconds after its last renewal: the CCMs do not release it when they end.
//
// No two processes lead because of that:
//   - The holder is a container of ours: its identity, which is unique to a process, was seen while it led, and no
//     other pod on its node could be the holder. So the predecessor's lease is never freed.
//   - The process has ended: its container has terminated, or the next one runs. The kubelet runs one container of a
//     static pod at a time. A process that is frozen, or on a node that does not report, may live: its container counts
//     as running.
//   - The update fails if the lease has changed since it was read, so a later renewal or acquisition stays.
func (c *controller) releaseLease(ctx context.Context, s snapshot) error {
	leader := leadershipOf(s.lease, s.pods, nil, s.now)
	switch leader.tenure {
	case starting, leading:
		if c.couldOnlyBeOurs(leader.node) {
			c.witnessed = leader.identity
		}
		return nil
	case ended:
	default:
		return nil
	}
	if leader.identity != c.witnessed || !slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == leader.node && hasEnded(s.lease, containerStatus(pod, operand.Name))
	}) {
		return nil
	}
	lease := s.lease.DeepCopy()
	// client-go's leader election lets the first that asks acquire a lease without a holder, whatever its times are.
	lease.Spec.HolderIdentity = ptr.To("")
	_, err := c.leaseClient.Leases(operand.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another sync follows
	}
	if err != nil {
		return fmt.Errorf("releasing lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	c.recorder.Eventf("LeaseReleased", "Released lease/%s in %s: its holder %s on node/%s has ended",
		operand.Lease, operand.Namespace, leader.identity, leader.node)
	return nil
}

// couldOnlyBeOurs reports whether no pod but the operand's on this node could hold the lease. The identity has the host
// name, so a pod on another node with the same short name could.
func (c *controller) couldOnlyBeOurs(node string) bool {
	pods, err := c.pods.Pods(operand.Namespace).List(labels.Everything())
	return err == nil && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		isOurs := operandPods.Matches(labels.Set(pod.Labels)) || slices.Contains(helperApps, pod.Labels["app"])
		return (!isOurs || pod.Spec.NodeName != node) && leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node)
	})
}

// hasEnded reports whether the container that acquired the lease has ended.
func hasEnded(lease *coordinationv1.Lease, container corev1.ContainerStatus) bool {
	acquired := lease.Spec.AcquireTime.Time
	if running := container.State.Running; running != nil {
		// The API truncates the start, so it was not earlier.
		return acquired.Before(running.StartedAt.Time)
	}
	last := terminated(container)
	return last != nil && !last.FinishedAt.Time.Before(acquired)
}
