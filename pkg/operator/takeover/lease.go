package takeover

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
)

// releaseLease frees the lease of the predecessor's last leader. Nothing else does: its CCMs keep the lease when they
// end, and it expires after 137 seconds.
//
// No two CCMs lead because of that:
//   - The predecessor's Deployments and pods are gone from the API. Their kubelets have reported that the containers
//     ended. A pod may also vanish because its Node does not report; then the lease expires by itself.
//   - The holder is none of ours, which also stand by: it acquired the lease before the container of the static pod on
//     its node started. Both times are from that node's clock.
//   - The update fails if the lease has changed since it was read.
func (c *controller) releaseLease(ctx context.Context, s snapshot) (step, error) {
	lease, err := c.Leases.Lister().Leases(operand.Namespace).Get(operand.Lease)
	if apierrors.IsNotFound(err) {
		return step{}, nil
	}
	if err != nil {
		return step{}, fmt.Errorf("lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	left := c.untilExpiry(lease)
	if holder == "" || left <= 0 || s.isOurs(lease, holder) {
		return step{}, nil
	}
	if !s.reports(holder) {
		return step{reason: releasingLease, next: left, message: fmt.Sprintf(
			"the predecessor has stopped; lease/%s in %s is held by %q on a node that does not report, and expires by itself",
			operand.Lease, operand.Namespace, holder)}, nil
	}
	lease = lease.DeepCopy()
	// client-go's leader election lets the first that asks acquire a lease without a holder.
	lease.Spec.HolderIdentity = ptr.To("")
	if _, err := c.LeaseClient.Leases(operand.Namespace).Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return step{}, fmt.Errorf("releasing lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: its holder %s, of the predecessor, has ended",
		operand.Lease, operand.Namespace, holder)
	return step{}, nil
}

// untilExpiry returns the time until the lease expires without a renewal.
func (c *controller) untilExpiry(lease *coordinationv1.Lease) time.Duration {
	duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Add(duration).Sub(c.Clock.Now())
}

// isOurs reports whether a static pod's container on the holder's node may hold the lease.
func (s snapshot) isOurs(lease *coordinationv1.Lease, holder string) bool {
	return slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		if !isStaticPod(pod) || leaseholder.NodeOf(holder, []string{pod.Spec.NodeName}) == "" {
			return false
		}
		return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.Name == operand.Name && c.State.Running != nil && lease.Spec.AcquireTime != nil &&
				!lease.Spec.AcquireTime.Time.Before(c.State.Running.StartedAt.Time)
		})
	})
}

// reports is whether the holder's Node is Ready.
func (s snapshot) reports(holder string) bool {
	return slices.ContainsFunc(s.nodes, func(node *corev1.Node) bool {
		return leaseholder.NodeOf(holder, []string{node.Name}) != "" &&
			slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
	})
}
