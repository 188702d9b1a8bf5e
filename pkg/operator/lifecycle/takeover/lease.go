package takeover

import (
	"context"
	"fmt"
	"slices"

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
//   - The holder is none of ours, which also stand by: it acquired the lease before the container of the static pod on
//     its node started, also before the run of that container that ended last. The times are from that node's clock.
//   - The update fails if the lease has changed since it was read.
func (c *controller) releaseLease(
	ctx context.Context, s snapshot, holder controlplane.Holder,
) (step, error) {
	record := s.Record()
	if !record.Exists || holder.Identity == "" || holder.State == controlplane.Expired || s.mayBeOurs(holder) {
		return step{}, nil
	}
	if !s.holderReports(holder.Identity) {
		return step{reason: releasingLease, next: holder.ExpiresIn, message: fmt.Sprintf(
			"the predecessor has stopped; lease/%s in %s is held by %q on a node that does not report, and expires by itself",
			operand.Lease, operand.Namespace, holder.Identity)}, nil
	}
	if err := leaseholder.Release(ctx, c.LeaseClient, record.Lease); err != nil {
		return step{}, err
	}
	c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: its holder %s, of the predecessor, has ended",
		operand.Lease, operand.Namespace, holder.Identity)
	return step{}, nil
}

// mayBeOurs reports whether the holder is a container of a static pod, or may be the run of it that ended last. Leader
// election releases the lease of the latter.
func (s *snapshot) mayBeOurs(holder controlplane.Holder) bool {
	if holder.State.Runs() {
		return true
	}
	pod := s.StaticPod(holder.Node)
	if pod == nil {
		return false
	}
	last := controlplane.Terminated(controlplane.ContainerStatus(pod, operand.Name))
	return last != nil && !holder.Acquired.Before(last.StartedAt.Time)
}

// holderReports reports whether the holder's Node is Ready.
func (s *snapshot) holderReports(holder string) bool {
	return slices.ContainsFunc(s.nodes, func(node *corev1.Node) bool {
		return leaseholder.NodeOf(holder, []string{node.Name}) != "" &&
			controlplane.KubeletOf(node) == controlplane.KubeletReady
	})
}
