// Package availability reports whether the cluster has a working cloud-controller-manager (CCM). The operand's
// /healthz proves neither a cloud nor an API server, and an installed revision may have crashed since. The operand is
// available when a pod is Ready on an existing Node and a live process of ours renews the lease.
package availability

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// The conditions of this package.
const (
	AvailableCondition         = operatorclient.AvailableCondition
	ProgressingCondition       = operatorclient.ProgressingCondition
	DegradedCondition          = operatorclient.DegradedCondition
	CrashLoopCondition         = "CrashLoopDegraded"
	UnresponsiveCondition      = "UnresponsiveDegraded"
	ControlPlaneNodesCondition = "ControlPlaneNodesDegraded"
)

// Inertia is none, because the checks have waited, and a kubelet restarts a hanging leader after a minute and a half.
// Only a condition about deleted Nodes has some, because they may register again within minutes.
var Inertia = operatorclient.Inertia{
	DegradedCondition:                            operatorclient.AtOnce,
	CrashLoopCondition:                           operatorclient.AtOnce,
	UnresponsiveCondition:                        operatorclient.AtOnce,
	ControlPlaneNodesCondition:                   operatorclient.DefaultInertia,
	ControlPlaneNodesCondition + "/NodesMissing": operatorclient.AtOnce,
}

const name = "Availability"

type controller struct {
	dependencies.Deps
	deleted  func([]string)
	leaving  departures
	assessor *assessor
}

// New returns the controller that writes the conditions of this package on managed platforms, and passes the names of
// deleted Nodes that ran a pod of the operand to deleted. It does not poll: a timer requeues when the assessment may
// change without an event. Sync is not safe for concurrent use; the single queue key prevents that. Of a Node, it reads
// only the name, annotations, conditions, taints and spec.unschedulable.
func New(d dependencies.Deps, deleted func([]string)) factory.Controller {
	dependencies.Require(d, deleted)
	c := &controller{Deps: d, deleted: deleted, assessor: newAssessor()}
	f := factory.New().
		WithInformers(d.Lease, d.Infrastructures.Informer()).
		WithFilteredEventsInformers(c.leaving.note, d.Nodes.Informer()).
		WithBareInformers(d.Target.Core().V1().ConfigMaps().Informer()).
		WithFilteredEventsInformers(isOperandPod, d.Target.Core().V1().Pods().Informer())
	return reconciler.From(f, name, d.Operator, d.Recorder, c.sync)
}

func isOperandPod(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	return ok && (controlplane.IsOperand(pod) || predecessor.IsPod(pod))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known {
		return err
	}
	if !managed {
		// Nodes may have been replaced before the next installation.
		c.assessor = newAssessor()
		c.deleted(nil)
		return nil
	}
	v, err := c.view(ctx)
	if err != nil {
		return err
	}
	conditions, next := c.assessor.assess(v)
	c.deleted(slices.Sorted(maps.Keys(c.assessor.history.vanished)))
	reconciler.After(syncCtx, next)
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditions...)
}

// view has, beside the control plane, the Nodes without its role that run a pod of the operand, and those that are
// leaving or were leaving when they were deleted, by name.
type view struct {
	controlplane.View
	withoutRole, leaving []string
}

// view reads the caches, and from the API the Nodes without the role.
func (c *controller) view(ctx context.Context) (v view, err error) {
	if v.View, err = c.View(); err != nil {
		return v, err
	}
	reports, err := c.ConfigMap(filesyncer.ReportConfigMap)
	if err != nil {
		return v, err
	}
	nodes, err := operatorclient.NodesWithoutRole(ctx, c.Kube.CoreV1(), v.StaticPods(), v.Nodes(), reports)
	for _, node := range nodes {
		v.withoutRole = append(v.withoutRole, node.Name)
	}
	v.leaving = c.leaving.names()
	return v, err
}

// degradedAfter is how long Available must be False before Degraded is True.
const degradedAfter = 2 * time.Minute

// assessor turns views into conditions. It has no clock.
type assessor struct {
	outages outages
	// working is whether the last assessment was Available. The condition cannot tell if the status was wiped.
	working bool
	// worked is whether the operand has worked since this process of the operator started.
	worked  bool
	history nodeHistory
	loops   crashLoops
	// silent is since when containers have run without being Ready.
	silent patience.Each[containerOn, bool]
}

func newAssessor() *assessor {
	loops := crashLoops{map[containerOn]*crashLoop{}, map[containerOn]time.Time{}}
	return &assessor{loops: loops, silent: patience.Each[containerOn, bool]{}}
}

type input struct {
	view
	*assessor
	expected expectedNodes
	state    operandState
	// outage is when a failure becomes an outage.
	outage time.Time
	// leaderless is since when each process that acquired the lease has ended soon after, zero otherwise.
	leaderless time.Time
}

// result is what a check has found. Without a reason the condition is as expected.
type result struct {
	reason, message string
	violated        bool
	// next is when to check again without an event, 0 for never.
	next time.Duration
}

// checks decide one condition each. A violation makes Available False, and each other condition True.
var checks = []struct {
	condition string
	check     func(in *input) result
}{
	{AvailableCondition, unavailable},
	{ProgressingCondition, rollsOut},
	{DegradedCondition, degraded},
	{CrashLoopCondition, crashLooping},
	{UnresponsiveCondition, notResponding},
	{ControlPlaneNodesCondition, nodesMissing},
}

// assess returns the conditions, and the delay until the next assessment, 0 if only an event requeues.
func (a *assessor) assess(v view) (conditions []*operatorclient.Condition, next time.Duration) {
	in, next := a.observe(v)
	for _, c := range checks {
		found := c.check(in)
		next = patience.Sooner(next, found.next)
		conditions = append(conditions, found.of(c.condition))
	}
	a.working = *conditions[0].Status == operatorv1.ConditionTrue
	return conditions, next
}

func (r result) of(condition string) *operatorclient.Condition {
	status := operatorv1.ConditionFalse
	if r.violated != (condition == AvailableCondition) {
		status = operatorv1.ConditionTrue
	}
	if r.reason == "" {
		return operatorclient.AsExpected(condition)
	}
	return operatorclient.NewCondition(condition, status, r.reason, r.message)
}

func (a *assessor) observe(v view) (in *input, next time.Duration) {
	in = &input{view: v, assessor: a, expected: a.history.observe(v)}
	pods := in.expected.podsOnNodes(v.StaticPods())
	in.state = operandStateOf(v, pods, in.expected)
	in.outage = a.outages.observe(v.View, in.state)
	leader := in.state.leader
	a.worked = a.worked || in.state.works()
	next = patience.Sooner(patience.Sooner(leader.ExpiresIn, leader.SettlesIn), leader.SilentIn)
	next = patience.Sooner(next, a.outages.unreported(leader, v.Now()))
	next = patience.Sooner(next, a.loops.observe(v, pods, in.expected))
	if a.outages.fails(leader, v.Now()) {
		in.leaderless = a.outages.works.At()
		in.state = in.state.withoutLeader(in.leaderless, a.loops.lastEnd(in.leaderless))
	}
	a.observeSilent(pods, v.Now())
	return in, next
}

func unavailable(in *input) result {
	found := result{reason: in.state.reason, message: in.state.message}
	if in.state.works() {
		return found
	}
	outage := in.outage
	if former := in.toleratedUntil(); !in.worked && !former.IsZero() && former.Before(outage) {
		outage = former
	}
	left := outage.Sub(in.Now())
	if left > 0 && (in.working || v1helpers.IsOperatorConditionTrue(in.Status().Conditions, AvailableCondition)) {
		found.message, found.next = tolerated+outage.UTC().Format(time.RFC3339)+": "+found.message, left
		return found
	}
	found.violated = true
	return found
}

// tolerated is followed by the time until which a failure is no outage, in the message of Available.
const tolerated = "tolerated until "

// toleratedUntil returns until when a former process of the operator has tolerated this failure, zero if that is not
// known. A restart of the operator prolongs no failure: what that process saw of the lease is only in its condition. It
// counts unless a process has led well since the failure started. One that has just acquired the lease may settle.
func (in *input) toleratedUntil() time.Time {
	former := v1helpers.FindOperatorCondition(in.Status().Conditions, AvailableCondition)
	lease := in.Record().Lease
	if former == nil || lease == nil || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	text, isTolerated := strings.CutPrefix(former.Message, tolerated)
	text, _, _ = strings.Cut(text, ": ")
	until, err := time.Parse(time.RFC3339, text)
	if !isTolerated || err != nil {
		return time.Time{}
	}
	started := until.Add(-in.state.gracePeriod)
	if in.state.ready {
		started = started.Add(-in.Duration()) // The lease had to expire first.
	}
	hasLed := leaseholder.HeldFor(lease) >= controlplane.SettleTime
	if hasLed && lease.Spec.RenewTime.After(started.Add(leaseholder.Silence(in.Duration()))) {
		return time.Time{}
	}
	settled := in.Now().Add(in.state.leader.SettlesIn)
	if in.state.leader.State == controlplane.Starting && settled.After(until) {
		return settled
	}
	return until
}

// degraded is violated once an installed operand has been unavailable for degradedAfter.
func degraded(in *input) result {
	found := unavailable(in)
	if !in.IsInstalled() || !found.violated {
		return result{}
	}
	left := degradedAfter
	previous := v1helpers.FindOperatorCondition(in.Status().Conditions, AvailableCondition)
	if previous != nil && previous.Status == operatorv1.ConditionFalse {
		left -= in.Now().Sub(previous.LastTransitionTime.Time)
	}
	if left > 0 {
		return result{next: left}
	}
	return found
}

// rollsOut names the nodes that lack the latest revision or do not run theirs, which NodeInstallerProgressing only
// counts.
func rollsOut(in *input) result {
	if !in.IsInstalled() {
		message := "no control-plane node runs a revision yet; check the Degraded conditions for the cause"
		if run := len(in.expected.podsOnNodes(in.StaticPods())); run > 0 {
			message = fmt.Sprintf("%d static pods run, but the status has no revision of a node: the first one is "+
				"being installed, or the status was lost and is written again; check the Degraded conditions if this lasts", run)
		}
		if predecessor.Remains(in.Status().Conditions) {
			message = "a take-over from this operator's predecessor is in progress, and no control-plane node runs a " +
				"revision yet; the condition " + predecessor.ConditionType + " has its step, and the Degraded conditions what " +
				"it waits for"
		}
		return result{reason: "FirstRollout", message: message, violated: true}
	}
	latest, current := in.Status().LatestAvailableRevision, 0
	var others []string
	for i := range in.Status().NodeStatuses {
		node := &in.Status().NodeStatuses[i]
		text := in.runs(node)
		if text == "" && node.CurrentRevision == latest {
			current++
			continue
		}
		others = append(others, fmt.Sprintf("node/%s %s", node.NodeName,
			cmp.Or(text, fmt.Sprintf("runs revision %d", node.CurrentRevision))))
	}
	message := fmt.Sprintf("%d of %d control-plane nodes run revision %d", current, in.expected.installed, latest)
	slices.Sort(others)
	if len(others) > 0 {
		message += ", " + diagnostic.JoinFew(others, ", ", ", %d more")
	}
	if !controlplane.RollsOut(in.Status(), ProgressingCondition) {
		return result{reason: asExpected, message: message}
	}
	return result{reason: "RollingOut", message: message, violated: true}
}

// runs returns why a node does not run its current revision, "" if it does.
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
