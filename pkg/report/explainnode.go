package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodeinitialization"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodemanager"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// ExplainNode explains why a Node is not initialized.
func ExplainNode(s *snapshot.Snapshot, name string) (*Explanation, error) {
	e, err := begin(s)
	if err != nil {
		return nil, err
	}
	node := e.kubelet(name)
	if node == nil {
		return e.withCause("no kubelet has registered the Node",
			"check the machine, its kubelet's log, and the requests in: oc get csr"), nil
	}
	if !controlplane.IsUninitialized(node) {
		return e.initialized(node), nil
	}
	e.step(false, "it has had the uninitialized taint for up to %s",
		humanDuration(s.Taken.Sub(node.CreationTimestamp.Time)))
	if e.unmanaged("no controller removes the taint on this platform",
		"start the kubelet without --cloud-provider=external, or run a cloud-controller-manager") {
		return e.Explanation, nil
	}
	var named Condition
	if e.platform.NodeManagerImage != "" {
		c, isTrue := e.firstTrue(nodemanager.DegradedCondition, nodemanager.NoticesCondition)
		e.either(!isTrue, "the cloud-node-manager on that node initializes it", "the cloud-node-manager fails on nodes")
		named = c
	}
	return e.waiting(node, named), nil
}

// waiting ends the explanation of a Node that waits: with c if it is set, otherwise with the condition that names the
// Node. Without a cloud-node-manager, the leader's log is the fallback if no condition names a cause yet, or the
// operator is down.
func (e *walk) waiting(node *corev1.Node, c Condition) *Explanation {
	leader, leads := controlplane.Holder{}, false
	if e.platform.NodeManagerImage == "" {
		leader, leads = e.leads()
	}
	conditions := []string{nodeinitialization.DegradedCondition, nodeinitialization.NoticesCondition}
	for _, conditionType := range conditions {
		if found, isNamed := e.naming(conditionType, "node/"+node.Name); isNamed && c.Type == "" {
			c = found
		}
	}
	switch {
	case c.Type != "" && e.status.Operator.Problem == "":
		return e.condition(c)
	case e.platform.NodeManagerImage == "" && e.attempt(node, leader, leads):
		return e.Explanation
	case c.Type != "":
		return e.condition(c)
	}
	if found, isTrue := e.firstTrue(conditions...); isTrue && strings.Contains(found.Message, " more") {
		e.step(false, "condition %s since %s names only the first nodes that wait", found.Type, stamp(found.Since))
		return e.condition(found)
	}
	return e.underWay("not known yet: the operator names the cause 30 seconds after a node began to wait",
		"ask again in a minute")
}

func (e *Explanation) initialized(node *corev1.Node) *Explanation {
	drift := nodecause.DriftOf(node)
	providerID := nodeinitialization.MachineOf(node).ProviderID
	e.either(providerID != "", fmt.Sprintf("it is initialized, providerID %q", providerID),
		"it does not wait for its initialization, and has no providerID")
	if (drift == nodecause.Drift{}) {
		return e
	}
	cause, action := cut(drift.Explain())
	return e.withCause(cause, strings.ReplaceAll(action, "<node>", node.Name))
}

// attempt derives the cause from the leader's log, by the operator's code, and reports whether it knows one: the
// operator names no cause before a node has waited for 30 seconds.
func (e *walk) attempt(node *corev1.Node, leader controlplane.Holder, leads bool) bool {
	evidence := nodecause.Evidence{Leaderless: !leads, NoNodeController: leads && e.lacksNodeController()}
	log, why := e.shot.Log, ""
	if leads && log.Pod != "" {
		created := map[string]time.Time{node.Name: node.CreationTimestamp.Time}
		evidence.Attempt = nodecause.PresentAttempts(log.Text, e.shot.Taken, created)[node.Name]
		evidence.Complete = log.Complete && leader.State == controlplane.Leading
		why = e.ofLog(log, evidence)
	}
	class := nodecause.Of(evidence)
	if class == nodecause.Unknown {
		return false
	}
	machine := nodeinitialization.MachineOf(node)
	cause, action := class.ExplainFor(evidence.Attempt.Error, e.platform.Lookup, machine)
	if described := class.Describe(machine, e.platform.Lookup); described != "" {
		cause += fmt.Sprintf(" (%s)", described)
	}
	if why != "" {
		cause += fmt.Sprintf(" (%q)", why)
	}
	e.withCause(cause, action)
	return true
}

// ofLog adds the step of the leader's log. It returns why its node controller is not running, "" if unknown.
func (e *Explanation) ofLog(log snapshot.Log, evidence nodecause.Evidence) string {
	start := nodecause.StartOf(log.Text)
	switch {
	case evidence.Attempt.Error != "":
		e.step(false, "the log of pod/%s: %s", log.Pod, terminationmessage.Summary(evidence.Attempt.Error))
	case evidence.Attempt.Pending:
		e.step(false, "the log of pod/%s: it has begun with the node", log.Pod)
	case evidence.NoNodeController && start.Why != "":
		why := terminationmessage.Summary(start.Why)
		e.step(false, "the log of pod/%s, when it began to lead: %s", log.Pod, why)
		return why
	default:
		e.step(false, "the log of pod/%s says nothing about the node", log.Pod)
	}
	return ""
}

// lacksNodeController reports whether a condition says that the leader's node controller is not running.
func (e *walk) lacksNodeController() bool {
	condition := conditionOf(e.operator, leadership.NodeControllerCondition)
	if condition.Status != string(operatorv1.ConditionTrue) {
		return false
	}
	return !e.step(false, "the leader looks at no node: condition %s since %s", condition.Type, stamp(condition.Since))
}

// ExplainDeletion explains why the cloud-controller-manager does not delete a Node.
func ExplainDeletion(s *snapshot.Snapshot, name string) (*Explanation, error) {
	e, err := begin(s)
	if err != nil {
		return nil, err
	}
	node := e.kubelet(name)
	switch {
	case node == nil:
		return e.Explanation, nil
	case node.DeletionTimestamp != nil:
		e.step(false, "it is being deleted since %s", stamp(node.DeletionTimestamp.Time))
		return e.withCause("finalizers hold the deletion: "+diagnostic.Few(node.Finalizers),
			"check the controllers that added them"), nil
	case controlplane.KubeletOf(node) == controlplane.KubeletReady:
		return e.withCause("the kubelet reports, which proves that the machine exists",
			"if the machine is to go, delete it, or stop its kubelet"), nil
	}
	providerID := nodeinitialization.MachineOf(node).ProviderID
	if !e.either(providerID != "", fmt.Sprintf("it was initialized, providerID %q", providerID),
		"no cloud-controller-manager has initialized it: it has no providerID") {
		return e.withCause("no cloud-controller-manager may delete a Node that none has initialized", deleteByHand(name)), nil
	}
	if e.isRenamed(node) {
		return e.Explanation, nil
	}
	return e.undeleted(node), nil
}

// isRenamed ends the explanation if another Node whose kubelet reports has the same machine, and reports whether one
// does.
func (e *walk) isRenamed(node *corev1.Node) bool {
	all := nodes(e.shot)
	i := slices.IndexFunc(all, func(other *corev1.Node) bool {
		return other.Name != node.Name && other.Spec.ProviderID == node.Spec.ProviderID &&
			controlplane.KubeletOf(other) == controlplane.KubeletReady
	})
	if i < 0 {
		return false
	}
	successor := "node/" + all[i].Name
	e.step(false, "%s has the same providerID, and its kubelet reports", successor)
	e.withCause("the machine runs as "+successor+", so the cloud knows it",
		"keep the machine; only the Node object is stale: oc delete node "+node.Name)
	return true
}

// undeleted explains why an initialized Node whose kubelet is silent is not deleted.
func (e *walk) undeleted(node *corev1.Node) *Explanation {
	name := node.Name
	if e.unmanaged("no controller deletes Nodes on this platform", deleteByHand(name)) {
		return e.Explanation
	}
	if e.platform.Deletions.Never {
		return e.withCause("the cloud-controller-manager of this platform deletes no Node: it reports that every machine "+
			"exists", "delete the Machine, whose controller deletes the Node: oc get machines -A; without one, "+
			deleteByHand(name))
	}
	permission := node.Annotations[operatorclient.NodeDeletionAnnotation]
	if permission != "" {
		e.step(true, "annotation %s is %q: it may be deleted", operatorclient.NodeDeletionAnnotation, permission)
	}
	_, leads := e.leads()
	if c, held := e.naming(nodedeletion.ConditionType, "node/"+name); held {
		e.step(false, "the operator holds the deletion since %s, reason %s", stamp(c.Since), reasonAndCode(c.Reason))
		return e.condition(c)
	}
	if !leads {
		return e.withCause(nodecause.NoLeader.Cause(), nodecause.NoLeader.Action())
	}
	return e.unconfirmed(node, permission)
}

func (e *walk) unconfirmed(node *corev1.Node, permission string) *Explanation {
	if text := nodecause.DeletionDenied(e.shot.Log.Text, node.Name, e.recently(node)); text != "" {
		e.step(false, "the log of pod/%s: %s", e.shot.Log.Pod, terminationmessage.Summary(text))
		cause, action := nodecause.ClassOf(text).Explain(text)
		if action == nodecause.Other.Action() {
			action = "correct what the error names"
		}
		return e.withCause("the cloud-controller-manager cannot delete it: "+cause, action)
	}
	announced := lastAnnouncement(e.shot, node)
	if announced.IsZero() && !e.platform.Deletions.Unannounced &&
		e.unread(e.shot.Missing("events in "+nodedeletion.EventNamespace),
			"whether the cloud-controller-manager wants to delete it", "the Events about the Node",
			"them in the cluster: oc get events -n "+nodedeletion.EventNamespace) {
		return e.Explanation
	}
	if announced.IsZero() && e.unanswered(node) {
		return e.Explanation
	}
	if !e.platform.Deletions.Unannounced && !e.either(!announced.IsZero(),
		"the cloud-controller-manager announced at "+stamp(announced)+" that it wants to delete it",
		"the cloud-controller-manager has not announced that it wants to delete it") {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == shutdownTaint }) {
			e.step(false, "it has the taint %s", shutdownTaint)
			return e.withCause("the cloud-controller-manager does not want to delete it: the machine is stopped, not deleted",
				"start the machine, or delete it in the cloud")
		}
		return e.withCause("the cloud-controller-manager does not want to delete it: the cloud knows the machine, or the "+
			"kubelet has been silent for less than a minute", "check that the machine is deleted in the cloud")
	}
	if permission == "" {
		return e.underWay("the operator has not confirmed the deletion yet: it waits until the kubelet has been silent for "+
			"a minute, and asks the cloud-controller-manager for living nodes first", "ask again in two minutes")
	}
	return e.withCause("the cloud-controller-manager may delete it, and has not tried again yet",
		"ask again in a minute; then read the leader's log")
}

// shutdownTaint is k8s.io/cloud-provider/api.TaintNodeShutdown: a cloud-controller-manager sets it, and removes it when
// the kubelet reports.
const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"

// lastAsked limits the age of an error: the leader asks every few seconds, and logs no success.
const lastAsked = 2 * time.Minute

// recently returns the time from which on lines of the log count for the deletion of a silent Node.
func (e *walk) recently(node *corev1.Node) time.Time {
	since := silentSince(node)
	if recently := e.shot.Taken.Add(-lastAsked); recently.After(since) {
		return recently
	}
	return since
}

// unanswered ends the explanation if the leader got an error when it asked the cloud about a silent Node's machine, and
// reports whether it did.
func (e *walk) unanswered(node *corev1.Node) bool {
	text := nodecause.DeletionError(e.shot.Log.Text, node.Name, e.recently(node))
	if text == "" {
		return false
	}
	e.step(false, "the log of pod/%s: %s", e.shot.Log.Pod, terminationmessage.Summary(text))
	cause, action := "the cloud-controller-manager cannot tell whether the machine exists, so it does not delete the Node",
		deleteByHand(node.Name)
	if isAnswer(text) {
		var why string
		why, action = nodecause.ClassOf(text).Explain(text)
		cause += ": " + why
	}
	e.withCause(cause, action)
	return true
}

// silentSince returns when the kubelet got its present state, at the earliest when the Node was created.
func silentSince(node *corev1.Node) time.Time {
	since := node.CreationTimestamp.Time
	for _, ready := range controlplane.ReadyConditions(node) {
		if ready.LastTransitionTime.After(since) {
			since = ready.LastTransitionTime.Time
		}
	}
	return since
}

// deleteByHand returns the action to delete a Node whose kubelet is silent: pods may still run there.
func deleteByHand(name string) string {
	return "check that its machine is gone, then delete the Node: oc delete node " + name
}

// lastAnnouncement returns when the present leader last announced that it wants to delete a Node, zero if it has not
// since the kubelet has its present state: a kubelet that reported refutes what was announced before.
func lastAnnouncement(s *snapshot.Snapshot, node *corev1.Node) time.Time {
	since := leaderOf(s).Acquired
	if silent := silentSince(node); silent.After(since) {
		since = silent
	}
	var last time.Time
	for _, event := range snapshot.List[corev1.Event](s, nodedeletion.EventNamespace) {
		of, at := event.InvolvedObject, event.LastTimestamp.Time
		isOf := of.Kind == "Node" && of.Name == node.Name && of.UID == node.UID
		if isOf && event.Source.Component == nodedeletion.EventSource && at.After(last) &&
			!at.Before(since.Truncate(time.Second)) {
			last = at
		}
	}
	return last
}
