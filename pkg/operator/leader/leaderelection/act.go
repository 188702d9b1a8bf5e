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
func (c *controller) act(ctx context.Context, view controlplane.View) (next time.Duration, err error) {
	record, holder := view.Record(), view.Holder()
	if !record.Exists {
		return 0, c.restore(ctx, view)
	}
	certain := (record.Observed || oneCanLead(view)) && couldOnlyBeOurs(view, holder.Node)
	c.Lease.ObserveHolder(view, certain)
	c.keep()
	// What is released is the lease that was judged: the update fails if it has changed since.
	record.Process = c.Lease.Record().Process
	l := lease{View: view, record: record, holder: holder}
	if holder.Identity != "" && holder.Identity == l.record.Process.Identity {
		l.isOurs, l.end = true, c.Lease.EndOf(view)
	}
	if l.hasEnded() {
		l.restarted = c.restarted.See(l.end.Next, view.Now())
	}
	why, next := l.releasable()
	if why == "" {
		return next, nil
	}
	return 0, c.release(ctx, l, "its holder "+holder.Identity+" "+why)
}

// lease is the lease at one moment, and what is known of its holder.
type lease struct {
	controlplane.View
	record controlplane.Record
	holder controlplane.Holder
	// isOurs reports whether the holder is a process of ours that was seen to lead, and end is what is known of its end.
	// restarted is when the next run of its container was seen first.
	isOurs    bool
	end       controlplane.End
	restarted time.Time
}

// check returns why the lease may be released, "" if it may not be for this reason, and when to look again without an
// event.
type check func(l lease) (why string, next time.Duration)

// checks are in the order in which they are asked.
var checks = []check{holderHasEnded, nodeIsOutOfService, durationIsOver}

// releasable asks the checks.
func (l lease) releasable() (why string, next time.Duration) {
	if l.holder.Identity == "" {
		return "", 0
	}
	for _, check := range checks {
		why, wait := check(l)
		if why != "" {
			return why, 0
		}
		next = patience.Sooner(next, wait)
	}
	return "", next
}

// hasEnded reports whether the holder was a process of ours that has ended.
func (l lease) hasEnded() bool {
	return l.isOurs && l.holder.State == controlplane.Ended && l.end.Proven
}

// holderHasEnded is the check of a process of ours that has ended, see act for which one waits for its container.
func holderHasEnded(l lease) (why string, next time.Duration) {
	node := l.holder.Node
	why = "on node/" + node + " has ended"
	switch {
	case !l.hasEnded():
		return "", l.end.ProvenIn
	case !l.end.Failed || l.end.Recovered || oneCanLead(l.View) || isInstalling(l.View, node):
		return why, 0
	case isAlone(l.View, node) && l.end.BackOff:
		return why, 0
	case !isAlone(l.View, node) || l.end.Next == "":
		return "", 0
	}
	if next = askPeriod - l.Now().Sub(l.restarted); next > 0 {
		return "", next
	}
	return why, 0
}

// nodeIsOutOfService is the check of a process of ours whose node was declared to be shut down.
func nodeIsOutOfService(l lease) (why string, next time.Duration) {
	switch {
	case !l.isOurs:
		return "", 0
	case l.holder.SilentIn == 0 && !l.hasEnded() && slices.ContainsFunc(l.NodesOf(l.holder.Identity), isOutOfService):
		return "is on a node that is out of service", 0
	}
	return "", l.holder.SilentIn
}

// durationIsOver is the check of any holder that does not renew the lease.
func durationIsOver(l lease) (why string, next time.Duration) {
	duration, lasts := l.duration(), leaseholder.Duration(l.record.Lease)
	if left := duration - l.Now().Sub(l.record.Since); left > 0 {
		return "", left
	}
	why = fmt.Sprintf("has not renewed it for %s", duration)
	if duration < lasts {
		why += fmt.Sprintf(", though it lasts for %s", lasts)
	}
	return why, 0
}

// duration returns how long the holder may act after a renewal, at least the duration of a lease of ours. It is no
// longer if a process of ours was seen to hold the lease, or if the holder is on none of our nodes. Otherwise the lease
// may be that of a process of ours with another duration, and has it.
func (l lease) duration() time.Duration {
	duration := leaseholder.Duration(l.record.Lease)
	if l.record.Process.Duration > 0 || len(l.NodesOf(l.holder.Identity)) == 0 {
		duration = l.record.Duration(l.Topology())
	}
	return max(duration, leaseholder.Default(l.Topology()))
}

// couldOnlyBeOurs reports whether no pod but the operand's on this node could hold the lease. The identity has the host
// name, so a pod on another node with the same short name could.
func couldOnlyBeOurs(v controlplane.View, node string) bool {
	return !slices.ContainsFunc(v.Pods(), func(pod *corev1.Pod) bool {
		isOurs := controlplane.IsOperand(pod) || slices.Contains(helperApps, pod.Labels["app"])
		return (!isOurs || pod.Spec.NodeName != node) && leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node)
	})
}

func isInstalling(v controlplane.View, node string) bool {
	return v.Revisions(node).TargetRevision != 0
}

// isOutOfService reports whether a Node is not Ready and has the taint out-of-service.
func isOutOfService(node *corev1.Node) bool {
	return controlplane.KubeletOf(node) != controlplane.KubeletReady &&
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

func (c *controller) release(ctx context.Context, l lease, why string) error {
	if err := c.forget(); err != nil {
		return err
	}
	err := leaseholder.Release(ctx, c.Kube.CoordinationV1(), l.record.Lease)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another sync follows
	}
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Released lease/%s in %s: %s", operand.Lease, operand.Namespace, why)
	if isInstalling(l.View, l.holder.Node) {
		klog.InfoS(message) // a rollout moves the lead
		return nil
	}
	c.Recorder.Event("LeaseReleased", message)
	return nil
}

// restore creates a lease again that was deleted while a process held it. Otherwise any standby acquires a new one
// within 57 seconds, and the holder does not know: it acts until 107 seconds after its last renewal. A holder that acts
// renews the restored lease, and one that has ended loses it when it would have without the deletion.
func (c *controller) restore(ctx context.Context, view controlplane.View) error {
	spec := c.Lease.Lost(view)
	if spec == nil {
		return nil
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Lease}, Spec: *spec,
	}
	_, err := c.Kube.CoordinationV1().Leases(operand.Namespace).Create(ctx, lease, metav1.CreateOptions{})
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
