package controlplane

import (
	"cmp"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// RollsOut reports whether a revision is being rolled out; conditionType is the Progressing condition that will show
// it. A node that joins when another node has the latest revision gets it without a rollout: Progressing is not for a
// cluster that grows (clusteroperator.md in openshift/enhancements). During the first installation, or another rollout,
// which the present condition shows, the node counts.
func RollsOut(status *operatorv1.StaticPodOperatorStatus, conditionType string) bool {
	former := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
	ended := former != nil && former.Status == operatorv1.ConditionFalse &&
		slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
			return n.CurrentRevision != 0 && n.CurrentRevision == status.LatestAvailableRevision
		})
	return slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		joins := ended && n.CurrentRevision == 0
		return n.CurrentRevision != status.LatestAvailableRevision && !joins
	})
}

// IsInstalling reports whether a node of a status gets a revision, also by a repair, or lacks the latest one. A node
// whose kubelet does not work may stay behind for days, and does not count.
func (v *View) IsInstalling(status *operatorv1.StaticPodOperatorStatus) bool {
	return slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		isBehind := n.TargetRevision != 0 || n.CurrentRevision != status.LatestAvailableRevision
		return isBehind && KubeletOf(v.Node(n.NodeName)) == KubeletReady
	})
}

// StatusOf returns the status of a node, or a zero status.
func StatusOf(status *operatorv1.StaticPodOperatorStatus, node string) operatorv1.NodeStatus {
	return first(status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.NodeName == node })
}

// IsRepair reports whether a node is being reinstalled with its current revision. Node repair sets such a target.
func IsRepair(node *operatorv1.NodeStatus) bool {
	return node.TargetRevision != 0 && node.TargetRevision == node.CurrentRevision
}

func isChanging(node *operatorv1.NodeStatus, latest int32) bool {
	return node.TargetRevision != 0 && (!IsRepair(node) || node.CurrentRevision == latest)
}

// CannotJoin reports whether a node has no revision and no working kubelet that could start one: a machine that has
// just registered, or that died then. It may stay like this for ever, so nothing waits for it, and it proves nothing.
func (v *View) CannotJoin(node *operatorv1.NodeStatus) bool {
	return node.CurrentRevision == 0 && KubeletOf(v.Node(node.NodeName)) != KubeletReady
}

// OtherHasEnded reports whether the process of another node's static pod has ended and is not Ready, although the
// kubelet there works.
func (v *View) OtherHasEnded(node string) bool {
	return slices.ContainsFunc(v.StaticPods(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != node && KubeletOf(v.Node(pod.Spec.NodeName)) == KubeletReady && !IsReady(pod) &&
			Terminated(ContainerStatus(pod)) != nil
	})
}

// Halfway returns the first node that has the latest revision, preferably the leader's, and the former revision: that
// of a leader that has settled, otherwise the oldest, because nobody may have led with a newer one yet. It returns 0
// while a node is being installed or has no revision, and unless some nodes have the latest revision and some do not.
// A repair with a former revision does not count, nor does a node that cannot get the latest one, for which no rollout
// waits.
func (v *View) Halfway() (first string, former int32) {
	latest, leader := v.Status().LatestAvailableRevision, v.LeaseNode()
	var behind []operatorv1.NodeStatus
	for _, node := range v.Status().NodeStatuses {
		switch {
		case v.CannotJoin(&node), node.CurrentRevision != latest && KubeletOf(v.Node(node.NodeName)) == KubeletSilent:
		case isChanging(&node, latest) || node.CurrentRevision == 0:
			return "", 0
		case node.CurrentRevision != latest:
			behind = append(behind, node)
		case first == "" || node.NodeName == leader:
			first = node.NodeName
		}
	}
	if first == "" || len(behind) == 0 {
		return "", 0
	}
	return first, formerOf(behind, leader, v.Holder().State == Leading)
}

func formerOf(behind []operatorv1.NodeStatus, leader string, hasSettled bool) int32 {
	isLeader := func(node operatorv1.NodeStatus) bool { return node.NodeName == leader }
	if i := slices.IndexFunc(behind, isLeader); i >= 0 && hasSettled {
		return behind[i].CurrentRevision
	}
	return slices.MinFunc(behind, func(a, b operatorv1.NodeStatus) int {
		return cmp.Compare(a.CurrentRevision, b.CurrentRevision)
	}).CurrentRevision
}

// LeaseNode returns the node of the operator's status that the lease names, "" if it names none, whatever the state of
// the process: it may lead again.
func (v *View) LeaseNode() string {
	record := &v.state.Record
	if record.Lease == nil || !record.Exists {
		return ""
	}
	var names []string
	for _, node := range v.Status().NodeStatuses {
		names = append(names, node.NodeName)
	}
	return leaseholder.Node(record.Lease, names)
}

// PredecessorRevision is what WorkingRevision returns while the predecessor leads.
const PredecessorRevision = -1

// WorkingRevision returns the revision that a change could break: the leader's, if a process of ours leads and another
// node has a revision, too, unless there is one node only. Otherwise it returns 0, or PredecessorRevision while the
// predecessor leads. A leader that does not renew counts until its lease expires: after an outage of the API, it renews
// within its retry period.
func (v *View) WorkingRevision() int32 {
	holder := v.Holder()
	if holder.State == Predecessor {
		return PredecessorRevision
	}
	installed := 0
	for _, node := range v.Status().NodeStatuses {
		if node.CurrentRevision != 0 {
			installed++
		}
	}
	if !holder.State.Runs() || installed < min(2, len(v.Status().NodeStatuses)) {
		return 0
	}
	return v.Revisions(holder.Node).CurrentRevision
}
