// Package nodemanager reports on the cloud-node-manager, which runs on every Linux node on platforms that have one.
// It does not affect Available: initialized nodes work without it, and nodeinitialization reports the others.
//
// Neither memory nor wake-ups grow with the number of nodes. The controller watches the DaemonSet. It lists the pods
// page by page, at most once a minute, and only while the DaemonSet's status or the previous list requires it.
package nodemanager

import (
	"context"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	appsinformers "k8s.io/client-go/informers/apps/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// The conditions of this package. Notices reports failures on too few nodes to degrade the operator.
const (
	ProgressingCondition = "NodeManagerProgressing"
	DegradedCondition    = "NodeManagerDegraded"
	NoticesCondition     = "NodeManagerNotices"
)

// Inertia reports the condition at once: its controller has waited.
var Inertia = operatorclient.Inertia{DegradedCondition: operatorclient.AtOnce}

const (
	name = "NodeManager"

	object = "daemonset/" + operand.NodeManager + " in " + operand.Namespace

	// untilSynced is the delay before the cache of a newly started informer is checked again.
	untilSynced = 5 * time.Second
)

type controller struct {
	dependencies.Deps
	daemonSets appsinformers.DaemonSetInformer
	synced     func() bool

	// short is since when nodes have had no pod.
	short patience.Since[bool]

	// last is the result of the last list of pods. waits is since when this process has seen a pod's container wait.
	last  podSummary
	waits patience.Each[types.UID, bool]
}

// New returns the controller that writes NodeManagerProgressing, -Degraded and -Notices on platforms with a
// cloud-node-manager. Sync is not safe for concurrent use; the single queue key prevents that.
func New(d dependencies.Deps, daemonSets appsinformers.DaemonSetInformer) factory.Controller {
	dependencies.Require(d, daemonSets)
	return reconciler.New(name+"Controller", d.Operator, d.Recorder, newController(d, daemonSets).sync,
		ondemand.Informer{SharedIndexInformer: daemonSets.Informer()})
}

func newController(d dependencies.Deps, daemonSets appsinformers.DaemonSetInformer) *controller {
	return &controller{Deps: d, daemonSets: daemonSets, synced: daemonSets.Informer().HasSynced}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known || observed.NodeManagerImage == "" {
		return err
	}
	if !c.synced() {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, untilSynced)
		return nil
	}
	_, status, _, err := c.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	daemonSets := c.daemonSets.Lister().DaemonSets(operand.Namespace)
	daemonSet, err := operatorclient.Find(daemonSets, "daemonset", operand.Namespace, operand.NodeManager)
	if err != nil {
		return err
	}
	next, err := c.update(ctx, daemonSet)
	if err != nil {
		return err
	}
	missing, in := c.missing(daemonSet)
	reconciler.After(syncCtx, patience.Sooner(next, in))
	degraded, notices := health(daemonSet, c.last, missing)
	already := v1helpers.IsOperatorConditionTrue(status.Conditions, ProgressingCondition)
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		c.rollout(daemonSet, already), degraded, notices)
}

// rollout reports a new or changed DaemonSet as progressing, until every pod has the new template and has started.
// Nodes that come and go are not progress of the operator.
func (c *controller) rollout(daemonSet *appsv1.DaemonSet, already bool) *operatorclient.Condition {
	if daemonSet == nil {
		return operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionTrue, "Missing", object+
			" does not exist yet; check the Degraded conditions for the cause")
	}
	status := daemonSet.Status
	outdated := outdatedNodes(daemonSet) > 0
	starting := status.NumberUnavailable > 0
	if c.last.matches(daemonSet) {
		outdated, starting = outdated && c.last.outdated > 0, starting && c.last.pending > 0
	}
	rolling := status.ObservedGeneration < daemonSet.Generation || outdated ||
		already && (starting || status.CurrentNumberScheduled < status.DesiredNumberScheduled)
	if !rolling {
		return operatorclient.AsExpected(ProgressingCondition)
	}
	message := object + " is being rolled out to the Linux nodes"
	if len(c.last.failures) > 0 {
		message += "; it may be waiting for " + joinNames(c.last.failures)
	}
	return operatorclient.NewCondition(ProgressingCondition, operatorv1.ConditionTrue, "RollingOut", message)
}

func outdatedNodes(daemonSet *appsv1.DaemonSet) int32 {
	return daemonSet.Status.CurrentNumberScheduled - daemonSet.Status.UpdatedNumberScheduled
}
