package availability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// joinTime is how long control-plane Nodes may take to join while a cluster is installed.
const joinTime = 30 * time.Minute

// maxNames bounds how many Nodes a message lists.
const maxNames = 5

// controlPlane is which control-plane Nodes there are to be.
type controlPlane struct {
	// installed is how many there are with those that are missing.
	installed int
	// present and vanished are their names. A vanished Node was deleted while it ran a pod of the operand.
	present, vanished []string
}

// roster remembers the control-plane Nodes. library-go's node controller removes a deleted Node from
// status.nodeStatuses, so that a status computed from there is healthy again as soon as its Nodes are dead.
// Its zero value has seen nothing.
type roster struct {
	// seen are the Nodes of the last observation.
	seen map[string]member
	// vanished are Nodes that ran a pod of the operand until they were deleted.
	vanished map[string]bool
	// installed is how many Nodes there were before the first of vanished was deleted.
	installed int
	// shortSince is since when there are fewer Nodes than the topology demands, without a known reason.
	shortSince time.Time
}

// member is what is remembered of a Node.
type member struct {
	// ran reports whether a revision was installed there.
	ran bool
	// cordoned tells a removal on purpose, which begins with a drain, from a Node that somebody deleted because its
	// machine or its kubelet was gone.
	cordoned bool
}

// observe records the Nodes and returns the control plane as it was installed.
func (r *roster) observe(s snapshot) controlPlane {
	now := r.members(s)
	minimum := minimumOf(s.topology)
	if r.seen == nil {
		// An earlier process of the operator may have ended before it, or library-go, took notice.
		r.seen, r.vanished = map[string]member{}, map[string]bool{}
		for _, status := range s.status.NodeStatuses {
			r.seen[status.NodeName] = member{ran: status.CurrentRevision > 0}
		}
	}
	r.installed = max(r.installed, len(r.seen))
	for name, was := range r.seen {
		_, is := now[name]
		switch {
		case is || !was.ran:
		case was.cordoned && len(now) >= minimum:
			r.installed--
		default:
			r.vanished[name] = true
		}
	}
	r.seen = now
	maps.DeleteFunc(r.vanished, func(name string, _ bool) bool { _, back := now[name]; return back })
	if len(r.vanished) == 0 || len(now) >= r.installed {
		r.vanished, r.installed = map[string]bool{}, len(now)
	}
	return controlPlane{
		installed: max(r.installed, minimum),
		present:   slices.Sorted(maps.Keys(now)),
		vanished:  slices.Sorted(maps.Keys(r.vanished)),
	}
}

func (r *roster) members(s snapshot) map[string]member {
	now := map[string]member{}
	for _, node := range s.nodes {
		now[node.Name] = member{ran: r.seen[node.Name].ran, cordoned: node.Spec.Unschedulable}
	}
	for _, status := range s.status.NodeStatuses {
		if m, ok := now[status.NodeName]; ok && status.CurrentRevision > 0 {
			m.ran = true
			now[status.NodeName] = m
		}
	}
	return now
}

// condition reports Nodes that vanished or are missing, and after what time to look again.
func (r *roster) condition(plane controlPlane, s snapshot) (*condition, time.Duration) {
	left := fmt.Sprintf("%d of %d control-plane Nodes exist", len(plane.present), plane.installed)
	if len(plane.vanished) > 0 {
		r.shortSince = time.Time{}
		return newCondition(ControlPlaneNodesCondition, operatorv1.ConditionTrue, "NodesVanished", fmt.Sprintf(
			"%s vanished while the static pod %s ran there, %s; "+
				"restart the kubelet so that the Node registers again, or replace the machine",
			nodeList(plane.vanished), operand.Name, left)), 0
	}
	healthy := newCondition(ControlPlaneNodesCondition, operatorv1.ConditionFalse, asExpected, left)
	if len(plane.present) >= plane.installed {
		r.shortSince = time.Time{}
		return healthy, 0
	}
	previous := v1helpers.FindOperatorCondition(s.status.Conditions, ControlPlaneNodesCondition)
	reported := previous != nil && previous.Status == operatorv1.ConditionTrue
	if reported && previous.Reason == "NodesVanished" {
		// An earlier process knew which Nodes are missing.
		return newCondition(previous.Type, previous.Status, previous.Reason, previous.Message), 0
	}
	if r.shortSince.IsZero() {
		r.shortSince = s.now
	}
	if wait := joinTime - s.now.Sub(r.shortSince); wait > 0 && !reported {
		return healthy, wait
	}
	return newCondition(ControlPlaneNodesCondition, operatorv1.ConditionTrue, "NodesMissing", fmt.Sprintf(
		"%s, infrastructure/cluster has the topology %s; look at the machines and kubelets of those that are missing",
		left, s.topology)), 0
}

// minimumOf returns how many control-plane Nodes a topology has at least, 0 if it says nothing.
func minimumOf(topology configv1.TopologyMode) int {
	switch topology {
	case configv1.HighlyAvailableTopologyMode:
		return 3
	case configv1.DualReplicaTopologyMode, configv1.HighlyAvailableArbiterMode:
		return 2
	case configv1.SingleReplicaTopologyMode:
		return 1
	case configv1.ExternalTopologyMode:
	}
	return 0
}

// on returns the pods whose Node exists: a mirror pod outlives its Node by a minute, and says nothing.
func (p controlPlane) on(pods []*corev1.Pod) []*corev1.Pod {
	var kept []*corev1.Pod
	for _, pod := range pods {
		if _, found := slices.BinarySearch(p.present, pod.Spec.NodeName); found {
			kept = append(kept, pod)
		}
	}
	slices.SortFunc(kept, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

func nodeList(names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), maxNames)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("node/" + name)
	}
	if rest := len(names) - maxNames; rest > 0 {
		fmt.Fprintf(&b, " and %d more", rest)
	}
	return b.String()
}
