package availability

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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
)

// helperApps are the apps of the pods of this operator that run beside the operand and never take its lease.
var helperApps = []string{"installer", "pruner"}

// configHash has the hash of a static pod's manifest in its mirror pod (k8s.io/kubernetes/pkg/kubelet/types).
const configHash = "kubernetes.io/config.hash"

// releaseLease frees the lease of a process that is proven to have ended. Otherwise nobody leads until the lease
// expires, 137 seconds after its last renewal: the CCMs do not release it when they end. The assessment's timer calls
// it again when the holder counts as silent.
//
// No two processes lead because of that:
//   - The holder is a container of ours: its identity, which is unique to a process, was seen while it led, and no
//     other pod on its node could be the holder. So the predecessor's lease is never freed.
//   - It was seen to write the lease. In an etcd that was restored from an older snapshot, the lease has a former
//     holder. The process that led until then acts until 107 seconds after its last renewal. On a single control-plane
//     node that process could only be an earlier container of the same pod, so nothing has to be seen.
//   - The process has ended: its container has terminated, or the next one runs, or the mirror pod is that of another
//     manifest. The kubelet runs one container of a static pod at a time, and begins with a static pod, and its mirror
//     pod, only after the former one of that name has ended (startedStaticPodsByFullname in its pod_workers.go). A
//     process that is frozen, or on a node that does not report, may live: its container counts as running.
//   - Its container's times have no fractions. If the container was restarted, or ended, within the second of the
//     acquisition, the next one may have acquired the lease instead, and renews it then. So the lease must not have
//     been renewed for two retry periods, and a next one that runs must be Ready: a frozen process is not.
//   - Or an administrator, or a controller that fences nodes, has declared that the node is shut down, with the taint
//     out-of-service (KEP-2268), and the kubelet and the holder have been silent. Without that taint a node that does
//     not report may be cut off from the API server only. Its CCM acts until 133 seconds after its last renewal.
//   - The update fails if the lease has changed since it was read, so a later renewal or acquisition stays.
func (c *controller) releaseLease(ctx context.Context, s snapshot) error {
	if s.lease.Name == "" {
		return c.restoreLease(ctx, s.now)
	}
	c.lease.see(s.lease, s.now)
	c.kept = s.lease
	leader := leadershipOf(s.lease, c.lease, s.pods, s.predecessors, nil, s.now)
	c.witness(leader, s.pods, c.lease.present || s.oneCanLead())
	switch {
	case c.witnessed == "":
		return nil
	case leader.tenure == ended && slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == leader.node && (c.replaced(pod) || leader.provenEnded(pod))
	}):
		return c.release(ctx, s, leader, "its holder "+leader.identity+" on node/"+leader.node+" has ended")
	case leader.silentIn > 0 || !isOutOfService(s.nodes, leader.identity):
		return nil
	}
	return c.release(ctx, s, leader, "its holder "+leader.identity+" is on a node that is out of service")
}

// restoreLease creates a lease again that was deleted while a process held it. Otherwise any standby acquires a new one
// within 57 seconds, and the holder does not know: it acts until 107 seconds after its last renewal. A holder that acts
// renews the restored lease, and one that has ended loses it when it would have without the deletion.
func (c *controller) restoreLease(ctx context.Context, now time.Time) error {
	if !c.lease.present || c.lease.holder == "" || c.lease.remaining(c.kept, now) == 0 {
		c.lease, c.kept = sighting{}, nil
		return nil
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operand.Namespace, Name: operand.Lease}, Spec: c.kept.Spec,
	}
	_, err := c.leaseClient.Leases(operand.Namespace).Create(ctx, lease, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // another sync follows
	}
	if err != nil {
		return fmt.Errorf("restoring lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	c.recorder.Warningf("LeaseRestored", "lease/%s in %s was deleted while %s held it, and is restored: without it, "+
		"another cloud-controller-manager would act beside that one", operand.Lease, operand.Namespace, c.lease.holder)
	return nil
}

// witness records the identity of a process of ours that holds the lease. current reports whether the lease is of the
// present.
func (c *controller) witness(leader leadership, pods []*corev1.Pod, current bool) {
	if !current || leader.identity != c.witnessed {
		c.witnessed, c.manifest = "", ""
	}
	if !current || leader.tenure != starting && leader.tenure != leading || !c.couldOnlyBeOurs(leader.node) {
		return
	}
	c.witnessed = leader.identity
	for _, pod := range pods {
		if pod.Spec.NodeName == leader.node {
			c.manifest = pod.Annotations[configHash]
		}
	}
}

// replaced reports whether a pod on the holder's node has another manifest than the one that the holder was seen to run
// with.
func (c *controller) replaced(pod *corev1.Pod) bool {
	hash := pod.Annotations[configHash]
	return hash != "" && c.manifest != "" && hash != c.manifest
}

// oneCanLead reports whether every pod of the operand is on the only control-plane node. Its kubelet runs one container
// of the static pod at a time.
func (s snapshot) oneCanLead() bool {
	return s.topology == configv1.SingleReplicaTopologyMode && len(s.nodes) == 1 && len(s.withoutRole) == 0 &&
		!slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != s.nodes[0].Name })
}

// isOutOfService reports whether the holder's Node is not Ready and has the taint out-of-service.
func isOutOfService(nodes []*corev1.Node, holder string) bool {
	return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
		return leaseholder.NodeOf(holder, []string{node.Name}) != "" &&
			slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }) &&
			!slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
				return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
			})
	})
}

func (c *controller) release(ctx context.Context, s snapshot, leader leadership, why string) error {
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
	message := fmt.Sprintf("Released lease/%s in %s: %s", operand.Lease, operand.Namespace, why)
	if isInstalling(s.status, leader.node) {
		klog.InfoS(message) // a rollout moves the lead
		return nil
	}
	c.recorder.Event("LeaseReleased", message)
	return nil
}

// isInstalling reports whether a revision is being installed on the node.
func isInstalling(status *operatorv1.StaticPodOperatorStatus, node string) bool {
	return slices.ContainsFunc(status.NodeStatuses, func(s operatorv1.NodeStatus) bool {
		return s.NodeName == node && s.TargetRevision != 0
	})
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

// provenEnded reports whether the status of the holder's pod proves that the container that acquired the lease has
// ended.
func (l *leadership) provenEnded(pod *corev1.Pod) bool {
	container := containerStatus(pod, operand.Name)
	running, last := container.State.Running, terminated(container)
	if running != nil && l.acquired.Before(running.StartedAt.Time) || running == nil && endedSince(last, l.acquired) {
		// The API truncates times, so neither was earlier.
		return true
	}
	return l.silentIn == 0 && (running == nil || isReady(pod)) && endedSince(last, l.acquired.Truncate(stampPrecision))
}
