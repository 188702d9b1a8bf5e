package availability

import (
	"cmp"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
)

// settleTime is how long a new holder must keep the lease before it counts as working. A CCM that cannot reach its
// cloud acquires the lease, fails to start its controllers and exits. The lease then names a dead process until it
// expires.
const settleTime = 30 * time.Second

// stampPrecision is the precision of a container's start time: the API truncates it to a second, while the times of a
// lease have microseconds. The same node's clock provides both.
const stampPrecision = time.Second

// tenure is the state of the lease's holder.
type tenure int

const (
	vacant    tenure = iota // no process holds the lease
	expired                 // the holder has stopped renewing
	foreign                 // the holder is not a container of ours
	preceding               // the holder is a pod of the predecessor that is Ready
	cutOff                  // the holder is, or was, on a Node that vanished
	ended                   // the holder was a container of ours
	starting                // the holder is a container of ours that has not held the lease for settleTime yet
	silent                  // the holder is a container of ours that runs and does not renew the lease
	leading                 // the holder is a container of ours that has held the lease for settleTime
)

// leadership describes the lease's holder at one moment.
type leadership struct {
	tenure tenure
	// identity is the lease's holder identity, node the node of the holder's process, if known.
	identity, node string
	// acquired is when the holder acquired the lease.
	acquired time.Time
	// runsFor is the time until the lease expires without a renewal, 0 if it has expired.
	runsFor time.Duration
	// silence is how long the holder must not have renewed the lease to count as silent, silentIn how much longer, 0 if
	// it is.
	silence, silentIn time.Duration
	// settlesIn is how much longer a starting holder must keep the lease.
	settlesIn time.Duration
}

// leadershipOf returns the state of the lease's holder. The identity does not prove that the holder is ours: the
// predecessor's process on the same host uses the same host name. A holder is ours only if it acquired the lease
// after our container on its node started. An acquisition within the second of the container's start counts as ours,
// unless a former run of the container ended in that second: until the next renewal, that run counts as the holder.
// vanished are deleted Nodes that ran a pod of ours. predecessors are pods of the predecessor: one of them on the node
// of a holder that is not ours is the holder. seen is the lease as this process saw it: its clock and that of the
// holder's node may differ.
func leadershipOf(
	lease *coordinationv1.Lease, seen sighting, pods, predecessors []*corev1.Pod, vanished []string, now time.Time,
) leadership {
	l := ownLeadershipOf(lease, seen, pods, vanished, now)
	if l.tenure != foreign && l.tenure != ended {
		return l
	}
	for _, pod := range predecessors {
		if isReady(pod) && leaseholder.NodeOf(l.identity, []string{pod.Spec.NodeName}) != "" {
			l.tenure, l.node = preceding, pod.Spec.NodeName
		}
	}
	return l
}

func ownLeadershipOf(
	lease *coordinationv1.Lease, seen sighting, pods []*corev1.Pod, vanished []string, now time.Time,
) leadership {
	l := leadership{identity: ptr.Deref(lease.Spec.HolderIdentity, ""), runsFor: seen.remaining(lease, now)}
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
	l.silence = leaseholder.Silence(lease)
	l.silentIn = max(0, l.silence-now.Sub(seen.since))
	if l.node = leaseholder.NodeOf(l.identity, nodes); l.node == "" {
		l.tenure = foreign
		if l.node = leaseholder.NodeOf(l.identity, vanished); l.node != "" {
			l.tenure = cutOff
		}
		return l
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == l.node {
			l.judge(lease, seen, containerStatus(pod, operand.Name), now)
		}
	}
	return l
}

// judge compares the lease with the container on the holder's node.
func (l *leadership) judge(
	lease *coordinationv1.Lease, seen sighting, container corev1.ContainerStatus, now time.Time,
) {
	if lease.Spec.AcquireTime == nil {
		// client-go's leader election always sets AcquireTime.
		l.tenure = foreign
		return
	}
	l.acquired = lease.Spec.AcquireTime.Time
	renewed := lease.Spec.RenewTime.Time
	switch running, last := container.State.Running, terminated(container); {
	case running == nil:
		l.tenure = ended
		if last != nil && !renewed.Before(last.FinishedAt.Add(stampPrecision)) {
			// The lease was renewed after our container ended.
			l.tenure = foreign
		}
	case l.acquired.Before(running.StartedAt.Time):
		// An earlier container of ours may have acquired the lease, but it cannot have renewed it since.
		l.tenure = ended
		if !renewed.Before(running.StartedAt.Add(stampPrecision)) {
			l.tenure = foreign
		}
	case endedSince(last, l.acquired.Truncate(stampPrecision)) && renewed.Before(running.StartedAt.Add(stampPrecision)):
		// The container was restarted within the second of the acquisition, and the lease was not renewed since.
		l.tenure = ended
	case l.silentIn == 0:
		l.tenure = silent
	default:
		l.tenure = leading
		if l.settlesIn = max(0, settleTime-now.Sub(seen.holding)); l.settlesIn > 0 {
			l.tenure = starting
		}
	}
}

// sighting is the lease as this process saw it last. The zero value is ready for use.
type sighting struct {
	holder string
	// transitions and renewed order the values of a lease: a renewal increases the time, and an acquisition the number.
	// The clocks of two holders may differ.
	transitions int32
	renewed     time.Time
	// since is when this process saw it so first.
	since time.Time
	// holding is when the holder acquired the lease, by the clock of this process.
	holding time.Time
	// present reports whether the lease advanced while this process watched, so that a process has written it since. What
	// this process finds first may be of the past: etcd was restored from an older snapshot, in which the lease is as it
	// was then. After a restore the lease goes back, and is of the past again.
	present bool
}

// see records the lease. past reports whether it is the first one that this process sees, or went back.
func (s *sighting) see(lease *coordinationv1.Lease, now time.Time) (past bool) {
	next := sighting{
		holder:      ptr.Deref(lease.Spec.HolderIdentity, ""),
		transitions: ptr.Deref(lease.Spec.LeaseTransitions, 0),
		renewed:     ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time,
		since:       now,
		holding:     s.holding,
		present:     s.present,
	}
	if s.since.IsZero() || next.holder != s.holder || next.transitions != s.transitions {
		next.holding = now.Add(-heldFor(lease))
	}
	if acquired := lease.Spec.AcquireTime; s.since.IsZero() && acquired != nil && acquired.Time.Before(next.holding) {
		next.holding = acquired.Time // Nobody saw the acquisition.
	}
	switch order := cmp.Or(cmp.Compare(next.transitions, s.transitions), next.renewed.Compare(s.renewed)); {
	case s.since.IsZero() || order < 0:
		next.present, past = false, true
	case order > 0:
		next.present = true
	case next.holder == s.holder:
		return false
	}
	*s = next
	return past
}

// remaining returns the time until the lease expires without a renewal. Like the standbys, it counts from when this
// process saw the renewal: the clock of the holder's node may be wrong. Before it has seen one, it has the lease's own
// time only.
func (s *sighting) remaining(lease *coordinationv1.Lease, now time.Time) time.Duration {
	if lease.Spec.RenewTime == nil {
		return 0
	}
	renewed := lease.Spec.RenewTime.Time
	if s.present {
		renewed = s.since
	}
	return max(0, renewed.Add(leaseholder.Duration(lease)).Sub(now))
}

// heldFor returns for how long the holder had held the lease at its last renewal. The clock of its node has both times.
func heldFor(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.AcquireTime == nil || lease.Spec.RenewTime == nil {
		return 0
	}
	return max(0, lease.Spec.RenewTime.Sub(lease.Spec.AcquireTime.Time))
}

// containerStatus returns the status of the named container, empty if the kubelet has not reported one.
func containerStatus(pod *corev1.Pod, name string) corev1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// terminated returns the container's last termination, nil if there is none.
func terminated(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

// endedSince reports whether a run of a container ended at that time or later.
func endedSince(run *corev1.ContainerStateTerminated, since time.Time) bool {
	return run != nil && !run.FinishedAt.Time.Before(since)
}
