package controlplane

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// configHash is the annotation of a mirror pod with the hash of its manifest (k8s.io/kubernetes/pkg/kubelet/types).
const configHash = "kubernetes.io/config.hash"

// bindGrace is how long another container must have been Ready to prove that the former one has ended. Both use the
// host network, and a CCM that cannot bind its port exits at once. Until the kubelet reports that, the former container
// may have answered the probes.
const bindGrace = 5 * time.Second

// Process is a process of ours that was seen to hold the lease. Its identity is unique.
type Process struct {
	Identity, Node string
	// Duration is how long its lease lasts after a renewal.
	Duration time.Duration
	// Lease is the last version that it wrote, and Since is when the operator saw that.
	Lease *coordinationv1.Lease
	Since time.Time
	// Manifest is the hash of its static pod's manifest, and Container the ID of its container.
	Manifest, Container string

	// next is another Ready container on its node.
	next patience.Since[string]
}

// End is what the pod on a process's node shows about the end of the process.
type End struct {
	// Proven reports whether the process has ended. ProvenIn is when to check again without an event, 0 for never.
	Proven   bool
	ProvenIn time.Duration
	// Failed reports whether it ended before SettleTime, Recovered whether its container was restarted and became Ready,
	// and BackOff whether the kubelet delays the restart.
	Failed, Recovered, BackOff bool
	// Next is the ID of the restarted container, "" before the restart.
	Next string
}

// ObserveHolder records the process of a holder that is a container of ours, and returns the view with it. It forgets a
// process that led before the lease went back. certain means that the lease is current, and that no other pod can be
// the holder.
//
// A process may have ended before its kubelet has reported that it runs. If the lease was acquired and renewed during
// the container's last run, by the clock of the node, the process was that run.
func (l *Lease) ObserveHolder(v View, certain bool) View {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.record.observe(&v, certain)
	v.state.Record.Process = l.record.Process
	return v
}

func (r *Record) observe(v *View, certain bool) {
	holder, seen := v.Holder(), v.state.Record
	if r.ObservedStaleSince.After(r.Process.Since) {
		r.Process = Process{Duration: r.Process.Duration}
	}
	pod := v.StaticPod(holder.Node)
	container := ContainerStatus(pod)
	id := container.ContainerID
	switch {
	case !certain:
		return
	case holder.State == Ended && holder.Identity != r.Process.Identity && Led(Terminated(container), seen.Lease):
		id = Terminated(container).ContainerID
	case !holder.State.Renews():
		return
	}
	former := r.Process
	r.Process = Process{
		Identity: holder.Identity, Node: holder.Node, Duration: leaseholder.Duration(seen.Lease),
		Lease: seen.Lease, Since: seen.Since,
	}
	if former.Identity == holder.Identity && former.Since.Equal(seen.Since) {
		// The process has not written the lease since, so a user edited the duration.
		r.Process.Duration, r.Process.Lease = former.Duration, former.Lease
	}
	if pod != nil {
		r.Process.Manifest, r.Process.Container = pod.Annotations[configHash], id
	}
}

// Led reports whether the lease was acquired, and last renewed, during a run of a container. All these times must be
// from the clock of one node.
func Led(run *corev1.ContainerStateTerminated, lease *coordinationv1.Lease) bool {
	if run == nil || lease.Spec.AcquireTime == nil {
		return false
	}
	acquired, ended := lease.Spec.AcquireTime.Time, run.FinishedAt.Add(stampPrecision)
	return !acquired.Before(run.StartedAt.Time) && acquired.Before(ended) && renewed(lease).Before(ended)
}

// EndOf returns what is known about the end of the recorded process. It has ended in these cases:
//
//   - Its container, identified by its ID, has terminated, whether or not the next one runs.
//   - Another container has been Ready for bindGrace. A kubelet starts a static pod only after the former one of that
//     name has ended (startedStaticPodsByFullname in its pod_workers.go). But a kubelet that was restarted meanwhile
//     does not know the former one. It reports the status of the new one in the mirror pod of the former one, replaces
//     the mirror pod at once (fastStaticPodsRegistration in kubelet.go), and ends the former containers seconds later.
//   - Its container was restarted, or ended, within the second of the acquisition. The container's times have no
//     fractions, so the next run may have acquired the lease instead, and then renews it. Therefore the lease must not
//     have been renewed for two retry periods, and a next run must be Ready: a frozen process is not. While the kubelet
//     backs off, there is no next run in that second: it waits for a second or more after the end (KEP-4603).
//
// A process that is frozen, or on a node that does not report, may live: its container counts as running.
func (l *Lease) EndOf(v View) End {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.record.Process.end(v.StaticPod(l.record.Process.Node), v.state.Now)
}

func (p *Process) end(pod *corev1.Pod, now time.Time) End {
	if pod == nil || p.Identity == "" || p.Lease.Spec.AcquireTime == nil {
		return End{}
	}
	container := ContainerStatus(pod)
	if last := Terminated(container); p.is(last, pod) {
		return p.endedBy(last, pod, container, now)
	}
	return p.replacedBy(pod, container, now)
}

func (p *Process) endedBy(
	last *corev1.ContainerStateTerminated, pod *corev1.Pod, container corev1.ContainerStatus, now time.Time,
) End {
	running, acquired := container.State.Running, p.Lease.Spec.AcquireTime.Time
	e := End{Recovered: running != nil && IsReady(pod), BackOff: IsInBackOff(container)}
	if running != nil {
		e.Next = container.ContainerID
	}
	within := endedSince(last, acquired.Truncate(stampPrecision))
	switch {
	case endedSince(last, acquired), within && (e.BackOff || startedAfter(running, acquired)):
		// The API truncates times, so neither was earlier.
		e.Proven = true
	case within && (running == nil || e.Recovered):
		e.ProvenIn = max(0, leaseholder.Silence(p.Duration)-now.Sub(p.Since))
		e.Proven = e.ProvenIn == 0
	}
	e.Failed = e.Proven && last.FinishedAt.Sub(acquired) < SettleTime
	return e
}

func (p *Process) is(run *corev1.ContainerStateTerminated, pod *corev1.Pod) bool {
	return run != nil && run.ContainerID == p.Container && pod.Annotations[configHash] == p.Manifest
}

func startedAfter(run *corev1.ContainerStateRunning, acquired time.Time) bool {
	return run != nil && acquired.Before(run.StartedAt.Time)
}

// replacedBy returns what another container on the node proves.
func (p *Process) replacedBy(pod *corev1.Pod, container corev1.ContainerStatus, now time.Time) End {
	if !startedAfter(container.State.Running, p.Lease.Spec.AcquireTime.Time) || !IsReady(pod) {
		p.next.See("", now)
		return End{}
	}
	ready := p.next.See(container.ContainerID+container.State.Running.StartedAt.String(), now)
	left := max(0, bindGrace-now.Sub(ready))
	return End{Proven: left == 0, ProvenIn: left}
}

// Lost returns the content of a lease that was deleted while a process held it, or nil if no process may act on it. If
// the holder was neither ours nor the predecessor's, it returns the lease of our process that held it before, if that
// process may still act.
func (l *Lease) Lost(v View) *coordinationv1.LeaseSpec {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := l.record
	if r.Lease == nil || r.Exists {
		return nil
	}
	r.Exists = true
	v.state.Record = r
	holder, p := v.Holder(), &l.record.Process
	switch {
	case holder.Identity == "", holder.State == Expired:
		return nil
	case holder.Identity != p.Identity && r.Observed && (holder.State.Runs() || holder.State == Predecessor):
		return &r.Lease.Spec
	case r.ObservedStaleSince.After(p.Since), p.Identity == "", p.end(v.StaticPod(p.Node), v.state.Now).Proven:
		return nil
	case holder.Identity == p.Identity:
		return &r.Lease.Spec
	case v.state.Now.Sub(p.Since) < p.Duration:
		return &p.Lease.Spec
	default:
		return nil
	}
}
