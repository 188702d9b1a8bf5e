package availability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

const (
	// minStable is the minimum run after which an earlier failure no longer counts.
	minStable = 2 * time.Minute

	// minCalm is the minimum run after which a failure is no longer reported.
	minCalm = 45 * time.Second

	// A container that exits minExits times and for crashLoopAfter degrades the operator.
	crashLoopAfter = 5 * time.Minute
	minExits       = 3
)

// crashLoops are the containers that keep exiting. The kubelet's status does not suffice: a crash-looping container is
// Running between two exits, and its restart count includes restarts of months ago.
type crashLoops struct {
	series map[containerOn]*crashLoop
	// planned are the last ends that moves of the lead have caused: a kubelet's status outlives the moves' pods.
	planned map[containerOn]time.Time
}

// containerOn is a container of the static pod on a node. Two failing revisions in a row are one crash loop.
type containerOn struct{ node, container string }

func (c containerOn) compare(other containerOn) int {
	return cmp.Or(strings.Compare(c.node, other.node), strings.Compare(c.container, other.container))
}

// crashLoop is a series of short runs.
type crashLoop struct {
	// since is the first exit, exits the number of exits that this process saw, and seen when it saw the last one.
	since    time.Time
	exits    int
	lastExit time.Time
	seen     time.Time
	// subject is the same for each exit. end is how the last run ended, and action what to do about it.
	subject, end, action string
	// stableAfter is the length of a run that ends the series.
	stableAfter time.Duration
	// calm is the start of the first run after the last exit. The next pod of a rollout continues that run.
	calm    time.Time
	longest time.Duration
	// run is the start of the run after the last exit, and when this process saw it first: a node's clock may be wrong.
	run patience.Since[int64]
	// stays reports whether that run is long enough to end the report. The series continues, so the next exit is reported
	// at once: a standby may run for minutes before it acquires the lease and exits.
	stays bool
}

// observe records the exits that no move has caused, and returns the time until a series may end, 0 for never.
func (c crashLoops) observe(v view, pods []*corev1.Pod, expected expectedNodes) (next time.Duration) {
	reported, exists, moves := map[string]bool{}, map[containerOn]bool{}, v.Moves()
	for _, pod := range pods {
		for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			key := containerOn{pod.Spec.NodeName, container.Name}
			reported[key.node], exists[key] = true, true
			last := container.LastTerminationState.Terminated
			if last != nil && controlplane.EndedByMove(last, key.node, moves) {
				c.planned[key] = last.FinishedAt.Time
			}
			if last != nil && c.planned[key].Equal(last.FinishedAt.Time) {
				container.LastTerminationState.Terminated = nil
			}
			next = patience.Sooner(next, c.record(key, pod.Name, container, v.Now()))
		}
	}
	maps.DeleteFunc(c.series, func(key containerOn, _ *crashLoop) bool {
		return !slices.Contains(expected.present, key.node) || reported[key.node] && !exists[key]
	})
	return next
}

// record counts the container's last exit if it is new and ended a short run. It drops the series of a container that
// has run long enough, and otherwise returns the time until then.
func (c crashLoops) record(key containerOn, pod string, container corev1.ContainerStatus, now time.Time) time.Duration {
	// LastTerminationState has only exits after which the kubelet restarts the container, not the exit of a replaced pod.
	last, running, ended := container.LastTerminationState.Terminated, container.State.Running, container.State.Terminated
	loop, stableAfter := c.series[key], c.series[key].runToEnd(last)
	var left time.Duration
	if running != nil {
		left = stableAfter - now.Sub(loop.runningSince(last, running))
	}
	if running != nil && left <= 0 || ended != nil && ended.ExitCode == 0 && container.Ready {
		// The container is stable, or is an init container that has completed.
		delete(c.series, key)
		return 0
	}
	if isShort(last) {
		if loop == nil {
			loop = &crashLoop{since: last.FinishedAt.Time}
			c.series[key] = loop
		}
		loop.add(pod, container.Name, last, now)
		loop.stableAfter = stableAfter
	}
	if loop == nil {
		return 0
	}
	return patience.Sooner(left, loop.observeRun(last, running, now))
}

// observeRun sets stays: the run after the last exit must be clearly longer than the ones before, or be that of another
// revision, whose pod shows no last exit. It returns the time until then.
func (l *crashLoop) observeRun(
	last *corev1.ContainerStateTerminated, running *corev1.ContainerStateRunning, now time.Time,
) time.Duration {
	l.stays = false
	if running == nil {
		return 0
	}
	calm := minCalm
	if last != nil {
		calm = max(calm, 2*l.longest)
	}
	left := max(0, calm-now.Sub(l.run.See(running.StartedAt.UnixNano(), now)))
	l.stays = left == 0
	return left
}

// runToEnd returns the length of a run that ends a series: clearly longer than the last run, which is recorded because
// a pod of another revision does not show it. l is nil without a series.
func (l *crashLoop) runToEnd(last *corev1.ContainerStateTerminated) time.Duration {
	switch {
	case isShort(last):
		return min(max(minStable, 2*last.FinishedAt.Sub(last.StartedAt.Time)), controlplane.BackOffPeriod)
	case l != nil:
		return l.stableAfter
	default:
		return 0
	}
}

// runningSince returns the start of the run, even if a new pod continues it, which shows no last exit. l may be nil.
func (l *crashLoop) runningSince(
	last *corev1.ContainerStateTerminated, running *corev1.ContainerStateRunning,
) time.Time {
	if l == nil {
		return running.StartedAt.Time
	}
	if l.calm.IsZero() || last != nil {
		l.calm = running.StartedAt.Time
	}
	return l.calm
}

// isShort reports whether the run was too short to reset the kubelet's back-off.
func isShort(run *corev1.ContainerStateTerminated) bool {
	return run != nil && !run.FinishedAt.IsZero() && run.FinishedAt.Sub(run.StartedAt.Time) < controlplane.BackOffPeriod
}

func (l *crashLoop) add(pod, container string, last *corev1.ContainerStateTerminated, now time.Time) {
	if !last.FinishedAt.After(l.lastExit) {
		return
	}
	l.exits++
	l.seen = now
	l.lastExit, l.calm = last.FinishedAt.Time, time.Time{}
	l.longest = max(l.longest, last.FinishedAt.Sub(last.StartedAt.Time))
	l.subject = fmt.Sprintf("container %s of pod/%s keeps exiting", container, pod)
	l.end, l.action = describeEnd(last)
}

// describeEnd omits the termination message of a process that a signal ended: it is unrelated.
func describeEnd(last *corev1.ContainerStateTerminated) (end, action string) {
	if number := controlplane.Signal(last); number != 0 {
		return fmt.Sprintf("by signal %d (%s)", number, syscall.Signal(number)),
			"find what ends it: its kubelet by a probe, the kernel without memory, or a person"
	}
	end, action = fmt.Sprintf("with code %d", last.ExitCode), "fix the error above, or read the container's log"
	if summary := terminationmessage.Summary(operandlog.OfRun(last, "")); summary != "" {
		end += fmt.Sprintf(" and %q", summary)
		if _, known := nodecause.ClassOf(summary).Explain(summary); known != nodecause.Other.Action() {
			action = known
		}
	}
	return end, action
}

func (l *crashLoop) recurs() bool { return l.exits >= minExits && l.calm.IsZero() }

// endedSince reports whether the cloud-controller-manager's last exit was seen after the lead was lost, zero for never.
func (l *crashLoop) endedSince(key containerOn, lost time.Time) bool {
	return !lost.IsZero() && key.container == operand.Name && !l.seen.Before(lost)
}

func (c crashLoops) lastEnd(since time.Time) (last *crashLoop) {
	for _, key := range slices.SortedFunc(maps.Keys(c.series), containerOn.compare) {
		if loop := c.series[key]; loop.endedSince(key, since) && (last == nil || loop.seen.After(last.seen)) {
			last = loop
		}
	}
	return last
}

// crashLooping is violated by containers that have kept exiting for crashLoopAfter. A report starts with an exit: a
// running container may have recovered, for example after an outage of the API server. A single exit suffices if an
// earlier process of the operator reported the series, or if every cloud-controller-manager that leads ends; two exits
// may follow long runs. A report ends when the container stays up.
func crashLooping(in *input) (found result) {
	reported := ""
	previous := v1helpers.FindOperatorCondition(in.Status().Conditions, CrashLoopCondition)
	if previous != nil && previous.Status == operatorv1.ConditionTrue {
		reported = previous.Message
	}
	var texts, actions []string
	for _, key := range slices.SortedFunc(maps.Keys(in.loops.series), containerOn.compare) {
		loop := in.loops.series[key]
		left := crashLoopAfter - in.Now().Sub(loop.since)
		switch {
		case loop.stays:
		case strings.Contains(reported, loop.subject), left <= 0 && loop.recurs(), loop.endedSince(key, in.leaderless):
			texts = append(texts, loop.subject+", last "+loop.end)
			if !slices.Contains(actions, loop.action) {
				actions = append(actions, loop.action)
			}
		default:
			found.next = patience.Sooner(found.next, max(0, left))
		}
	}
	if len(texts) > 0 {
		found.reason, found.violated = "CrashLooping", true
		found.message = diagnostic.JoinFew(texts, "; ", "; %d more") + "; " + strings.Join(actions, "; ")
	}
	return found
}

// unresponsiveAfter is how long a container must not be Ready. A restarted kubelet reports containers as not Ready
// until it has probed them, for up to ten seconds.
const unresponsiveAfter = 15 * time.Second

// observeSilent records the containers that run without being Ready. library-go reports such a container only after
// five minutes, and meanwhile a hanging leader keeps its lease.
func (a *assessor) observeSilent(pods []*corev1.Pod, now time.Time) {
	present := map[containerOn]bool{}
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			// A container is starting until its startup probe succeeds.
			if pod.DeletionTimestamp == nil && container.State.Running != nil && !container.Ready &&
				ptr.Deref(container.Started, false) {
				key := containerOn{pod.Spec.NodeName, container.Name}
				present[key] = true
				a.silent.See(key, true, now)
			}
		}
	}
	maps.DeleteFunc(a.silent, func(key containerOn, _ *patience.Since[bool]) bool { return !present[key] })
}

func notResponding(in *input) (found result) {
	var texts []string
	for _, key := range slices.SortedFunc(maps.Keys(in.silent), containerOn.compare) {
		if left := unresponsiveAfter - in.Now().Sub(in.silent[key].At()); left > 0 {
			found.next = patience.Sooner(found.next, left)
			continue
		}
		text := fmt.Sprintf("container %s of the static pod on node/%s runs, but does not answer its readiness probe",
			key.container, key.node)
		if key.container == operand.Name && key.node == in.state.leader.Node {
			text += fmt.Sprintf("; it holds lease/%s in %s, so no other cloud-controller-manager may act until it has ended",
				operand.Lease, operand.Namespace)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return found
	}
	const action = "the kubelet restarts it if it does not answer soon; if it recurs, read the log of the container and " +
		"check the load of the node"
	found.reason, found.violated = "NotResponding", true
	found.message = strings.Join(append(texts, action), "; ")
	return found
}
