package takeover

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// releaseLease frees the lease of the predecessor's last leader. Nothing else does: its CCMs keep the lease when they
// end, and it expires after 137 seconds.
//
// No two CCMs lead because of that:
//   - The predecessor's Deployments and pods are gone from the API. Their kubelets have reported that the containers
//     ended. A pod may also vanish because its Node does not report; then the lease expires by itself.
//   - The holder is none of ours, which also stand by: it acquired the lease before the first run of the static pod's
//     container on its node that the kubelet reports. The times are from that node's clock. A static pod of which
//     nothing is reported yet may lead already.
//   - The update fails if the lease has changed since it was read.
func (c *controller) releaseLease(ctx context.Context, v view, holder controlplane.Holder) (step, error) {
	record := v.Record()
	if !record.Exists || holder.Identity == "" || holder.State == controlplane.Expired || v.mayBeOurs(holder) {
		return step{}, nil
	}
	reports := func(node *corev1.Node) bool { return controlplane.KubeletOf(node) == controlplane.KubeletReady }
	if !slices.ContainsFunc(v.NodesOf(holder.Identity), reports) {
		return step{reason: releasingLease, next: holder.ExpiresIn, message: fmt.Sprintf(
			"the predecessor has stopped; lease/%s in %s is held by %q on a node that does not report, and expires by itself",
			operand.Lease, operand.Namespace, holder.Identity)}, nil
	}
	if err := leaseholder.Release(ctx, c.Kube.CoordinationV1(), record.Lease); err != nil {
		return step{}, err
	}
	c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: its holder %s, of the predecessor, has ended",
		operand.Lease, operand.Namespace, holder.Identity)
	return step{}, nil
}

// mayBeOurs reports whether the holder is, or was, a container of a static pod. Leader election releases the lease of
// one that has ended.
func (v *view) mayBeOurs(holder controlplane.Holder) bool {
	if holder.State.Runs() {
		return true
	}
	pod := v.StaticPod(holder.Node)
	if pod == nil {
		return slices.ContainsFunc(v.Status().NodeStatuses, func(n operatorv1.NodeStatus) bool {
			return (n.CurrentRevision > 0 || n.TargetRevision > 0) &&
				leaseholder.NodeOf(holder.Identity, []string{n.NodeName}) != ""
		})
	}
	container := controlplane.ContainerStatus(pod, operand.Name)
	if last := controlplane.Terminated(container); last != nil {
		return !holder.Acquired.Before(last.StartedAt.Time)
	}
	return container.State.Running == nil || !holder.Acquired.Before(container.State.Running.StartedAt.Time)
}
