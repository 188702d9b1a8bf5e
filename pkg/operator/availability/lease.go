package availability

import (
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// settleTime is how long a new holder must keep the lease before it counts as working. A CCM that cannot reach its
// cloud acquires the lease, fails to start its controllers and exits; the lease then names a dead process until it
// expires.
const settleTime = 30 * time.Second

// stampPrecision is how much later than its stamp a container may have started: the API cuts the time to a second,
// while the times of a lease have microseconds. Both are read from the clock of the same node.
const stampPrecision = time.Second

// tenure is what is known about the process that a lease names.
type tenure int

const (
	vacant   tenure = iota // no process holds the lease
	expired                // the holder has stopped renewing
	foreign                // the holder is no container of ours
	cutOff                 // the holder is, or was, on a Node that vanished
	ended                  // the holder was a container of ours
	starting               // the holder is a container of ours and has yet to prove that it stays up
	leading                // the holder is a container of ours that has stayed up
)

// leadership is a tenure at one moment.
type leadership struct {
	tenure tenure
	// identity is that of the lease, node where its process runs or ran, if known.
	identity, node string
	// acquired is when the process got the lease.
	acquired time.Time
	// runsFor is how long the lease runs without a renewal, 0 when it has run out.
	runsFor time.Duration
	// settlesIn is how long a starting process has yet to stay up.
	settlesIn time.Duration
}

// leadershipOf judges the process behind the lease. A name proves nothing: the predecessor's process on the same host
// has the same one. A holder is ours only if it acquired the lease after the container of our pod on its node started;
// one that acquired within the second in which the container started is. vanished are Nodes that are gone but ran a pod
// of ours.
func leadershipOf(lease *coordinationv1.Lease, pods []*corev1.Pod, vanished []string, now time.Time) leadership {
	l := leadership{identity: ptr.Deref(lease.Spec.HolderIdentity, ""), runsFor: remaining(lease, now)}
	var nodes []string
	for _, pod := range pods {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	if l.identity == "" {
		l.runsFor = 0
		return l
	}
	if l.runsFor == 0 {
		l.tenure = expired
		return l
	}
	if l.node = nodeOf(l.identity, nodes); l.node == "" {
		l.tenure = foreign
		if l.node = nodeOf(l.identity, vanished); l.node != "" {
			l.tenure = cutOff
		}
		return l
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == l.node {
			l.judge(lease, containerStatus(pod, operand.Name), now)
		}
	}
	return l
}

// judge compares the lease with the container on the holder's node.
func (l *leadership) judge(lease *coordinationv1.Lease, container corev1.ContainerStatus, now time.Time) {
	if lease.Spec.AcquireTime == nil {
		// Every leader election of client-go writes it.
		l.tenure = foreign
		return
	}
	l.acquired = lease.Spec.AcquireTime.Time
	renewed := lease.Spec.RenewTime.Time
	switch running, last := container.State.Running, terminated(container); {
	case running == nil:
		l.tenure = ended
		if last != nil && !renewed.Before(last.FinishedAt.Add(stampPrecision)) {
			// Renewed after our container ended.
			l.tenure = foreign
		}
	case l.acquired.Before(running.StartedAt.Time):
		// An earlier container of ours may have acquired it, but cannot have renewed it since.
		l.tenure = ended
		if !renewed.Before(running.StartedAt.Add(stampPrecision)) {
			l.tenure = foreign
		}
	default:
		l.tenure = leading
		held := max(now.Sub(l.acquired), renewed.Sub(l.acquired))
		if l.settlesIn = max(0, settleTime-held); l.settlesIn > 0 {
			l.tenure = starting
		}
	}
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

// nodeOf returns the node that goes by the identity "<hostname>_<UUID>", or "". A node's name may be its host's full
// name where the host calls itself by the short one, or the other way round.
func nodeOf(identity string, nodes []string) string {
	host, _, _ := strings.Cut(identity, "_")
	byShortName := ""
	for _, node := range nodes {
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

// containerStatus returns the status of the pod's container of that name, empty if the kubelet has not reported one.
func containerStatus(pod *corev1.Pod, name string) corev1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// terminated returns how the container ended last, nil if it has not.
func terminated(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}
