package leadership

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// occasion is why the lead moves. Its prefixes are followed by the name of the Node that the lead leaves, in the names
// of the pods on that Node and on the successor. The pods stay for a while.
type occasion struct {
	leave, take string
	pause       time.Duration
}

var (
	// cordon is a Node that reboots. The lead does not leave it again for a quarter of an hour.
	cordon = occasion{leave: "handover-leave-", take: "handover-take-", pause: 15 * time.Minute}

	// idle is a leader whose node controller is not running. While the cloud is away, that of the next one may not
	// either, so no other leader is replaced for an hour.
	idle = occasion{leave: "handover-end-", take: "handover-follow-", pause: time.Hour}

	// proof is a revision that is to lead on its first node before another one gets it. takingBack is a process that leads
	// with it and has shown nothing. Package preflight has the record of both.
	proof      = occasion{leave: "handover-yield-", take: "handover-prove-", pause: controlplane.MoveTimeout}
	takingBack = occasion{leave: "handover-give-", take: "handover-return-", pause: controlplane.MoveTimeout}
)

// occasionOf returns why the lead moves with this pod, and the name of the Node that it leaves.
func occasionOf(pod *corev1.Pod) (why occasion, node string) {
	for _, why := range []occasion{cordon, idle, proof, takingBack} {
		for _, prefix := range []string{why.leave, why.take} {
			if node, is := strings.CutPrefix(pod.Name, prefix); is {
				return why, node
			}
		}
	}
	return occasion{}, ""
}

// keeps returns how long the pod of a move stays, negative for until an event, 0 if it goes. While a Node is cordoned,
// the record of its move stays. A deleted Node has none.
func (v *view) keeps(pod *corev1.Pod) time.Duration {
	why, name := occasionOf(pod)
	node, left := v.Node(name), pod.CreationTimestamp.Add(why.pause).Sub(v.Now())
	switch {
	case why == cordon && node == nil:
		return 0
	case left > 0:
		return left
	case why == cordon && controlplane.IsCordoned(node):
		return -1
	default:
		return 0
	}
}

// hasLeft reports whether the lead has left this Node since it was cordoned.
func (v *view) hasLeft(node string) bool {
	return slices.ContainsFunc(v.moves, func(pod *corev1.Pod) bool {
		why, left := occasionOf(pod)
		return why == cordon && left == node
	})
}

// holderFlag of the pods of a move has the identity of the process that the lead leaves.
const holderFlag = "--holder="

// brokenOff returns the move away from the holder of which only the successor's pod exists: an error of the API server,
// or the end of the operator, came between the two pods. The successor waits for the other one while its pod runs, and
// afterwards its pod is the record of a move that failed.
func (v *view) brokenOff() (rest move, ok bool) {
	for _, pod := range v.moves {
		why, _ := occasionOf(pod)
		isTake := pod.Name == why.take+v.holder.Node && pod.DeletionTimestamp == nil && !controlplane.HasEnded(pod) &&
			slices.Contains(pod.Spec.Containers[0].Args, holderFlag+v.holder.Identity)
		isLeave := func(other *corev1.Pod) bool { return other.Name == why.leave+v.holder.Node }
		if isTake && v.holder.State.Runs() && !slices.ContainsFunc(v.moves, isLeave) {
			return move{occasion: why, successor: pod.Spec.NodeName}, true
		}
	}
	return move{}, false
}

// isMoving reports whether a Node may just be handing the lead over.
func (v *view) isMoving() bool { return v.Now().Before(v.movesUntil()) }

// movesUntil returns when the last move has ended at the latest.
func (v *view) movesUntil() (end time.Time) {
	for _, pod := range v.moves {
		if at := pod.CreationTimestamp.Add(controlplane.MoveTimeout); at.After(end) {
			end = at
		}
	}
	return end
}

// lastReplaced returns when an idle leader was replaced last, zero if there is no record of it.
func (v *view) lastReplaced() (last time.Time) {
	for _, pod := range v.moves {
		why, _ := occasionOf(pod)
		if at := pod.CreationTimestamp.Time; why == idle && at.After(last) {
			last = at
		}
	}
	return last
}
