// Package nodedeletion is the brake on deletions of Nodes. A cloud-controller-manager (CCM) deletes the Node of every
// machine that the cloud does not know, without further checks: with credentials of another project, in a wrong
// region or after an empty answer it would delete all Nodes whose kubelets are silent for a minute. An admission
// policy of the payload refuses each deletion by the CCM. This package decides which one is true, and lets it happen.
//
// What makes a deletion credible is that the same CCM process still finds living machines. The controller asks it by a
// taint: a CCM looks up the machine of a Node that has the taint for uninitialized nodes, whatever the taint's effect,
// and removes the taint if the cloud knows the machine. With the effect PreferNoSchedule the taint repels no pod.
package nodedeletion

import (
	"context"
	"errors"
	"fmt"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/apimachinery/pkg/types"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/writeconflict"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const (
	// ConditionType is the condition that this package writes.
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

	// syncLimit is how long the first lists may take before the operator reports it.
	syncLimit = time.Minute

	name = "NodeDeletionController"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	// Nodes watches every Node and needs the fields that StripNode keeps. Events watches what the CCM says about
	// Nodes. Both may start late: until they have synced, nothing is decided.
	Nodes  corev1informers.NodeInformer
	Events corev1informers.EventInformer
	// Leases watches the operand's namespace.
	Leases coordinationinformers.LeaseInformer

	NodeClient corev1client.NodesGetter
	Clock      clock.PassiveClock
	Recorder   events.Recorder
}

type controller struct {
	Options
	synced func() bool
	// waitingSince is when this process began to wait for the caches.
	waitingSince time.Time
	memory       memory
	// renewal is the last one of the CCM's lease.
	renewal renewal
	// announcements are what the CCM said about Nodes, by the name of the Event, nil before the first look.
	announcements map[string]announcement
	// lastWarning is what the last warning event is about.
	lastWarning string
}

// New returns the controller that permits the CCM to delete Nodes whose machines are gone, and sets
// NodeDeletionDegraded while the CCM wants to delete a Node that the controller does not believe to be gone. On
// unmanaged platforms it takes back its marks on Nodes, and while the platform is unknown, it does nothing.
func New(o Options) factory.Controller {
	nodes, said := o.Nodes.Informer(), o.Events.Informer()
	c := &controller{Options: o, memory: newMemory(), synced: func() bool { return nodes.HasSynced() && said.HasSynced() }}
	syncCtx := factory.NewSyncContext(name, o.Recorder)
	queue := func() { syncCtx.Queue().Add(factory.DefaultQueueKey) }
	// The handler is called only after the informers have started, which depends on the platform. The controller must not
	// wait for their caches. Every deletion begins with an Event; from then on the controller looks again by itself.
	_, _ = said.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { queue() },
		UpdateFunc: func(any, any) { queue() },
	})
	return factory.New().
		WithInformers(o.Operator.Informer(), o.Leases.Informer()).
		WithSyncContext(syncCtx).
		WithSync(writeconflict.Retried(c.sync)).
		WithSyncDegradedOnError(o.Operator).
		ToController(name, o.Recorder)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known {
		return err
	}
	if !c.synced() {
		return c.wait(observed, syncCtx)
	}
	if !observed.Managed() {
		return c.leave(ctx)
	}
	w, err := c.look(observed)
	if err != nil {
		return err
	}
	c.memory.listen(w)
	v := judge(w, &c.memory)
	if v.next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, v.next)
	}
	return errors.Join(c.act(ctx, w, v), c.report(ctx, v))
}

// wait waits for the caches. Until they have synced, no deletion is confirmed; after syncLimit, the sync fails. On
// unmanaged platforms the informers do not run.
func (c *controller) wait(observed platform.Platform, syncCtx factory.SyncContext) error {
	if !observed.Managed() {
		return nil
	}
	syncCtx.Queue().AddAfter(factory.DefaultQueueKey, time.Second)
	now := c.Clock.Now()
	if c.waitingSince.IsZero() {
		c.waitingSince = now
	}
	if now.Sub(c.waitingSince) < syncLimit {
		return nil
	}
	return fmt.Errorf("the Nodes, or the Events in namespace %s, cannot be listed since %s: no Node of a deleted machine "+
		"goes; read the operator's log", EventNamespace, c.waitingSince.UTC().Format(time.RFC3339))
}

// leave takes the marks back when a removal begins.
func (c *controller) leave(ctx context.Context) error {
	c.memory = newMemory()
	w, err := c.look(platform.Platform{})
	if err != nil {
		return err
	}
	v := verdict{changes: map[types.UID]change{}}
	v.tidy(w, &c.memory)
	return c.act(ctx, w, v)
}

// act writes what the verdict requires on Nodes.
func (c *controller) act(ctx context.Context, w world, v verdict) error {
	if v.asked != nil {
		c.memory.begin(w, v.asked)
	}
	for _, n := range w.nodes {
		wanted := v.changes[n.uid]
		if wanted == nothing {
			continue
		}
		version, err := patch(ctx, c.NodeClient.Nodes(), n, wanted)
		if err != nil {
			return err
		}
		c.memory.wrote(w, n, wanted, version, c.Clock.Now())
		if wanted == confirm {
			c.Recorder.Eventf("NodeDeletionConfirmed",
				"The cloud-controller-manager may delete node %s, whose kubelet is silent", n.name)
		}
	}
	return nil
}

// report writes the condition, and an event when it is about something else.
func (c *controller) report(ctx context.Context, v verdict) error {
	condition := operatorclient.AsExpected(ConditionType)
	if v.reason != "" {
		condition = operatorclient.NewCondition(ConditionType, operatorv1.ConditionTrue, v.reason, v.message)
		if c.lastWarning != v.about {
			c.Recorder.Warning("NodeDeletionHeld", v.message)
		}
	}
	c.lastWarning = v.about
	return operatorclient.ApplyConditions(ctx, c.Operator, factory.ControllerFieldManager(name, "condition"), condition)
}
