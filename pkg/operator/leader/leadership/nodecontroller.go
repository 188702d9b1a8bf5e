package leadership

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// NodeControllerCondition is True while a leader's node controller is not running and nodes wait.
const NodeControllerCondition = "DeafLeaderNotices"

// idleGrace is how long the node controller must not have been running. A CCM looks at each Node that waits within
// seconds after it has started to lead.
const idleGrace = 2 * time.Minute

func restartWanted(v *view) (wanted move, ok bool) {
	if !v.isIdle || v.isChanging() {
		return move{}, false
	}
	return move{idle, v.replacedAt(), v.otherProcess()}, true
}

func (v *view) replacedAt() time.Time {
	due := v.idleSince.Add(idleGrace)
	if last := v.lastReplaced(); !last.IsZero() && last.Add(idle.pause).After(due) {
		return last.Add(idle.pause)
	}
	return due
}

// otherProcess returns the node whose process replaces the leader. Without a standby on another Node, it is the
// holder's own. A standby that is not Ready may not reach the cloud, and then another process of the holder's node
// would not either.
func (v *view) otherProcess() string {
	isOther := func(node *corev1.Node) bool { return v.isOther(node.Name) }
	if next := v.successor(v.isOther); next != "" || slices.ContainsFunc(v.Nodes(), isOther) {
		return next
	}
	return v.holder.Node
}

func (v *view) withoutSuccessor() string {
	var unfit []string
	for _, pod := range v.StaticPods() {
		if v.isOther(pod.Spec.NodeName) {
			unfit = append(unfit, v.unfit(pod))
		}
	}
	if len(unfit) == 0 {
		return "no other process runs; see StaticPodsDegraded"
	}
	slices.Sort(unfit)
	return "no other process can lead, because " + diagnostic.JoinFew(unfit, " and ", " and %d more")
}

func (v *view) condition() *operatorclient.Condition {
	if !v.isIdle {
		return operatorclient.AsExpected(NodeControllerCondition)
	}
	due, last := stamp(v.replacedAt()), v.lastReplaced()
	reason, what := "LeaderDeaf", "another process leads from "+due+" on"
	switch {
	case v.isMoving():
		what = "another process leads in a moment"
	case !last.IsZero():
		reason = "LeaderDeafAgain"
		what = fmt.Sprintf("a leader was replaced for this at %s, and the next one is at %s; check that the cloud's API "+
			"answers the control plane, then end this process", stamp(last), due)
	case v.otherProcess() == "":
		what = v.withoutSuccessor()
	}
	return operatorclient.NewCondition(NodeControllerCondition, operatorv1.ConditionTrue, reason, fmt.Sprintf(
		"the cloud-controller-manager on node/%s leads and looks at no node, while %s; %s", v.holder.Node, waits(v.waiting),
		what))
}

func waits(nodes []string) string {
	verb := " wait"
	if len(nodes) == 1 {
		verb = " waits"
	}
	var named []string
	for _, node := range nodes {
		named = append(named, "node/"+node)
	}
	return diagnostic.JoinFew(named, ", ", " and %d more") + verb
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
