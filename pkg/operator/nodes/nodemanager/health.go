package nodemanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

const (
	// gracePeriod is how long a container may wait: a new node pulls the image first.
	gracePeriod = 5 * time.Minute

	// A container crash-loops if it restarted at least minRestarts times, and its last run was shorter than
	// controlplane.BackOffPeriod and ended within that time. It may be running.
	minRestarts = 3

	// The operator degrades when the cloud-node-manager fails on all nodes, or on at least minNodes nodes and a tenth
	// of all. A tenth is the DaemonSet's maxUnavailable, at which a bad rollout stops.
	minNodes     = 2
	degradeShare = 10
)

type possibleFailure struct {
	// node is empty for a pod without a node.
	node string
	// crashes means that a container crash-loops; otherwise it waits. since is when it last crashed, or started to wait.
	crashes bool
	since   time.Time
	failure
}

type failure struct {
	text, advice string
}

const (
	checkRegistry = "check that the nodes can reach the image registry"
	readLog       = "read the log of the container " + operand.NodeManagerContainer
	readEvents    = "read the events of the pods"
)

// health returns the conditions Degraded and Notices for failing and missing pods. At most one of them is True.
func health(daemonSet *appsv1.DaemonSet, found podSummary, missing int) (degraded, notices *operatorclient.Condition) {
	degraded, notices = operatorclient.AsExpected(DegradedCondition), operatorclient.AsExpected(NoticesCondition)
	affected := len(found.failures) + missing
	if affected == 0 {
		return degraded, notices
	}
	all := int(daemonSet.Status.DesiredNumberScheduled)
	var parts []string
	if len(found.failures) > 0 {
		parts = append(parts, fmt.Sprintf("it does not run on %s: %s",
			joinNames(found.failures), joinAdvice(found.failures)))
	}
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes have no pod: read the events of the DaemonSet", missing))
	}
	message := fmt.Sprintf("%s fails on %d of %d nodes, which stay uninitialized if they join now; %s",
		object, affected, all, strings.Join(parts, "; "))
	if affected >= all || affected >= minNodes && affected*degradeShare >= all {
		return operatorclient.NewCondition(DegradedCondition, operatorv1.ConditionTrue, "NotRunning", message), notices
	}
	return degraded, operatorclient.NewCondition(NoticesCondition, operatorv1.ConditionTrue, "NotRunning", message)
}

// missing returns the number of nodes that have had no pod for longer than the grace period, or the time until then.
func (c *controller) missing(daemonSet *appsv1.DaemonSet) (nodes int, in time.Duration) {
	short := int32(0)
	if daemonSet != nil && daemonSet.Status.ObservedGeneration >= daemonSet.Generation {
		short = daemonSet.Status.DesiredNumberScheduled - daemonSet.Status.CurrentNumberScheduled
	}
	now := c.Clock.Now()
	since := c.short.See(short > 0, now)
	if short <= 0 {
		return 0, 0
	}
	if left := gracePeriod - now.Sub(since); left > 0 {
		return 0, left
	}
	return int(short), 0
}

// inspect returns the failure that a pod's status shows, nil for none. since is zero if the status does not have it.
func inspect(pod *corev1.Pod, now time.Time) *possibleFailure {
	s := &possibleFailure{node: nodeOf(pod)}
	where := "node/" + s.node
	if s.node == "" {
		where = "the node of pod/" + pod.Name
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if last := container.LastTerminationState.Terminated; crashLoops(container, now) {
			s.crashes, s.since = true, last.FinishedAt.Time
			s.failure = failure{fmt.Sprintf("%s (crashes with exit code %d)", where, last.ExitCode), readLog}
			return s
		}
		if waiting := container.State.Waiting; waiting != nil {
			s.failure = failure{fmt.Sprintf("%s (%s)", where, short(waiting.Reason)), adviceFor(waiting.Reason)}
			return s
		}
	}
	switch pod.Status.Phase {
	case corev1.PodFailed:
		s.failure = failure{fmt.Sprintf("%s (%s)", where, short(cmp.Or(pod.Status.Reason, "Failed"))), readEvents}
	case corev1.PodPending:
		s.failure = failure{where + " (Pending)", readEvents}
	default:
		return nil
	}
	return s
}

// short limits a reason, which is a word, because a kubelet can write any text.
func short(reason string) string { return printable.Cut(reason, 64) }

// crashLoops reports whether a container crashed repeatedly, and recently soon after a start. A reboot is no crash: the
// kubelet reports the reason Unknown afterwards.
func crashLoops(container corev1.ContainerStatus, now time.Time) bool {
	last := container.LastTerminationState.Terminated
	return last != nil && container.RestartCount >= minRestarts &&
		now.Sub(last.FinishedAt.Time) < controlplane.BackOffPeriod &&
		last.FinishedAt.Sub(last.StartedAt.Time) < controlplane.BackOffPeriod && !controlplane.IsLost(last)
}

// waitingSince returns when the container of a pod started to wait. first is when this process first saw it wait.
func waitingSince(pod *corev1.Pod, first time.Time) time.Time {
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
			// The container has never run.
		case last == nil || last.FinishedAt.IsZero():
			// The kubelet has lost the container's status, for example after a reboot.
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
	case reason == controlplane.CrashLoopBackOff:
		return readLog
	}
	return readEvents
}

// nodeOf returns the node that a pod runs on or is assigned to by affinity, "" if there is none.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return ""
	}
	required := ptr.Deref(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, corev1.NodeSelector{})
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

func joinNames(all []failure) string {
	var names []string
	for _, f := range all {
		names = append(names, f.text)
	}
	return diagnostic.Few(names)
}

func joinAdvice(all []failure) string {
	advice := sets.New[string]()
	for _, f := range all {
		advice.Insert(f.advice)
	}
	return strings.Join(sets.List(advice), ", ")
}
