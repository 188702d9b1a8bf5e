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

// record is a pod of a move, which stays for a while.
type record struct {
	*corev1.Pod
	// why the lead moves, and the name of the Node that it leaves.
	why  occasion
	left string
}

func recordsOf(pods []*corev1.Pod) (records []record) {
	for _, pod := range pods {
		r := record{Pod: pod}
		for _, why := range []occasion{cordon, idle, proof, takingBack} {
			for _, prefix := range []string{why.leave, why.take} {
				if node, is := strings.CutPrefix(pod.Name, prefix); is {
					r.why, r.left = why, node
				}
			}
		}
		records = append(records, r)
	}
	return records
}

// keeps returns how long the pod of a move stays, negative for until an event, 0 if it goes. While a Node is cordoned,
// the record of its move stays. A deleted Node has none.
func (v *view) keeps(r record) time.Duration {
	node, left := v.Node(r.left), r.CreationTimestamp.Add(r.why.pause).Sub(v.Now())
	switch {
	case r.why == cordon && node == nil:
		return 0
	case left > 0:
		return left
	case r.why == cordon && controlplane.IsCordoned(node):
		return -1
	default:
		return 0
	}
}

func (v *view) hasLeft(node string) bool {
	return slices.ContainsFunc(v.moves, func(r record) bool { return r.why == cordon && r.left == node })
}

// holderFlag of the pods of a move has the identity of the process that the lead leaves.
const holderFlag = "--holder="

// brokenOff returns the move away from the holder of which only the successor's pod exists: an error of the API server,
// or the end of the operator, came between the two pods. The successor waits for the other one while its pod runs, and
// afterwards its pod is the record of a move that failed.
func (v *view) brokenOff() (rest move, ok bool) {
	for _, r := range v.moves {
		isTake := r.Name == r.why.take+v.holder.Node && r.DeletionTimestamp == nil && !controlplane.HasEnded(r.Pod) &&
			slices.Contains(r.Spec.Containers[0].Args, holderFlag+v.holder.Identity)
		isLeave := func(other record) bool { return other.Name == r.why.leave+v.holder.Node }
		if isTake && v.holder.State.Runs() && !slices.ContainsFunc(v.moves, isLeave) {
			return move{occasion: r.why, successor: r.Spec.NodeName}, true
		}
	}
	return move{}, false
}

func (v *view) isMoving() bool { return v.Now().Before(v.movesUntil()) }

// movesUntil returns when the last move has ended at the latest.
func (v *view) movesUntil() time.Time {
	return v.latest(func(record) bool { return true }).Add(controlplane.MoveTimeout)
}

// lastReplaced returns when an idle leader was replaced last, zero if there is no record of it.
func (v *view) lastReplaced() time.Time {
	return v.latest(func(r record) bool { return r.why == idle })
}

// latest returns when the last one of some moves was started, zero if there is none.
func (v *view) latest(isOne func(r record) bool) (last time.Time) {
	for _, r := range v.moves {
		if at := r.CreationTimestamp.Time; isOne(r) && at.After(last) {
			last = at
		}
	}
	return last
}
