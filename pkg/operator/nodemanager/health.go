package nodemanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	// patience is how long a container may wait: a new node pulls the image first.
	patience = 5 * time.Minute

	// A container whose restarts are at least crashes, and that ended less than crashWindow ago after less than that time,
	// crash-loops, also while it runs: the kubelet restarts it after 5 minutes at most.
	crashes     = 3
	crashWindow = 10 * time.Minute

	// The operator is degraded when at least minNodes nodes and a tenth of all, or all, are in trouble. A tenth is what the
	// DaemonSet's maxUnavailable allows; at that point a bad rollout stops.
	minNodes     = 2
	degradeShare = 10

	// maxNames bounds the messages.
	maxNames = 5
)

// suspect is a pod that seems not to run.
type suspect struct {
	// node is empty for a pod that has none yet.
	node string
	// crashes tells a container that crash-loops from one that waits. since is when it last crashed or began to wait.
	crashes bool
	since   time.Time
	trouble
}

// trouble is a pod that does not run.
type trouble struct {
	// text is the node and the reason.
	text, advice string
}

// What to do about a pod.
const (
	checkRegistry = "check that the nodes reach the registry of the image"
	readLog       = "read the log of the container " + operand.NodeManagerContainer
	describe      = "read the events of the pods"
)

// health returns Degraded and Notices for the pods that do not run on their nodes and for missing pods. Only one of the two is
// True.
func health(daemonSet *appsv1.DaemonSet, found census, missing int) (degraded, notices *applyoperatorv1.OperatorConditionApplyConfiguration) {
	degraded = condition(DegradedCondition, operatorv1.ConditionFalse, "AsExpected", "")
	notices = condition(NoticesCondition, operatorv1.ConditionFalse, "AsExpected", "")
	affected := len(found.troubles) + missing
	if affected == 0 {
		return degraded, notices
	}
	all := int(daemonSet.Status.DesiredNumberScheduled)
	var parts []string
	if len(found.troubles) > 0 {
		parts = append(parts, fmt.Sprintf("it does not run on %s: %s", names(found.troubles), advice(found.troubles)))
	}
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes have no pod of it: read its events", missing))
	}
	message := fmt.Sprintf("daemonset/%s in %s fails on %d of %d nodes, which stay uninitialized if they join now; %s",
		operand.NodeManager, operand.Namespace, affected, all, strings.Join(parts, "; "))
	if affected >= all || affected >= minNodes && affected*degradeShare >= all {
		return condition(DegradedCondition, operatorv1.ConditionTrue, "NotRunning", message), notices
	}
	return degraded, condition(NoticesCondition, operatorv1.ConditionTrue, "NotRunning", message)
}

// missing is how many nodes have had no pod for too long, or when that will be so.
func (c *controller) missing(daemonSet *appsv1.DaemonSet) (nodes int, in time.Duration) {
	short := int32(0)
	if daemonSet != nil && daemonSet.Status.ObservedGeneration >= daemonSet.Generation {
		short = daemonSet.Status.DesiredNumberScheduled - daemonSet.Status.CurrentNumberScheduled
	}
	if short <= 0 {
		c.shortSince = time.Time{}
		return 0, 0
	}
	now := c.clock.Now()
	if c.shortSince.IsZero() {
		c.shortSince = now
	}
	if left := patience - now.Sub(c.shortSince); left > 0 {
		return 0, left
	}
	return int(short), 0
}

// suspicionOf returns what the status of a pod complains about, nil for nothing. It leaves since zero where the status does
// not tell it.
func suspicionOf(pod *corev1.Pod, now time.Time) *suspect {
	s := &suspect{node: nodeOf(pod)}
	where := "node/" + s.node
	if s.node == "" {
		where = "the node of pod/" + pod.Name
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if last := container.LastTerminationState.Terminated; crashLoops(container, now) {
			s.crashes, s.since = true, last.FinishedAt.Time
			s.trouble = trouble{fmt.Sprintf("%s (crashes with exit code %d)", where, last.ExitCode), readLog}
			return s
		}
		if waiting := container.State.Waiting; waiting != nil {
			s.trouble = trouble{fmt.Sprintf("%s (%s)", where, waiting.Reason), adviceFor(waiting.Reason)}
			return s
		}
	}
	switch pod.Status.Phase {
	case corev1.PodFailed:
		s.trouble = trouble{fmt.Sprintf("%s (%s)", where, cmp.Or(pod.Status.Reason, "Failed")), describe}
		return s
	case corev1.PodPending:
		s.trouble = trouble{where + " (Pending)", describe}
		return s
	case corev1.PodRunning, corev1.PodSucceeded, corev1.PodUnknown:
	}
	return nil
}

// crashLoops reports whether a container crashed often, the last time shortly after its start and not long ago. A container that a
// reboot ended did not crash: the kubelet then finds it in state Unknown.
func crashLoops(container corev1.ContainerStatus, now time.Time) bool {
	last := container.LastTerminationState.Terminated
	return last != nil && container.RestartCount >= crashes && now.Sub(last.FinishedAt.Time) < crashWindow &&
		last.FinishedAt.Sub(last.StartedAt.Time) < crashWindow && !strings.HasSuffix(last.Reason, "Unknown")
}

// beganToWait is when the container of a pod that does not run began to wait, as far as its status tells. first is when it
// was first seen to wait.
func beganToWait(pod *corev1.Pod, first time.Time) time.Time {
	if pod.Status.Phase == corev1.PodFailed {
		return first
	}
	began := pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		began = pod.Status.StartTime.Time
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		last := container.LastTerminationState.Terminated
		switch {
		case last == nil && container.RestartCount == 0:
			// It has never run.
		case last == nil || last.FinishedAt.IsZero():
			// The kubelet lost it, as after a reboot.
			return first
		case last.FinishedAt.After(began):
			began = last.FinishedAt.Time
		}
	}
	if first.Before(began) {
		return first
	}
	return began
}

func adviceFor(reason string) string {
	switch {
	case strings.Contains(reason, "Image"), reason == "RegistryUnavailable":
		return checkRegistry
	case reason == "CrashLoopBackOff":
		return readLog
	}
	return describe
}

// nodeOf is the node that a pod runs on, or is to run on; empty if its specification does not tell.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				if field.Key == "metadata.name" && len(field.Values) == 1 {
					return field.Values[0]
				}
			}
		}
	}
	return ""
}

// names lists the first few nodes.
func names(all []trouble) string {
	var named []string
	for _, t := range all[:min(len(all), maxNames)] {
		named = append(named, t.text)
	}
	text := strings.Join(named, ", ")
	if rest := len(all) - len(named); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// advice is what to do about all of them.
func advice(all []trouble) string {
	var advice []string
	for _, t := range all {
		if !slices.Contains(advice, t.advice) {
			advice = append(advice, t.advice)
		}
	}
	slices.Sort(advice)
	return strings.Join(advice, ", ")
}

// sooner is the smaller of two durations of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
