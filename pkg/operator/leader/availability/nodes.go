package availability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// joinTimeout is how long control-plane Nodes may take to join during an installation.
const joinTimeout = 30 * time.Minute

// goneTimeout is how long a deleted Node counts as missing if the topology does not require it. A restarted kubelet
// registers its Node within minutes, and the alert ClusterOperatorDegraded waits for half an hour.
const goneTimeout = 15 * time.Minute

type expectedNodes struct {
	// installed is the expected number of Nodes, including missing ones, and minimum the topology's.
	installed, minimum int
	// A vanished Node was deleted while it ran a pod of the operand.
	present, vanished []string
	// left are the Nodes that left on purpose. A process on one of them may still lead.
	left []string
	// withoutRole are Nodes that lost the role but still run a pod of the operand.
	withoutRole []string
}

// nodeHistory remembers the control-plane Nodes: library-go's node controller removes deleted Nodes from
// status.nodeStatuses, so that status looks healthy without them. The zero value is ready for use.
type nodeHistory struct {
	// seen are the last Nodes, and whether a revision was installed on each.
	seen map[string]bool
	// vanished are the Nodes that were deleted while they ran a pod of the operand, since when.
	vanished patience.Each[string, bool]
	// installed is the number of Nodes before the first vanished one was deleted.
	installed int
	// short is since when the number of Nodes has been below the expected one for no known reason.
	short patience.Since[bool]
}

// departures are the Nodes whose last version showed an intended removal: a cordon, with which a drain starts, or a
// permitted deletion, because the machine is gone. A sync may run only after the deletion, so events record it.
type departures struct {
	mu   sync.Mutex
	last map[string]bool
}

// note records a version of a Node. As a filter that drops no event, it runs before the sync that the event causes.
func (d *departures) note(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if node, ok := obj.(*corev1.Node); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.last == nil {
			d.last = map[string]bool{}
		}
		delete(d.last, node.Name)
		if controlplane.IsCordoned(node) || node.Annotations[operatorclient.NodeDeletionAnnotation] != "" {
			d.last[node.Name] = true
		}
	}
	return true
}

func (d *departures) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.last))
}

func (h *nodeHistory) observe(v view) expectedNodes {
	now, minimum := map[string]bool{}, minimums[v.Topology()]
	for _, node := range v.Nodes() {
		now[node.Name] = h.seen[node.Name] || v.Revisions(node.Name).CurrentRevision > 0
	}
	if h.seen == nil {
		// A Node may have been deleted between two processes of the operator.
		h.seen, h.vanished = map[string]bool{}, patience.Each[string, bool]{}
		for _, status := range v.Status().NodeStatuses {
			h.seen[status.NodeName] = status.CurrentRevision > 0
		}
	}
	h.installed = max(h.installed, len(h.seen))
	h.compare(v, now)
	h.forgetGone(v, minimum)
	if len(h.vanished) == 0 || len(now) >= max(h.installed, minimum) {
		h.vanished, h.installed = patience.Each[string, bool]{}, len(now)
	}
	expected := expectedNodes{
		installed: max(h.installed, minimum), minimum: minimum,
		present:     slices.Sorted(maps.Keys(now)),
		vanished:    slices.Sorted(maps.Keys(h.vanished)),
		left:        slices.DeleteFunc(slices.Clone(v.leaving), func(name string) bool { _, is := now[name]; return is }),
		withoutRole: slices.Sorted(slices.Values(v.withoutRole)),
	}
	h.short.See(expected.areShort(), v.Now())
	return expected
}

// compare notes which of the Nodes that were seen before have vanished, and which are back.
func (h *nodeHistory) compare(v view, now map[string]bool) {
	for name, ran := range h.seen {
		_, is := now[name]
		switch {
		case is || !ran:
		case slices.Contains(v.withoutRole, name):
			h.installed--
		default:
			h.vanished.See(name, true, v.Now())
		}
	}
	h.seen = now
	for _, name := range slices.Concat(slices.Collect(maps.Keys(now)), v.withoutRole) {
		delete(h.vanished, name)
	}
}

// areShort reports whether Nodes are missing whose names are unknown.
func (e expectedNodes) areShort() bool { return len(e.vanished) == 0 && len(e.present) < e.installed }

// forgetGone forgets the Nodes that left on purpose, and those that have been missing for goneTimeout, if the others
// satisfy the topology: an administrator may remove a control-plane Node for good without a cordon. It does not forget
// a Node whose process holds the lease, because that machine is alive.
func (h *nodeHistory) forgetGone(v view, minimum int) {
	if len(h.seen) < minimum {
		return
	}
	record := v.Record()
	for name, since := range h.vanished {
		// Also one that has expired or was deleted, for which the View has no holder.
		holdsLease := record.Lease != nil && leaseholder.Node(record.Lease, []string{name}) != ""
		isGone := v.Now().Sub(since.At()) >= goneTimeout && !holdsLease
		if isGone || slices.Contains(v.leaving, name) {
			delete(h.vanished, name)
			h.installed--
		}
	}
}

// nodesMissing is violated by static pods on Nodes that lost the role, and by vanished or missing Nodes.
func nodesMissing(in *input) result {
	found := in.missing()
	if len(in.expected.withoutRole) == 0 {
		return found
	}
	message := fmt.Sprintf("%s lost the label %s while the static pod %s ran there, which still runs and may lead; "+
		"set the label again, or delete /etc/kubernetes/manifests/%s there",
		diagnostic.FewNodes(in.expected.withoutRole), operatorclient.MasterLabel, operand.Name, operand.ManifestFile)
	if found.violated {
		message += "; " + found.message
	}
	return result{reason: "StaticPodsLeft", message: message, violated: true, next: found.next}
}

func (in *input) missing() result {
	e := in.expected
	left := fmt.Sprintf("%d of %d control-plane Nodes exist", len(e.present), e.installed)
	if len(e.vanished) > 0 {
		return in.areVanished(left)
	}
	if !e.areShort() {
		return result{}
	}
	previous := v1helpers.FindOperatorCondition(in.Status().Conditions, ControlPlaneNodesCondition)
	reported := previous != nil && previous.Status == operatorv1.ConditionTrue && previous.Reason != "StaticPodsLeft"
	if reported && previous.Reason == "NodesVanished" {
		// An earlier process of the operator knew the names of the missing Nodes.
		return result{reason: previous.Reason, message: previous.Message, violated: true}
	}
	if wait := joinTimeout - in.Now().Sub(in.history.short.At()); wait > 0 && !reported {
		return result{reason: asExpected, message: left, next: wait}
	}
	return result{reason: "NodesMissing", violated: true, message: fmt.Sprintf(
		"%s, but infrastructure/cluster has the topology %s; check the machines and kubelets of the missing Nodes",
		left, in.Topology())}
}

func (in *input) areVanished(left string) result {
	found := result{reason: "NodesVanished", violated: true, message: fmt.Sprintf(
		"%s vanished while the static pod %s ran there, %s; restart the kubelet so that the Node registers again, or "+
			"replace the machine", diagnostic.FewNodes(in.expected.vanished), operand.Name, left)}
	if len(in.expected.present) < in.expected.minimum {
		return found
	}
	found.message += fmt.Sprintf("; the topology needs no more Nodes, so a Node that stays away for %d minutes "+
		"counts as removed", int(goneTimeout.Minutes()))
	for _, since := range in.history.vanished {
		found.next = patience.Sooner(found.next, goneTimeout-in.Now().Sub(since.At()))
	}
	return found
}

var minimums = map[configv1.TopologyMode]int{
	configv1.HighlyAvailableTopologyMode: 3, configv1.DualReplicaTopologyMode: 2, configv1.HighlyAvailableArbiterMode: 2,
	configv1.SingleReplicaTopologyMode: 1,
}

// podsOnNodes returns the pods on existing Nodes. A mirror pod outlives its Node by a minute.
func (e expectedNodes) podsOnNodes(pods []*corev1.Pod) []*corev1.Pod {
	kept := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !slices.Contains(e.present, pod.Spec.NodeName)
	})
	slices.SortFunc(kept, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

func (e expectedNodes) runs(node string) bool {
	return slices.Contains(e.present, node) || slices.Contains(e.withoutRole, node)
}
