package leaderelection

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// helperApps are the apps of the pods of this operator that run beside the operand and never take its lease.
var helperApps = []string{controlplane.InstallerApp, controlplane.PrunerApp, controlplane.HandoverApp}

// act releases the lease of a process that has ended, or restores it. Otherwise nobody leads until the lease expires,
// 137 seconds after its last renewal: the CCMs do not release it when they end. A standby counts these seconds from its
// own first look, so a rollout that restarts it makes it wait anew. It returns when to look again without an event.
//
// No two processes lead because of that:
//   - The holder is a container of ours: its identity, which is unique to a process, was seen while it led, and no
//     other pod on its node could be the holder. So the predecessor's lease is never freed.
//   - It was seen to write the lease. In an etcd that was restored from an older snapshot, the lease has a former
//     holder. The process that led until then acts until 107 seconds after its last renewal. On a single control-plane
//     node that process could only be an earlier container of the same pod, so nothing has to be seen. What the former
//     process of the operator in this pod has seen counts too: see controlplane.Lease.Recall.
//   - The process has ended: see controlplane.Lease.EndOf.
//   - Or an administrator, or a controller that fences nodes, has declared that the node is shut down, with the taint
//     out-of-service (KEP-2268), and the kubelet and the holder have been silent. Without that taint a node that does
//     not report may be cut off from the API server only. Its CCM acts until 133 seconds after its last renewal.
//   - Or this process of the operator has seen no renewal for the duration of the lease, whoever holds it. A holder
//     acts until 133 seconds after its last renewal. A lease that names a longer duration than that of ours, as one
//     that was edited by hand, is released after ours: a process of ours that held it before has given up by then. In a
//     restored etcd, the first look at the lease counts as its renewal.
//   - The update fails if the lease has changed since it was read, so a later renewal or acquisition stays.
//
// The lease of a process that failed before it settled is released only when its container is Ready again. With a
// lease that is free at once, each standby would try the same cloud in turn, exit, and wait for its kubelet's back-off.
// A single node has no standby, and a rollout that ends a process is no failure. Where no standby has the revision of
// the one that ended, its lease waits only until its container cannot take it again: see askPeriod.
func (c *controller) act(ctx context.Context, s snapshot) (next time.Duration, err error) {
	record := s.Record()
	if !record.Exists {
		return 0, c.restore(ctx, s)
	}
	holder := s.Holder()
	certain := (record.Present || s.oneCanLead()) && s.couldOnlyBeOurs(holder.Node)
	c.Lease.ObserveHolder(s.View, certain)
	c.keep()
	record = c.Lease.Record()
	why, next := c.endOfOurs(s, record, holder)
	if why == "" {
		expired, left := s.endOfDuration(record, holder)
		why, next = expired, patience.Sooner(next, left)
	}
	if why == "" {
		return next, nil
	}
	return 0, c.release(ctx, s, record, holder.Node, "its holder "+holder.Identity+" "+why)
}

// endOfOurs returns why the lease of a process of ours may be released, "" if it may not, and when to look again
// without an event.
func (c *controller) endOfOurs(
	s snapshot, record controlplane.Record, holder controlplane.Holder,
) (why string, next time.Duration) {
	if holder.Identity == "" || holder.Identity != record.Process.Identity {
		return "", 0
	}
	end := c.Lease.EndOf(s.View)
	switch {
	case holder.State == controlplane.Ended && end.Proven:
		waits, next := c.waitsFor(s, end, holder.Node)
		if waits {
			return "", patience.Sooner(next, holder.SilentIn)
		}
		return "on node/" + holder.Node + " has ended", 0
	case holder.SilentIn == 0 && isOutOfService(s.nodes, holder.Identity):
		return "is on a node that is out of service", 0
	}
	return "", patience.Sooner(end.ProvenIn, holder.SilentIn)
}

// waitsFor reports whether the lease of a process that has ended waits for its container, and when to look again
// without an event, see act.
func (c *controller) waitsFor(s snapshot, end controlplane.End, node string) (waits bool, next time.Duration) {
	since := c.restarted.See(end.Next, s.Now())
	switch {
	case !end.Failed || end.Recovered || s.oneCanLead() || s.isInstalling(node):
		return false, 0
	case s.isAlone(node) && end.BackOff:
		return false, 0
	case !s.isAlone(node) || end.Next == "":
		return true, 0
	}
	next = askPeriod - s.Now().Sub(since)
	return next > 0, next
}

// endOfDuration returns why the lease of a holder that does not renew it may be released, "" if it may not yet, and
// when to look again without an event.
func (s *snapshot) endOfDuration(
	record controlplane.Record, holder controlplane.Holder,
) (why string, next time.Duration) {
	if holder.Identity == "" {
		return "", 0
	}
	duration, lasts := s.durationOf(record, holder), leaseholder.Duration(record.Lease)
	if left := duration - s.Now().Sub(record.Since); left > 0 {
		return "", left
	}
	why = fmt.Sprintf("has not renewed it for %s", duration)
	if duration < lasts {
		why += fmt.Sprintf(", though it lasts for %s", lasts)
	}
	return why, 0
}

// durationOf returns how long the holder may act after a renewal, at least the duration of a lease of ours. It is no
// longer if a process of ours was seen to hold the lease, or if the holder is on none of our nodes. Otherwise the lease
// may be that of a process of ours with another duration, and has it.
func (s *snapshot) durationOf(record controlplane.Record, holder controlplane.Holder) time.Duration {
	var nodes []string
	for _, node := range s.nodes {
		nodes = append(nodes, node.Name)
	}
	duration := leaseholder.Duration(record.Lease)
	if record.Process.Duration > 0 || leaseholder.NodeOf(holder.Identity, nodes) == "" {
		duration = record.Duration(s.Topology())
	}
	return max(duration, leaseholder.Default(s.Topology()))
}

// couldOnlyBeOurs reports whether no pod but the operand's on this node could hold the lease. The identity has the host
// name, so a pod on another node with the same short name could.
func (s *snapshot) couldOnlyBeOurs(node string) bool {
	return !slices.ContainsFunc(s.all, func(pod *corev1.Pod) bool {
		isOurs := controlplane.IsOperand(pod) || slices.Contains(helperApps, pod.Labels["app"])
		return (!isOurs || pod.Spec.NodeName != node) && leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node)
	})
}

// isOutOfService reports whether the holder's Node is not Ready and has the taint out-of-service.
func isOutOfService(nodes []*corev1.Node, holder string) bool {
	return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
		return leaseholder.NodeOf(holder, []string{node.Name}) != "" &&
			slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) &&
			controlplane.KubeletOf(node) != controlplane.KubeletReady
	})
}

func (c *controller) release(
	ctx context.Context, s snapshot, record controlplane.Record, node, why string,
) error {
	if err := c.forget(); err != nil {
		return err
	}
	err := leaseholder.Release(ctx, c.LeaseClient, record.Lease)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another sync follows
	}
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Released lease/%s in %s: %s", operand.Lease, operand.Namespace, why)
	if s.isInstalling(node) {
		klog.InfoS(message) // a rollout moves the lead
		return nil
	}
	c.Recorder.Event("LeaseReleased", message)
	return nil
}

// restore creates a lease again that was deleted while a process held it. Otherwise any standby acquires a new one
// within 57 seconds, and the holder does not know: it acts until 107 seconds after its last renewal. A holder that acts
// renews the restored lease, and one that has ended loses it when it would have without the deletion.
func (c *controller) restore(ctx context.Context, s snapshot) error {
	spec := c.Lease.Lost(s.View)
	if spec == nil {
		return nil
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Lease}, Spec: *spec,
	}
	_, err := c.LeaseClient.Leases(operand.Namespace).Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // another sync follows
	}
	if err != nil {
		return fmt.Errorf("restoring lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	c.Recorder.Warningf("LeaseRestored", "lease/%s in %s was deleted while %s held it, and is restored: without it, "+
		"another cloud-controller-manager would act beside that one", operand.Lease, operand.Namespace,
		leaseholder.Identity(lease))
	return nil
}
