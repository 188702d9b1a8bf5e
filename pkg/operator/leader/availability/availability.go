// Package availability reports whether the cluster has a working cloud-controller-manager (CCM). The operand's
// /healthz proves neither a cloud nor an API server, and an installed revision may have crashed since. The operand is
// available when a pod is Ready on an existing Node and a live process of ours renews the lease.
package availability

import (
	"context"
	"maps"
	"slices"

	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// The conditions that this package writes.
const (
	AvailableCondition         = operatorclient.AvailableCondition
	ProgressingCondition       = operatorclient.ProgressingCondition
	DegradedCondition          = operatorclient.DegradedCondition
	CrashLoopCondition         = "CrashLoopDegraded"
	UnresponsiveCondition      = "UnresponsiveDegraded"
	ControlPlaneNodesCondition = "ControlPlaneNodesDegraded"
)

// Inertia is that of the Degraded conditions. Their controller has waited, except for deleted Nodes: they may
// register again within minutes. A kubelet ends a leader that hangs after a minute and a half.
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
	assessor *assessor
}

// New returns the controller that writes the conditions of this package on managed platforms, and passes the names of
// the deleted Nodes that ran a pod of the operand to deleted. It reacts to pods, Nodes and the lease. It does not poll:
// a timer requeues when the assessment may change without an event. Sync must not run concurrently with itself; the
// single queue key ensures this. It reads only a Node's name, conditions, taints and spec.unschedulable.
func New(d dependencies.Deps, deleted func([]string)) factory.Controller {
	dependencies.Require(d, deleted)
	c := &controller{Deps: d, deleted: deleted, assessor: newAssessor()}
	f := factory.New().
		WithInformers(d.Lease, d.Nodes.Informer(), d.Infrastructures.Informer()).
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
		// What comes after a removal is another installation: Nodes may have been replaced meanwhile.
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
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditions...)
}

// view is the control plane, and the names of the other Nodes that run a pod of the operand.
type view struct {
	controlplane.View
	withoutRole []string
}

// view reads the caches, and asks the API about pods on other Nodes.
func (c *controller) view(ctx context.Context) (v view, err error) {
	if v.View, err = c.View(); err != nil {
		return v, err
	}
	nodes, err := operatorclient.NodesWithoutRole(ctx, c.Kube.CoreV1(), v.StaticPods(), v.Nodes())
	for _, node := range nodes {
		v.withoutRole = append(v.withoutRole, node.Name)
	}
	return v, err
}
