package availability

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

const asExpected = "AsExpected"

// minGracePeriod is the grace period without a lease whose duration defines it.
const minGracePeriod = 2 * time.Minute

// operandState is the state of pods and lease at one moment.
type operandState struct {
	// reason is asExpected if the operand works.
	reason, message string
	// ready reports whether any pod is Ready.
	ready  bool
	leader controlplane.Holder
	// gracePeriod is how long a failure must last before it is an outage: the duration of a lease of ours. After a
	// leader's death the lease has to expire first. Standbys look at it only every 26 to 57 s, the jittered retry
	// period. They may start to count its duration one period late, and retry one period late. The single pod of a
	// single-node cluster recovers faster.
	gracePeriod time.Duration
}

// operandStateOf evaluates the operand's pods on the expected Nodes, and the lease, which a pod on a Node that lost the
// role may hold. Messages contain nothing that changes with the clock, because every change is written to the API.
func operandStateOf(v view, pods []*corev1.Pod, expected expectedNodes) operandState {
	ready := 0
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && controlplane.IsReady(pod) {
			ready++
		}
	}
	present := v.WithNodes(expected.runs, expected.vanished)
	state := operandState{leader: present.Holder(), gracePeriod: max(minGracePeriod, v.Duration())}
	state.ready = ready > 0 || state.leader.State == controlplane.Predecessor
	readyText := fmt.Sprintf("%d of %d cloud-controller-managers are Ready", ready, expected.installed)
	if !state.ready {
		state.reason, state.message = "NoReadyPod", fmt.Sprintf("%s%s; check the pods in %s and the logs of their "+
			"container %s", readyText, waitingText(pods), operand.Namespace, operand.Name)
		return state
	}
	state.reason, state.message = describe(state.leader, readyText)
	return state
}

// describe returns the reason and message of Available by the lease. The reason is asExpected for a working leader.
func describe(h controlplane.Holder, readyText string) (reason, message string) {
	const lease = "lease/" + operand.Lease + " in " + operand.Namespace
	held := fmt.Sprintf("%s is held by %q", lease, h.Identity)
	switch h.State {
	case controlplane.Vacant:
		return "NoLeader", fmt.Sprintf("%s has no holder; %s and one of them takes over within a minute; if none does, "+
			"check the logs of the container %s for why they cannot acquire it", lease, readyText, operand.Name)
	case controlplane.Expired:
		return "LeaseExpired", fmt.Sprintf("%q has stopped renewing %s and no standby has taken over although %s; "+
			"check the logs of the container %s for leader-election errors", h.Identity, lease, readyText, operand.Name)
	case controlplane.Other:
		return "ForeignLeader", fmt.Sprintf("%s, which is not a container of this operator's %s pods; "+
			"stop that cloud-controller-manager", held, operand.Name)
	case controlplane.Predecessor:
		return "PredecessorLeads", fmt.Sprintf("the cloud-controller-manager of this operator's predecessor on node/%s "+
			"holds %s; the condition %s has the step of its replacement", h.Node, lease, predecessor.ConditionType)
	case controlplane.NodeGone:
		return "LeaderCutOff", fmt.Sprintf("%s on node/%s, which is no longer a control-plane Node; "+
			"make sure that the machine is off, or that its kubelet registers the Node again", held, h.Node)
	case controlplane.Ended:
		return "LeaderEnded", fmt.Sprintf("%s, a container on node/%s that has ended; "+
			"%s and may take over when the lease expires; if none does, check their logs", held, h.Node, readyText)
	case controlplane.NotRenewing:
		return "LeaderSilent", fmt.Sprintf("%s on node/%s, which has not renewed it for %.0fs; "+
			"%s and may take over when the lease expires; check the node, and the log of its container %s",
			held, h.Node, h.Silence.Seconds(), readyText, operand.Name)
	case controlplane.Starting:
		return "LeaderStarting", fmt.Sprintf("%s on node/%s, which has not yet held it for %s; %s",
			held, h.Node, controlplane.SettleTime, readyText)
	case controlplane.Leading:
	}
	return asExpected, fmt.Sprintf("%s; the one on node/%s leads", readyText, h.Node)
}

// works reports whether a process of ours, or of the predecessor, leads.
func (s operandState) works() bool {
	return s.reason == asExpected || s.leader.State == controlplane.Predecessor
}

// withoutLeader returns the state of an operand of which each process that acquires the lease ends. The holder of this
// moment says nothing then. last is how the last one ended, nil if that is not known.
func (s operandState) withoutLeader(since time.Time, last *crashLoop) operandState {
	if !s.ready || s.leader.State == controlplane.Other {
		return s
	}
	s.reason = "NoLeader"
	s.message = fmt.Sprintf("no cloud-controller-manager has led for %s since %s: each that acquires lease/%s in %s ends",
		controlplane.SettleTime, since.UTC().Format(time.RFC3339), operand.Lease, operand.Namespace)
	if last == nil {
		s.message += fmt.Sprintf("; read the logs of their container %s", operand.Name)
	} else {
		s.message += fmt.Sprintf(", last %s; %s", last.end, last.action)
	}
	return s
}

// waitingText lists the containers that wait for something other than their start.
func waitingText(pods []*corev1.Pod) string {
	var waiting []string
	for _, pod := range pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if controlplane.IsStuck(status) {
				waiting = append(waiting, fmt.Sprintf("container %s of pod/%s with image %s is in %s",
					status.Name, pod.Name, status.Image, status.State.Waiting.Reason))
			}
		}
	}
	slices.Sort(waiting)
	if len(waiting) > 0 {
		waiting[0] = ": " + waiting[0]
	}
	return strings.Join(waiting, ", ")
}
