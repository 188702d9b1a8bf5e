package controlplane

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// SettleTime is how long a new holder must keep the lease before it counts as working. A CCM that cannot reach its
// cloud acquires the lease, fails to start its controllers and exits. The lease then names a dead process until it
// expires or is released.
const SettleTime = 30 * time.Second

// stampPrecision is the precision of a container's start time: the API truncates it to a second, while the times of a
// lease have microseconds. Both are from the same node's clock.
const stampPrecision = time.Second

// HolderState is the state of the lease's holder.
type HolderState int

// The states. A container of ours is one of a static pod of this operator.
const (
	Vacant      HolderState = iota // no process holds the lease
	Expired                        // the holder has stopped renewing
	Other                          // the holder is not a container of ours: reason ForeignLeader
	Predecessor                    // the holder is a Ready pod of the predecessor
	NodeGone                       // the holder is, or was, on a deleted Node: reason LeaderCutOff
	Ended                          // the holder was a container of ours, which has ended
	Starting                       // the holder is a container of ours that has not held the lease for SettleTime yet
	NotRenewing                    // a container of ours holds it, runs, and does not renew it: reason LeaderSilent
	Leading                        // the holder is a container of ours that has held the lease for SettleTime
)

// Runs reports whether the holder is a running container of ours.
func (s HolderState) Runs() bool { return s == Starting || s == NotRenewing || s == Leading }

// Renews reports whether the holder is a container of ours that renews the lease.
func (s HolderState) Renews() bool { return s == Starting || s == Leading }

// Leads reports whether the holder is a process of ours or of the predecessor that renews the lease.
func (s HolderState) Leads() bool { return s.Renews() || s == Predecessor }

// String returns the value of the label in the metric lease_holder.
func (s HolderState) String() string {
	return [...]string{
		"vacant", "expired", "other", "predecessor", "cutoff", "ended", "starting", "silent", "leading",
	}[s]
}

// Holder describes the lease's holder at one moment.
type Holder struct {
	State HolderState
	// Identity is the lease's holder identity. Node is the node of the holder's process, if known.
	Identity, Node string
	// Acquired is when the holder acquired the lease, by the clock of its node.
	Acquired time.Time
	// ExpiresIn is the time until the lease expires without a renewal, or 0 if it has expired.
	ExpiresIn time.Duration
	// Silence is how long after a renewal the holder counts as NotRenewing. SilentIn is the rest of that time, or 0.
	Silence, SilentIn time.Duration
	// SettlesIn is how much longer a Starting holder must keep the lease.
	SettlesIn time.Duration
}

// Holder returns the state of the lease's holder. The identity does not prove that the holder is ours: the
// predecessor's process on the same host has the same host name. A holder is ours only if it acquired the lease after
// our container on its node started. An acquisition within the second of the container's start counts as ours, unless a
// former run of the container ended in that second: until the next renewal, that run counts as the holder. If the
// holder is not ours, a Ready pod of the predecessor on its node is the holder.
func (v *View) Holder() Holder {
	h := v.holder()
	if h.State != Other && h.State != Ended {
		return h
	}
	for _, pod := range v.predecessors {
		if IsReady(pod) && leaseholder.NodeOf(h.Identity, []string{pod.Spec.NodeName}) != "" {
			h.State, h.Node = Predecessor, pod.Spec.NodeName
		}
	}
	return h
}

func (v *View) holder() Holder {
	r := &v.state.Record
	if r.Lease == nil || !r.Exists {
		return Holder{}
	}
	h := Holder{Identity: leaseholder.Identity(r.Lease)}
	if h.Identity == "" {
		return h
	}
	duration := v.Duration()
	h.ExpiresIn = r.remaining(min(duration, leaseholder.Duration(r.Lease)), v.state.Now)
	if h.ExpiresIn == 0 {
		h.State = Expired
		return h
	}
	h.Silence = leaseholder.Silence(duration)
	h.SilentIn = max(0, h.Silence-v.state.Now.Sub(r.Since))
	var nodes []string
	for _, pod := range v.operand {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	if h.Node = leaseholder.NodeOf(h.Identity, nodes); h.Node == "" {
		h.State = Other
		if h.Node = leaseholder.NodeOf(h.Identity, v.deleted); h.Node != "" {
			h.State = NodeGone
		} else if h.Identity == r.Process.Identity {
			// The static pod was removed. Identities are unique.
			h.State, h.Node = Ended, r.Process.Node
		}
		return h
	}
	h.compare(r, ContainerStatus(v.StaticPod(h.Node)), v.state.Now)
	return h
}

func (h *Holder) compare(r *Record, container corev1.ContainerStatus, now time.Time) {
	if r.Lease.Spec.AcquireTime == nil {
		// client-go's leader election always sets AcquireTime.
		h.State = Other
		return
	}
	h.Acquired = r.Lease.Spec.AcquireTime.Time
	renewed := renewed(r.Lease)
	switch running, last := container.State.Running, Terminated(container); {
	case running == nil:
		h.State = Ended
		if last != nil && !renewed.Before(last.FinishedAt.Add(stampPrecision)) {
			// The lease was renewed after our container ended.
			h.State = Other
		}
	case !r.isOf(container, now) && h.isOlder(container, renewed):
		// An earlier container of ours may have acquired the lease, but it cannot have renewed it since.
		h.State = Ended
		if !renewed.Before(running.StartedAt.Add(stampPrecision)) {
			h.State = Other
		}
	case h.SilentIn == 0:
		h.State = NotRenewing
	default:
		h.State = Leading
		if h.SettlesIn = max(0, SettleTime-now.Sub(r.HeldSince)); h.SettlesIn > 0 {
			h.State = Starting
		}
	}
}

// aheadBy is how far the start of a container must be ahead of the operator's clock to show that its node's clock was.
const aheadBy = time.Minute

// isOf reports whether the holder is a running container, whatever the times say: it has been before, or the clock of
// its node was ahead as it started and has been corrected since, as at a boot before the time is synchronized. Then
// each later acquisition seems to be from before the start.
func (r *Record) isOf(container corev1.ContainerStatus, now time.Time) bool {
	if r.Process.Container != "" && r.Process.Identity == leaseholder.Identity(r.Lease) {
		return r.Process.Container == container.ContainerID
	}
	return container.State.Running.StartedAt.After(now.Add(aheadBy))
}

// isOlder reports whether the lease was acquired before a running container started. If a former run ended within the
// second of the acquisition, a renewal since the start shows that it was the running one.
func (h *Holder) isOlder(container corev1.ContainerStatus, renewed time.Time) bool {
	started := container.State.Running.StartedAt
	return h.Acquired.Before(started.Time) || endedSince(Terminated(container), h.Acquired.Truncate(stampPrecision)) &&
		renewed.Before(started.Add(stampPrecision))
}

func endedSince(run *corev1.ContainerStateTerminated, since time.Time) bool {
	return run != nil && !run.FinishedAt.Time.Before(since)
}
