package availability

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const asExpected = "AsExpected"

// verdict is what pods and lease tell at one moment.
type verdict struct {
	// reason is asExpected when all is well.
	reason, message string
	// holdsFor is how long the lease runs without a renewal; 0 when it has run out or there is none.
	holdsFor time.Duration
	// patience is for how long a trouble must last before it is one: as long as the lease's duration. After a leader's
	// death, its lease runs out; then those who look at it only every 26 to 57 s, the jittered retry period, may count
	// its duration from one such period late and try one late again. The only pod of a single node is away for less.
	patience time.Duration
}

func (v verdict) troubled() bool { return v.reason != asExpected }

// judge looks at the operand's pods and its lease, which has at least a name. Messages hold nothing that changes with the clock: each of them is
// written to the API.
func judge(pods []*corev1.Pod, lease *coordinationv1.Lease, nodes int, now time.Time) verdict {
	ready := readyNodes(pods)
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	v := verdict{holdsFor: remaining(lease, now), patience: max(minPatience, duration(lease))}
	leader := nodeOf(holder, pods)
	switch {
	case len(ready) == 0:
		v.reason, v.message = "NoReadyPod", fmt.Sprintf(
			"None of the %d cloud-controller-manager pods in %s is Ready%s; look at their state and at the logs of their container %s",
			len(pods), operand.Namespace, waitingText(pods), operand.Name)
	case holder == "":
		v.reason, v.message = "NoLeader", fmt.Sprintf(
			"Nobody holds lease/%s in %s though %s; look at the logs of the container %s for what keeps it from writing there",
			lease.Name, lease.Namespace, readyText(ready, nodes), operand.Name)
	case v.holdsFor == 0:
		v.reason, v.message = "LeaseExpired", fmt.Sprintf(
			"%q has stopped renewing lease/%s in %s and nobody has taken over though %s; look at the logs of the container %s for errors of its leader election",
			holder, lease.Name, lease.Namespace, readyText(ready, nodes), operand.Name)
	case leader == "":
		v.reason, v.message = "ForeignLeader", fmt.Sprintf(
			"lease/%s in %s is held by %q, which is none of the pods %s of this operator; stop that cloud-controller-manager",
			lease.Name, lease.Namespace, holder, operand.Name)
	default:
		v.reason, v.message = asExpected, fmt.Sprintf("%s; the one on node/%s leads", readyText(ready, nodes), leader)
	}
	return v
}

// waitingText says what the containers of the pods wait for, but for their start.
func waitingText(pods []*corev1.Pod) string {
	var waiting []string
	for _, pod := range pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			state := status.State.Waiting
			if state == nil || state.Reason == "" || state.Reason == "PodInitializing" || state.Reason == "ContainerCreating" {
				continue
			}
			waiting = append(waiting, fmt.Sprintf("container %s of pod/%s with image %s is in %s", status.Name, pod.Name, status.Image, state.Reason))
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	slices.Sort(waiting)
	return ": " + strings.Join(waiting, ", ")
}

func readyText(ready []string, nodes int) string {
	return fmt.Sprintf("%d of %d cloud-controller-managers are Ready", len(ready), max(nodes, len(ready)))
}

// readyNodes returns the nodes whose pod is Ready.
func readyNodes(pods []*corev1.Pod) []string {
	var nodes []string
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && isReady(pod) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// remaining is how long the lease runs from now without a renewal. Clocks within a control plane agree to much less
// than the duration of a lease.
func remaining(lease *coordinationv1.Lease, now time.Time) time.Duration {
	renewed := lease.Spec.RenewTime
	if renewed == nil {
		return 0
	}
	return max(0, renewed.Add(duration(lease)).Sub(now))
}

func duration(lease *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
}

// nodeOf returns the node of the pod that goes by the identity "<hostname>_<UUID>", or "". A node's name may be its
// host's full name where the host calls itself by the short one, or the other way round.
func nodeOf(identity string, pods []*corev1.Pod) string {
	host, _, _ := strings.Cut(identity, "_")
	byShortName := ""
	for _, pod := range pods {
		node := pod.Spec.NodeName
		if node == host {
			return node
		}
		if short(node) == short(host) && (byShortName == "" || node < byShortName) {
			byShortName = node
		}
	}
	return byShortName
}

func short(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return name
}
