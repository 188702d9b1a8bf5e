package leadership

import (
	"context"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
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

// askPeriod is how soon a starting process has asked for the lease: within a second, then again after 26 seconds or
// more. Meanwhile another process can take the lease.
const askPeriod = 3 * time.Second

// helperApps are the apps of this operator's other pods in the namespace, which never take the lease.
var helperApps = []string{controlplane.InstallerApp, controlplane.PrunerApp, controlplane.HandoverApp}

// keepLease releases the lease of a process that has ended, or restores a deleted lease. Otherwise no process leads
// until the lease expires, 137 seconds after its last renewal: the CCMs do not release it when they end. A standby
// counts these seconds from its own first look, so a rollout that restarts it makes it wait again.
//
// This never lets two processes lead:
//   - The holder is a container of ours: its identity, which is unique to a process, was seen while it led, and no
//     other pod on its node could be the holder. So the predecessor's lease is never released.
//   - It was seen to write the lease. In an etcd that was restored from an older snapshot, the lease names a former
//     holder, while the process that led acts until 133 seconds after its last renewal. On a single control-plane node,
//     that process could only be an earlier container of the same pod, so no write has to be seen. Writes that the
//     former process of the operator saw count too, see Memory.
//   - The process has ended, see controlplane.Lease.EndOf.
//   - Or an administrator, or a controller that fences nodes, has declared with the taint out-of-service (KEP-2268)
//     that the node is shut down, and the kubelet and the holder are silent. Without that taint, the node may only be
//     cut off from the API server, and its CCM acts until 133 seconds after its last renewal.
//   - Or this process of the operator has seen no renewal for the duration of the lease, whatever the holder, which
//     acts until 133 seconds after its last renewal. A lease with a longer duration than ours, for example after a
//     manual edit, is released after ours: a process of ours that held it has given up by then. In a restored etcd, the
//     first look at the lease counts as its renewal.
//   - The update fails if the lease has changed since it was read, so a later renewal or acquisition stays.
//
// The lease of a process that failed before it settled is released only when its container is Ready again. With a free
// lease, each standby would try the same cloud in turn, exit, and wait for its kubelet's back-off. A single node has no
// standby, and a rollout that ends a process is no failure. If a standby has the former revision, or none has the
// revision of the process that ended, the lease waits only until the container cannot take it again, see askPeriod.
func (c *controller) keepLease(ctx context.Context, v *view) (next time.Duration, err error) {
	switch record := v.Record(); {
	case record.Lease == nil:
		return 0, nil
	case !record.Exists:
		return 0, c.restore(ctx, v)
	}
	why, next := v.releasable()
	if why == "" {
		return next, nil
	}
	return 0, c.release(ctx, v, why)
}

// checks return why the lease may be released, "" if it may not, and when to look again. They run in this order.
var checks = []func(v *view) (why string, next time.Duration){holderHasEnded, nodeIsOutOfService, durationIsOver}

func (v *view) releasable() (why string, next time.Duration) {
	if v.holder.Identity == "" {
		return "", 0
	}
	for _, check := range checks {
		why, wait := check(v)
		if why != "" {
			return why, 0
		}
		next = patience.Sooner(next, wait)
	}
	return "", next
}

func (v *view) hasEnded() bool {
	return v.isOurs && v.holder.State == controlplane.Ended && v.end.Proven
}

// holderHasEnded is about a process of ours; keepLease explains when the lease waits for its container.
func holderHasEnded(v *view) (why string, next time.Duration) {
	node := v.holder.Node
	why = "on node/" + node + " has ended"
	switch {
	case !v.hasEnded():
		return "", v.end.ProvenIn
	case !v.end.Failed || v.end.Recovered || v.oneCanLead() || v.holderIsReplaced():
		return why, 0
	case v.othersDiffer() && v.end.BackOff:
		return why, 0
	case !v.othersDiffer() || v.end.Next == "":
		return "", 0
	}
	if next = askPeriod - v.Now().Sub(v.restarted); next > 0 {
		return "", next
	}
	return why, 0
}

func nodeIsOutOfService(v *view) (why string, next time.Duration) {
	switch {
	case !v.isOurs:
		return "", 0
	case v.holder.SilentIn == 0 && !v.hasEnded() && slices.ContainsFunc(v.NodesOf(v.holder.Identity), isOutOfService):
		return "is on a node that is out of service", 0
	}
	return "", v.holder.SilentIn
}

func durationIsOver(v *view) (why string, next time.Duration) {
	duration, lasts := v.duration(), leaseholder.Duration(v.Record().Lease)
	if left := duration - v.Now().Sub(v.Record().Since); left > 0 {
		return "", left
	}
	why = fmt.Sprintf("has not renewed it for %s", duration)
	if duration < lasts {
		why += fmt.Sprintf(", though it lasts for %s", lasts)
	}
	return why, 0
}

// duration returns how long the holder may act after a renewal: at least the duration of a lease of ours, and exactly
// that if a process of ours was seen to hold the lease, or if the holder is on none of our nodes. Otherwise the holder
// may be a process of ours with another duration, which the lease has.
func (v *view) duration() time.Duration {
	duration := leaseholder.Duration(v.Record().Lease)
	if v.Record().Process.Duration > 0 || len(v.NodesOf(v.holder.Identity)) == 0 {
		duration = v.Duration()
	}
	return max(duration, leaseholder.Default(v.Topology()))
}

// couldOnlyBeOurs reports whether only the operand's pod on the holder's node could hold the lease. An identity has the
// host name, so a pod on another node with the same short name could, too.
func (v *view) couldOnlyBeOurs() bool {
	node := v.holder.Node
	return !slices.ContainsFunc(v.Pods(), func(pod *corev1.Pod) bool {
		isOurs := controlplane.IsOperand(pod) || slices.Contains(helperApps, pod.Labels["app"])
		return (!isOurs || pod.Spec.NodeName != node) && leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node)
	})
}

// holderIsReplaced reports whether the holder's node is being installed, which ends the holder.
func (v *view) holderIsReplaced() bool { return v.Revisions(v.holder.Node).TargetRevision != 0 }

func isOutOfService(node *corev1.Node) bool {
	return controlplane.KubeletOf(node) != controlplane.KubeletReady &&
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

func (c *controller) release(ctx context.Context, v *view, why string) error {
	if err := c.forget(); err != nil {
		return err
	}
	err := leaseholder.Release(ctx, c.Kube.CoordinationV1(), v.Record().Lease)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another sync follows
	}
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Released lease/%s in %s: its holder %s %s", operand.Lease, operand.Namespace,
		v.holder.Identity, why)
	if v.holderIsReplaced() {
		klog.InfoS(message) // a rollout moves the lead
		return nil
	}
	c.Recorder.Event("LeaseReleased", message)
	return nil
}

// restore recreates a lease that was deleted while a process held it. Otherwise a standby acquires a new one within 57
// seconds, while the holder acts until 133 seconds after its last renewal. A living holder renews the restored lease;
// that of an ended one expires as if it had not been deleted.
func (c *controller) restore(ctx context.Context, v *view) error {
	spec := c.Lease.Lost(v.View)
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

// oneCanLead reports whether all pods are on the only control-plane node, whose kubelet runs one container at a time.
func (v *view) oneCanLead() bool {
	return v.Topology() == configv1.SingleReplicaTopologyMode && len(v.Nodes()) == 1 &&
		!slices.ContainsFunc(v.StaticPods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != v.Nodes()[0].Name })
}

// othersDiffer reports whether the holder may have ended because of its revision, and other nodes have another one: an
// older one in a rollout, or all of them another one, as in a rollout that goes back.
func (v *view) othersDiffer() bool {
	own := v.Revisions(v.holder.Node).CurrentRevision
	others := slices.DeleteFunc(slices.Clone(v.Status().NodeStatuses), func(n operatorv1.NodeStatus) bool {
		return n.NodeName == v.holder.Node || n.CurrentRevision == 0
	})
	isOlder := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision < own }
	isSame := func(n operatorv1.NodeStatus) bool { return n.CurrentRevision == own }
	return own != 0 && len(others) > 0 &&
		(slices.ContainsFunc(others, isOlder) || !slices.ContainsFunc(others, isSame))
}
