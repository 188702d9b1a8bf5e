// Package availability reports whether the cluster has a working cloud-controller-manager (CCM). The operand's
// /healthz proves neither a cloud nor an API server, and an installed revision may have crashed since. The operand is
// available when a pod is Ready on an existing Node and a live process of ours renews the lease.
package availability

import (
	"context"
	"maps"
	"slices"

	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	configlisters "github.com/openshift/client-go/config/listers/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

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

// Inertia is that of the Degraded conditions. Their controller has waited, except for Nodes that vanished: they may
// register again within minutes. A kubelet ends a leader that hangs after a minute and a half.
var Inertia = operatorclient.Inertia{
	DegradedCondition:                            operatorclient.AtOnce,
	CrashLoopCondition:                           operatorclient.AtOnce,
	UnresponsiveCondition:                        operatorclient.AtOnce,
	ControlPlaneNodesCondition:                   operatorclient.DefaultInertia,
	ControlPlaneNodesCondition + "/NodesMissing": operatorclient.AtOnce,
}

const name = "Availability"

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	Lease    *controlplane.Lease
	// Pods watches the operand's namespace.
	Pods corev1informers.PodInformer
	// Nodes watches the control-plane Nodes. The controller reads only a Node's name, conditions, taints and
	// spec.unschedulable.
	Nodes corev1informers.NodeInformer
	// NodeClient reads a Node that runs a pod of the operand and that Nodes does not have.
	NodeClient      corev1client.NodesGetter
	Infrastructures configinformers.InfrastructureInformer
	// Vanished gets the names of the deleted Nodes that ran a pod of the operand.
	Vanished func([]string)
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	operator        v1helpers.StaticPodOperatorClient
	pods            corev1listers.PodLister
	lease           *controlplane.Lease
	nodes           corev1listers.NodeLister
	infrastructures configlisters.InfrastructureLister
	clock           clock.PassiveClock
	vanished        func([]string)
	assessor        *assessor

	nodeClient corev1client.NodesGetter
}

// New returns the controller that writes the conditions of this package on managed platforms. It reacts to pods,
// Nodes and the lease. It does not poll: a timer requeues when the assessment may change without an event. Sync must
// not run concurrently with itself; the single queue key ensures this.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	c := &controller{
		operator: o.Operator, pods: o.Pods.Lister(), lease: o.Lease, nodes: o.Nodes.Lister(),
		infrastructures: o.Infrastructures.Lister(), clock: o.Clock, assessor: newAssessor(),
		nodeClient: o.NodeClient, vanished: o.Vanished,
	}
	f := factory.New().
		WithInformers(o.Lease, o.Nodes.Informer(), o.Infrastructures.Informer()).
		WithFilteredEventsInformers(isOperandPod, o.Pods.Informer())
	return reconciler.From(f, name, o.Operator, o.Recorder, c.sync)
}

func isOperandPod(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	return ok && (controlplane.IsOperand(pod) || predecessor.IsPod(pod))
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.operator)
	if err != nil || !known {
		return err
	}
	if !managed {
		// What comes after a removal is another installation: Nodes may have been replaced meanwhile.
		c.assessor = newAssessor()
		c.vanished(nil)
		return nil
	}
	current, err := c.observe(ctx)
	if err != nil {
		return err
	}
	conditions, next := c.assessor.assess(current)
	c.vanished(slices.Sorted(maps.Keys(c.assessor.history.vanished)))
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return operatorclient.ApplyConditions(ctx, c.operator, name, conditions...)
}

// observe reads the caches.
func (c *controller) observe(ctx context.Context) (snapshot, error) {
	var s snapshot
	var err error
	if _, s.status, _, err = c.operator.GetStaticPodOperatorState(); err != nil {
		return s, err
	}
	if s.View, err = controlplane.Look(c.lease, c.pods, c.infrastructures, c.clock); err != nil {
		return s, err
	}
	if s.moves, err = controlplane.Moves(c.pods); err != nil {
		return s, err
	}
	if s.nodes, err = operatorclient.All(c.nodes, "nodes"); err != nil {
		return s, err
	}
	s.withoutRole, err = c.withoutRole(ctx, s)
	return s, err
}
