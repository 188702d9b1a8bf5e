package nodedeletion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// ConditionType is the condition of this package.
	ConditionType = "NodeDeletionDegraded"

	// Annotation on a Node permits the CCM to delete it.
	Annotation = operatorclient.NodeDeletionAnnotation
	// Confirmed is the operator's permission. The admission policy respects it only while the kubelet is silent.
	Confirmed = "Confirmed"
	// Allowed is an administrator's permission.
	Allowed = "Allowed"

	// EventNamespace has the events about Nodes.
	EventNamespace = "default"
	// EventSource is the component of the CCM that deletes Nodes, and announces each attempt by an event
	// (k8s.io/cloud-provider/controllers/nodelifecycle).
	EventSource = "cloud-node-lifecycle-controller"
	// eventReason is that of the announcement. After each rejected attempt, the CCM writes another Event.
	eventReason = "DeletingNode"

	// syncLimit is how long the first lists may take before the sync fails.
	syncLimit = time.Minute

	// The time between two looks: during a probe or while a Node has a mark, while a deletion waits, and for silent
	// kubelets where no Event announces a deletion.
	lookSoon       = time.Second
	lookLater      = 2 * time.Second
	lookForSilence = 10 * time.Second

	name = "NodeDeletionController"
)

// Inertia declares the inertia of the condition.
var Inertia = operatorclient.Inertia{ConditionType: operatorclient.AtOnce}

type controller struct {
	dependencies.Deps
	// every has Facts about every Node, announced what the CCM announces.
	every     cache.SharedIndexInformer
	announced *Announcements
	synced    func() bool
	// waiting is since when this process has waited for the caches.
	waiting    patience.Since[bool]
	memory     memory
	lastReport report
}

// New returns the controller that confirms deletions of Nodes by the cloud-controller-manager, and sets
// NodeDeletionDegraded while the CCM wants to delete a Node that may not be gone. On unmanaged platforms it removes its
// marks from Nodes, and while the platform is unknown, it does nothing.
//
// every watches every Node, with the transform StripNode, and announced what the CCM announces. Both may start late:
// until they have synced, nothing is decided.
func New(d dependencies.Deps, every cache.SharedIndexInformer, announced *Announcements) factory.Controller {
	dependencies.Require(d, every, announced)
	c := newController(d, every, announced)
	c.synced = func() bool { return every.HasSynced() && announced.HasSynced() }
	syncCtx := factory.NewSyncContext(name, d.Recorder)
	// The platform starts the informers, so the controller must not wait for their caches. Every deletion starts with an
	// Event, then a timer requeues. One look suffices for the Events of many Nodes.
	announced.onChange(func() { syncCtx.Queue().AddAfter(factory.DefaultQueueKey, lookSoon) })
	return reconciler.From(factory.New().WithInformers(d.Lease).WithSyncContext(syncCtx), name, d.Operator, d.Recorder,
		c.sync)
}

func newController(d dependencies.Deps, every cache.SharedIndexInformer, announced *Announcements) *controller {
	return &controller{Deps: d, every: every, announced: announced, memory: newMemory()}
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known {
		return err
	}
	if !c.synced() {
		return c.waitForCaches(observed, syncCtx)
	}
	if !observed.Managed() {
		return c.removeMarks(ctx)
	}
	o, err := c.look(observed)
	if err != nil {
		return err
	}
	c.memory.rollout.See(o.rollout, o.now)
	c.memory.readAnswers(o)
	c.memory.decideAll(o)
	c.memory.startProbe(o)
	reconciler.After(syncCtx, c.memory.lookAgain(o))
	return errors.Join(c.act(ctx, o), c.report(ctx, c.memory.compose(o)))
}

// waitForCaches looks again later, and fails after syncLimit. On unmanaged platforms the informers do not run.
func (c *controller) waitForCaches(observed platform.Platform, syncCtx factory.SyncContext) error {
	if !observed.Managed() {
		return nil
	}
	syncCtx.Queue().AddAfter(factory.DefaultQueueKey, time.Second)
	now := c.Clock.Now()
	since := c.waiting.See(true, now)
	if now.Sub(since) < syncLimit {
		return nil
	}
	return fmt.Errorf("the Nodes, or the Events in namespace %s, cannot be listed since %s: no Node of a deleted machine "+
		"goes; read the operator's log", EventNamespace, since.UTC().Format(time.RFC3339))
}

func (c *controller) removeMarks(ctx context.Context) error {
	c.memory = newMemory()
	o, err := c.look(platform.Platform{})
	if err != nil {
		return err
	}
	return c.act(ctx, o)
}

// lookAgain returns the time until the next look, 0 if only an event can change anything.
func (m *memory) lookAgain(o *observation) time.Duration {
	if m.probe != nil {
		return lookSoon
	}
	after := time.Duration(0)
	if o.deletions.Unannounced {
		after = lookForSilence
	}
	for _, n := range o.nodes {
		if n.hasTaint || n.permission == Confirmed {
			return lookSoon
		}
		if n.record != nil && n.record.isOpen() {
			after = lookLater
		}
	}
	return after
}
