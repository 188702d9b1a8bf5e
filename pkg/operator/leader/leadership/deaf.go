package leadership

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// NodeControllerCondition is True while the leader's node controller is not running and nodes wait for it.
const NodeControllerCondition = "DeafLeaderNotices"

// deafGrace is how long the node controller may be idle: a new leader looks at each waiting Node within seconds.
const deafGrace = 2 * time.Minute

func replacementWanted(v *view) move {
	if !v.isDeaf || v.isChanging() {
		return move{}
	}
	return move{deaf, v.replacedAt(), v.otherProcess()}
}

func (v *view) lastReplaced() time.Time {
	return v.latest(func(p movePod) bool { return p.why == deaf })
}

func (v *view) replacedAt() time.Time {
	due := v.deafSince.Add(deafGrace)
	if again := v.lastReplaced().Add(deaf.pause); again.After(due) {
		return again
	}
	return due
}

// otherProcess returns the node whose process replaces the leader: the holder's own if there is no other Node. An
// unready standby may not reach the cloud, and another process of the holder's node would not either.
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
	if !v.isDeaf {
		return operatorclient.AsExpected(NodeControllerCondition)
	}
	due, last := stamp(v.replacedAt()), v.lastReplaced()
	reason, what := "LeaderDeaf", "another process leads from "+due+" on"
	switch {
	case v.isMoving():
		what = "another process leads in a moment"
	case controlplane.KubeletOf(v.Node(v.holder.Node)) != controlplane.KubeletReady:
		what = fmt.Sprintf("no other process leads before node/%s is Ready: check its kubelet", v.holder.Node)
	case !last.IsZero():
		reason = "LeaderDeafAgain"
		what = fmt.Sprintf("a leader was replaced for this at %s, and the next one is at %s; check that the cloud's API "+
			"answers the control plane, then end this process", stamp(last), due)
	case v.isChanging():
		what = "another process leads once the rollout has ended"
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
	return diagnostic.FewNodes(nodes) + verb
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
