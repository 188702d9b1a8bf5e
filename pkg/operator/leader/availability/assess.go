package availability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// degradedAfter is how long Available must be False before that is also Degraded.
const degradedAfter = 2 * time.Minute

// assessor turns views into conditions. It keeps the state that a view does not show, and has no clock.
type assessor struct {
	outages outages
	// working reports whether the last assessment was that the operand is available. The stored condition is missing if
	// the status was wiped.
	working bool
	// worked reports whether the operand has worked since this process of the operator began.
	worked  bool
	history nodeHistory
	loops   crashLoops
	planned plannedEnds
	silent  unresponsive
}

func newAssessor() *assessor {
	return &assessor{loops: crashLoops{}, planned: plannedEnds{}, silent: unresponsive{patience.Each[containerOn, bool]{}}}
}

// assess returns the conditions, and the delay until the next assessment. A delay of 0 means that only an event
// requeues.
func (a *assessor) assess(v view) ([]*operatorclient.Condition, time.Duration) {
	expected := a.history.observe(v)
	pods := expected.podsOnNodes(v.StaticPods())
	a.outages.see(v.View)
	state := operandStateOf(v, pods, expected)
	outage := a.outages.observe(state, v.Now())
	next := patience.Sooner(patience.Sooner(state.leader.ExpiresIn, state.leader.SettlesIn), state.leader.SilentIn)
	next = patience.Sooner(next, a.loops.observe(pods, expected, a.planned, v.Moves(), v.Now()))
	var leaderless time.Time
	if a.outages.fails(state.leader) {
		leaderless = a.outages.works.At()
		state = state.withoutLeader(leaderless, a.loops.lastEnd(leaderless))
	}

	available, wait := a.available(state, outage, v)
	next = patience.Sooner(next, wait)
	degraded, wait := degraded(state, available, v)
	next = patience.Sooner(next, wait)
	crashing, wait := a.loops.condition(v, leaderless)
	next = patience.Sooner(next, wait)
	nodes, wait := a.history.condition(expected, v)
	next = patience.Sooner(next, wait)
	a.silent.observe(pods, v.Now())
	hanging, wait := a.silent.condition(state.leader, v.Now())
	next = patience.Sooner(next, wait)
	return []*operatorclient.Condition{available, progressing(v, expected), degraded, crashing, hanging, nodes}, next
}

// available keeps the condition True until a failure becomes an outage, and returns the time until then.
func (a *assessor) available(
	state operandState, outage time.Time, v view,
) (available *operatorclient.Condition, wait time.Duration) {
	defer func() { a.working = *available.Status == operatorv1.ConditionTrue }()
	if state.reason == asExpected || state.leader.State == controlplane.Predecessor {
		a.worked = true
		return operatorclient.NewCondition(AvailableCondition, operatorv1.ConditionTrue, state.reason, state.message), 0
	}
	if former := v.toleratedUntil(state); !a.worked && !former.IsZero() && former.Before(outage) {
		outage = former
	}
	left := outage.Sub(v.Now())
	if left > 0 && (a.working || v1helpers.IsOperatorConditionTrue(v.Status().Conditions, AvailableCondition)) {
		return operatorclient.NewCondition(AvailableCondition, operatorv1.ConditionTrue, state.reason,
			tolerated+outage.UTC().Format(time.RFC3339)+": "+state.message), left
	}
	return operatorclient.NewCondition(AvailableCondition, operatorv1.ConditionFalse, state.reason, state.message), 0
}

// tolerated begins the message of Available with the time until which a failure is no outage.
const tolerated = "tolerated until "

// toleratedUntil returns until when a former process of the operator has tolerated this failure, zero if that is not
// known. A restart of the operator prolongs no failure: what that process saw of the lease is only in its condition. It
// counts unless a process has renewed the lease after the failure had begun, or acquires it now.
func (v view) toleratedUntil(state operandState) time.Time {
	former := v1helpers.FindOperatorCondition(v.Status().Conditions, AvailableCondition)
	lease := v.Record().Lease
	if former == nil || lease == nil || lease.Spec.RenewTime == nil || state.leader.State == controlplane.Starting {
		return time.Time{}
	}
	text, isTolerated := strings.CutPrefix(former.Message, tolerated)
	text, _, _ = strings.Cut(text, ": ")
	until, err := time.Parse(time.RFC3339, text)
	if !isTolerated || err != nil {
		return time.Time{}
	}
	began := until.Add(-state.gracePeriod)
	if state.ready {
		began = began.Add(-v.Duration()) // The lease had to expire first.
	}
	if lease.Spec.RenewTime.After(began.Add(leaseholder.Silence(v.Duration()))) {
		return time.Time{}
	}
	return until
}

// degraded is True once Available has been False for degradedAfter, and returns the time until then. Before the first
// revision runs, an unavailable operand is not degraded.
func degraded(
	state operandState, available *operatorclient.Condition, v view,
) (*operatorclient.Condition, time.Duration) {
	healthy := operatorclient.AsExpected(DegradedCondition)
	if !v.IsInstalled() || *available.Status != operatorv1.ConditionFalse {
		return healthy, 0
	}
	left := degradedAfter
	previous := v1helpers.FindOperatorCondition(v.Status().Conditions, AvailableCondition)
	if previous != nil && previous.Status == operatorv1.ConditionFalse {
		left -= v.Now().Sub(previous.LastTransitionTime.Time)
	}
	if left > 0 {
		return healthy, left
	}
	return operatorclient.NewCondition(DegradedCondition, operatorv1.ConditionTrue, state.reason, state.message), 0
}

// progressing reports the running and the target revision. NodeInstallerProgressing counts the nodes of each revision;
// this condition names the nodes that are not at the latest one, and those where it does not run.
func progressing(v view, expected expectedNodes) *operatorclient.Condition {
	if !v.IsInstalled() {
		message := "no control-plane node runs a revision yet; check the Degraded conditions for the cause"
		if run := len(expected.podsOnNodes(v.StaticPods())); run > 0 {
			message = fmt.Sprintf("%d static pods run, but the status has no revision of a node: the first one is "+
				"being installed, or the status was lost and is written again; check the Degraded conditions if this lasts", run)
		}
		if predecessor.Remains(v.Status().Conditions) {
			message = "a take-over from this operator's predecessor is in progress, and no control-plane node runs a " +
				"revision yet; the condition " + predecessor.ConditionType + " has its step, and the Degraded conditions what " +
				"it waits for"
		}
		return operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionTrue, "FirstRollout", message)
	}
	latest, current := v.Status().LatestAvailableRevision, 0
	var others []string
	for i := range v.Status().NodeStatuses {
		node := &v.Status().NodeStatuses[i]
		text := v.runs(node)
		if text == "" && node.CurrentRevision == latest {
			current++
			continue
		}
		others = append(others, fmt.Sprintf("node/%s %s", node.NodeName,
			cmp.Or(text, fmt.Sprintf("runs revision %d", node.CurrentRevision))))
	}
	message := fmt.Sprintf("%d of %d control-plane nodes run revision %d", current, expected.installed, latest)
	slices.Sort(others)
	if len(others) > 0 {
		message += ", " + diagnostic.JoinFew(others, ", ", ", %d more")
	}
	if !controlplane.RollsOut(v.Status(), ProgressingCondition) {
		return operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionFalse, asExpected, message)
	}
	return operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionTrue, "RollingOut", message)
}

// runs returns why a node does not run the revision that it is at, "" if it does.
func (v view) runs(status *operatorv1.NodeStatus) string {
	node := v.Node(status.NodeName)
	switch {
	case controlplane.KubeletOf(node) == controlplane.KubeletSilent:
		return "has a silent kubelet"
	case status.CurrentRevision == 0:
		return "runs none"
	case v.StaticPod(status.NodeName) != nil:
		return ""
	case status.TargetRevision != 0:
		return fmt.Sprintf("is getting revision %d", status.TargetRevision)
	}
	return "runs no static pod"
}
