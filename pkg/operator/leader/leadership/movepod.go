package leadership

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// occasion is why the lead moves. The prefixes, followed by the name of the Node that the lead leaves, name the pods on
// that Node and on the successor. No other such move starts within the pause.
type occasion struct {
	leave, take string
	pause       time.Duration
}

var (
	// cordon is a Node that reboots. Its pause applies only to that Node.
	cordon = occasion{leave: "handover-leave-", take: "handover-take-", pause: 15 * time.Minute}

	// deaf is a leader whose node controller is not running. In an outage of the cloud, the next one's may not run either.
	deaf = occasion{leave: "handover-end-", take: "handover-follow-", pause: time.Hour}

	// proving moves the lead to the first node of a revision, takingBack away from it, see package preflight.
	proving    = occasion{leave: "handover-yield-", take: "handover-prove-", pause: controlplane.MoveTimeout}
	takingBack = occasion{leave: "handover-give-", take: "handover-return-", pause: controlplane.MoveTimeout}
)

// movePod is a pod of a move. It stays as the record of that move, also for the next process of the operator.
type movePod struct {
	*corev1.Pod
	// left is the Node that the lead leaves.
	why  occasion
	left string
}

func movePodsOf(pods []*corev1.Pod) (found []movePod) {
	for _, pod := range pods {
		p := movePod{Pod: pod}
		for _, why := range []occasion{cordon, deaf, proving, takingBack} {
			for _, prefix := range []string{why.leave, why.take} {
				if node, is := strings.CutPrefix(pod.Name, prefix); is {
					p.why, p.left = why, node
				}
			}
		}
		found = append(found, p)
	}
	return found
}

// keeps returns how long the pod of a move stays, negative for until an event, 0 if it must go. The record of a
// cordoned Node's move stays, and goes with the Node.
func (v *view) keeps(p movePod) time.Duration {
	node, left := v.Node(p.left), p.CreationTimestamp.Add(p.why.pause).Sub(v.Now())
	switch {
	case p.why == cordon && node == nil:
		return 0
	case left > 0:
		return left
	case p.why == cordon && controlplane.IsCordoned(node):
		return -1
	default:
		return 0
	}
}

func (v *view) hasLeft(node string) bool {
	return slices.ContainsFunc(v.moves, func(p movePod) bool { return p.why == cordon && p.left == node })
}

// holderFlag is followed by the identity of the process that the lead leaves.
const holderFlag = "--holder="

// brokenOff returns a move that has only the successor's pod: an error of the API server, or the end of the operator,
// prevented the other. It can continue while that pod runs, for a proof only while that is open; afterwards the pod is
// the record of a failed move.
func (v *view) brokenOff() (rest move, ok bool) {
	for _, p := range v.moves {
		isTake := p.Name == p.why.take+v.holder.Node && p.DeletionTimestamp == nil && !controlplane.HasEnded(p.Pod) &&
			slices.Contains(p.Spec.Containers[0].Args, holderFlag+v.holder.Identity)
		isLeave := func(other movePod) bool { return other.Name == p.why.leave+v.holder.Node }
		isOver := (p.why == proving || p.why == takingBack) && !v.proof.IsOpen(v.Status().LatestAvailableRevision)
		if isTake && !isOver && v.holder.State.Runs() && !slices.ContainsFunc(v.moves, isLeave) {
			return move{occasion: p.why, successor: p.Spec.NodeName}, true
		}
	}
	return move{}, false
}

func (v *view) isMoving() bool { return v.Now().Before(v.movesUntil()) }

// movesUntil returns when the last move has ended at the latest.
func (v *view) movesUntil() time.Time {
	return v.latest(func(movePod) bool { return true }).Add(controlplane.MoveTimeout)
}

func (v *view) latest(isOne func(p movePod) bool) (last time.Time) {
	for _, p := range v.moves {
		if at := p.CreationTimestamp.Time; isOne(p) && at.After(last) {
			last = at
		}
	}
	return last
}
