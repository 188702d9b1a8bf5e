package nodemanager

import (
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
	// patience is for how long a pod may take to start: an image is pulled by every new node.
	patience = 5 * time.Minute

	// A container that crashed this often, the last time within crashWindow, is one that crashes, also while it happens to
	// run: the kubelet starts it again after 5 minutes at most.
	crashes     = 3
	crashWindow = 10 * time.Minute

	// maxNames bounds the message.
	maxNames = 5
)

// trouble is why a pod does not run, and in how long that counts; 0 is now.
type trouble struct {
	node, reason, advice string
	in                   time.Duration
}

// What to do about a pod.
const (
	checkRegistry = "check that the nodes reach the registry of the image"
	readLog       = "look at the log of the container " + operand.NodeManagerContainer
	describe      = "look at the events of the pods"
)

// health tells of pods that do not run on their nodes, and in how long that may have to be said anew; 0 if something has to
// happen first. A node that is away is not the cloud-node-manager's trouble, and its pod waits for nothing.
func (c *controller) health(daemonSet *appsv1.DaemonSet, pods []*corev1.Pod) (*applyoperatorv1.OperatorConditionApplyConfiguration, time.Duration) {
	now := c.clock.Now()
	missing, next := c.missing(daemonSet, now)
	var present []trouble
	for _, pod := range pods {
		found, until := troubleOf(pod, now)
		next = sooner(next, until)
		if found == nil {
			continue
		}
		if found.in > 0 {
			next = sooner(next, found.in)
			continue
		}
		present = append(present, *found)
	}
	var texts []string
	if len(present) > 0 {
		texts = append(texts, describeTroubles(present))
	}
	if missing > 0 {
		texts = append(texts, fmt.Sprintf("%d nodes have no pod of daemonset/%s in %s; look at its events for why none can be made",
			missing, operand.NodeManager, operand.Namespace))
	}
	if len(texts) == 0 {
		return condition(DegradedCondition, operatorv1.ConditionFalse, "AsExpected", ""), next
	}
	texts = append(texts, "Nodes that join the cluster stay uninitialized without it")
	return condition(DegradedCondition, operatorv1.ConditionTrue, "NotRunning", strings.Join(texts, ". ")), next
}

// missing is how many nodes have been without a pod for too long, or in how long that will be so.
func (c *controller) missing(daemonSet *appsv1.DaemonSet, now time.Time) (nodes int32, in time.Duration) {
	short := int32(0)
	if daemonSet != nil && daemonSet.Status.ObservedGeneration >= daemonSet.Generation {
		short = daemonSet.Status.DesiredNumberScheduled - daemonSet.Status.CurrentNumberScheduled
	}
	if short <= 0 {
		c.shortSince = time.Time{}
		return 0, 0
	}
	if c.shortSince.IsZero() {
		c.shortSince = now
	}
	if left := patience - now.Sub(c.shortSince); left > 0 {
		return 0, left
	}
	return short, 0
}

// troubleOf returns what keeps a pod from running, nil for nothing, and in how long that is over by itself; 0 for never.
func troubleOf(pod *corev1.Pod, now time.Time) (found *trouble, until time.Duration) {
	node := nodeOf(pod)
	for _, container := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if last := container.LastTerminationState.Terminated; last != nil && container.RestartCount >= crashes {
			if left := crashWindow - now.Sub(last.FinishedAt.Time); left > 0 {
				return &trouble{node: node, reason: fmt.Sprintf("crashes with exit code %d", last.ExitCode), advice: readLog}, left
			}
		}
		if waiting := container.State.Waiting; waiting != nil {
			return &trouble{node: node, reason: waiting.Reason, advice: adviceFor(waiting.Reason), in: left(pod, now)}, 0
		}
	}
	switch pod.Status.Phase {
	case corev1.PodFailed:
		return &trouble{node: node, reason: pod.Status.Reason, advice: describe, in: left(pod, now)}, 0
	case corev1.PodPending:
		return &trouble{node: node, reason: "Pending", advice: describe, in: left(pod, now)}, 0
	case corev1.PodRunning, corev1.PodSucceeded, corev1.PodUnknown:
	}
	return nil, 0
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

// left is how much of the patience with a pod remains. It begins when the pod was last Ready, or with its creation.
func left(pod *corev1.Pod, now time.Time) time.Duration {
	since := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	return max(0, patience-now.Sub(since))
}

// nodeOf is the node that a pod runs on, or is to run on.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return "node/" + pod.Spec.NodeName
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				if field.Key == "metadata.name" && len(field.Values) == 1 {
					return "node/" + field.Values[0]
				}
			}
		}
	}
	return "the node of pod/" + pod.Name
}

// describeTroubles names the first few nodes in order, and what to do about all.
func describeTroubles(all []trouble) string {
	slices.SortFunc(all, func(a, b trouble) int { return strings.Compare(a.node, b.node) })
	var named, advice []string
	for i, t := range all {
		if i < maxNames {
			named = append(named, fmt.Sprintf("%s (%s)", t.node, t.reason))
		}
		if !slices.Contains(advice, t.advice) {
			advice = append(advice, t.advice)
		}
	}
	slices.Sort(advice)
	more := ""
	if rest := len(all) - len(named); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("The pods of daemonset/%s in %s do not run on %s%s; %s",
		operand.NodeManager, operand.Namespace, strings.Join(named, ", "), more, strings.Join(advice, " and "))
}

// sooner is the smaller of two durations of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
