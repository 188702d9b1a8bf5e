package availability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/terminationmessage"
)

const (
	// maxBackOff is the kubelet's longest wait between two starts of a container.
	maxBackOff = 5 * time.Minute

	// shortRun is the longest run after which the kubelet still increases its wait, twice the longest.
	shortRun = 2 * maxBackOff

	// minStable is how long a container must run, at least, before an earlier failure is over.
	minStable = 2 * time.Minute

	// crashLoopAfter is how long a container must keep exiting before that degrades the operator.
	crashLoopAfter = 5 * time.Minute
)

// crashLoops remembers the containers that keep exiting. The kubelet's status shows a moment only: between two exits a
// container runs, for a second or a minute, and its restart count includes restarts of months ago.
type crashLoops map[containerOn]*crashLoop

// containerOn is a container of the static pod on a node, of whatever revision: a revision that fails like the one
// before is the same trouble.
type containerOn struct{ node, container string }

func (c containerOn) compare(other containerOn) int {
	return cmp.Or(strings.Compare(c.node, other.node), strings.Compare(c.container, other.container))
}

// crashLoop is a series of short runs.
type crashLoop struct {
	// since is when the first of them began, exits how many of them ended while this process looked.
	since    time.Time
	exits    int
	lastExit time.Time
	// text is what the condition says, beginning with subject, which stays the same from exit to exit.
	subject, text string
	// stableAfter is how long a run must be to end the series.
	stableAfter time.Duration
}

// observe records the containers of pods, and returns in how long one of them will have run for long enough, 0 if none.
func (c crashLoops) observe(pods []*corev1.Pod, plane controlPlane, now time.Time) time.Duration {
	var next time.Duration
	for _, pod := range pods {
		containers := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
		for _, container := range containers {
			next = sooner(next, c.record(containerOn{pod.Spec.NodeName, container.Name}, pod.Name, container, now))
		}
		maps.DeleteFunc(c, func(key containerOn, _ *crashLoop) bool {
			return key.node == pod.Spec.NodeName && len(containers) > 0 &&
				!slices.ContainsFunc(containers, func(s corev1.ContainerStatus) bool { return s.Name == key.container })
		})
	}
	maps.DeleteFunc(c, func(key containerOn, _ *crashLoop) bool {
		_, present := slices.BinarySearch(plane.present, key.node)
		return !present
	})
	return next
}

// record counts the container's last exit, if it ended a short run and is new, and forgets the series once the
// container has run for long enough. It returns in how long that will be.
func (c crashLoops) record(key containerOn, pod string, container corev1.ContainerStatus, now time.Time) time.Duration {
	// Only an exit after which the kubelet starts the container again: one of a pod that is replaced is no failure.
	last, running, ended := container.LastTerminationState.Terminated, container.State.Running, container.State.Terminated
	var left time.Duration
	if running != nil {
		left = c.stableAfter(key, last) - now.Sub(running.StartedAt.Time)
	}
	if running != nil && left <= 0 || ended != nil && ended.ExitCode == 0 && container.Ready {
		// It runs, or is an init container that has done its work.
		delete(c, key)
		return 0
	}
	if last != nil && isShort(last) {
		if c[key] == nil {
			c[key] = &crashLoop{since: last.StartedAt.Time}
		}
		c[key].add(pod, container.Name, last)
		c[key].stableAfter = c.stableAfter(key, last)
	}
	if c[key] == nil {
		return 0
	}
	return left
}

// stableAfter returns how long a run must be to end a series: clearly longer than the run before, whose length a pod of
// another revision does not show.
func (c crashLoops) stableAfter(key containerOn, last *corev1.ContainerStateTerminated) time.Duration {
	switch {
	case last != nil && isShort(last):
		return min(max(minStable, 2*last.FinishedAt.Sub(last.StartedAt.Time)), shortRun)
	case c[key] != nil:
		return c[key].stableAfter
	default:
		return 0
	}
}

func isShort(run *corev1.ContainerStateTerminated) bool {
	return !run.FinishedAt.IsZero() && run.FinishedAt.Sub(run.StartedAt.Time) < shortRun
}

func (l *crashLoop) add(pod, container string, last *corev1.ContainerStateTerminated) {
	if !last.FinishedAt.After(l.lastExit) {
		return
	}
	l.exits++
	l.lastExit = last.FinishedAt.Time
	l.subject = fmt.Sprintf("container %s of pod/%s keeps exiting", container, pod)
	l.text = fmt.Sprintf("%s, last with code %d", l.subject, last.ExitCode)
	if summary := terminationmessage.Summary(last.Message); summary != "" {
		l.text += fmt.Sprintf(" and %q", summary)
	}
}

// condition reports the containers that have kept exiting for long enough, and after what time to look again. A series
// that an earlier process reported needs no second exit to be believed.
func (c crashLoops) condition(s snapshot) (*condition, time.Duration) {
	reported := ""
	previous := v1helpers.FindOperatorCondition(s.status.Conditions, CrashLoopCondition)
	if previous != nil && previous.Status == operatorv1.ConditionTrue {
		reported = previous.Message
	}
	var texts []string
	var next time.Duration
	for _, key := range slices.SortedFunc(maps.Keys(c), containerOn.compare) {
		loop := c[key]
		left := crashLoopAfter - s.now.Sub(loop.since)
		switch {
		case strings.Contains(reported, loop.subject), left <= 0 && loop.exits > 1:
			texts = append(texts, loop.text)
		default:
			next = sooner(next, max(0, left))
		}
	}
	if len(texts) == 0 {
		return newCondition(CrashLoopCondition, operatorv1.ConditionFalse, asExpected, ""), next
	}
	if rest := len(texts) - maxNames; rest > 0 {
		texts = append(texts[:maxNames], fmt.Sprintf("%d more", rest))
	}
	return newCondition(CrashLoopCondition, operatorv1.ConditionTrue, "CrashLooping",
		strings.Join(texts, "; ")+"; correct what the message names, else look at the log of the container"), next
}
