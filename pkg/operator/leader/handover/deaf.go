package handover

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// DeafCondition is True while a leader looks at no node and nodes wait.
const DeafCondition = "DeafLeaderNotices"

// deafGrace is how long a leader must have been deaf. A CCM looks at each Node that waits within seconds after it has
// begun to lead.
const deafGrace = 2 * time.Minute

// replacedAt returns when a deaf leader is due to be replaced. ok is false for a leader that is not deaf.
func (c *controller) replacedAt(s snapshot, holder controlplane.Holder) (due time.Time, ok bool) {
	since, _, ok := c.Deafness.Of(holder.Identity)
	if !ok {
		return time.Time{}, false
	}
	due = since.Add(deafGrace)
	if last := s.lastReplaced(); !last.IsZero() && last.Add(deafness.pause).After(due) {
		due = last.Add(deafness.pause)
	}
	return due, true
}

// otherProcess returns the node whose process replaces a deaf leader. Without a standby on another Node, it is the
// holder's own. A standby that is not Ready may not reach the cloud, and then another process of the holder's node
// would not either.
func (s *snapshot) otherProcess(holder string) string {
	if next := s.successor(holder); next != "" {
		return next
	}
	for _, node := range s.nodes {
		if node.Name != holder {
			return ""
		}
	}
	return holder
}

// withoutSuccessor says what keeps each process on another node from leading.
func (s *snapshot) withoutSuccessor(holder string) string {
	var unfit []string
	for _, pod := range s.StaticPods() {
		if pod.Spec.NodeName != holder {
			unfit = append(unfit, s.unfit(pod))
		}
	}
	if len(unfit) == 0 {
		return "no other process runs; see StaticPodsDegraded"
	}
	slices.Sort(unfit)
	return "no other process can lead, because " + diagnostic.JoinFew(unfit, " and ", " and %d more")
}

// condition returns the condition about a deaf leader.
func (c *controller) condition(s snapshot, holder controlplane.Holder) *operatorclient.Condition {
	due, isDeaf := c.replacedAt(s, holder)
	if !isDeaf {
		return operatorclient.AsExpected(DeafCondition)
	}
	_, nodes, _ := c.Deafness.Of(holder.Identity)
	last := s.lastReplaced()
	reason, what := "LeaderDeaf", "another process leads from "+stamp(due)+" on"
	switch {
	case s.isMoving():
		what = "another process leads in a moment"
	case !last.IsZero():
		reason = "LeaderDeafAgain"
		what = fmt.Sprintf("a leader was replaced for this at %s, and the next one is at %s; check that the cloud's API "+
			"answers the control plane, then end this process", stamp(last), stamp(due))
	case s.otherProcess(holder.Node) == "":
		what = s.withoutSuccessor(holder.Node)
	}
	return operatorclient.NewCondition(DeafCondition, operatorv1.ConditionTrue, reason, fmt.Sprintf(
		"the cloud-controller-manager on node/%s leads and looks at no node, while %s; %s", holder.Node, waits(nodes), what))
}

// waits is a clause about the nodes that wait.
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
