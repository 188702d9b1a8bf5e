// Package leadership decides which cloud-controller-manager (CCM) leads. It releases the lease of a process that has
// ended, and restores a deleted lease whose holder still acts on it. It moves the lead away from a cordoned Node,
// before that reboots, and from a process whose node controller is not running. In a rollout, it moves the lead to the
// first node that has the revision, see package preflight. Without it, the next CCM leads when the lease expires.
//
// release.go is about the lease, memory.go about what the operator's next process needs to know of it, move.go about
// moves of the lead and movepod.go about their pods, deaf.go about a leader whose node controller is not running.
package leadership

import (
	"context"
	"errors"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const name = "LeaderElection"

// Options are what New needs besides the Deps.
type Options struct {
	// OperatorImage is this operator's image, which the pods of a move run.
	OperatorImage string
	// NodeController has the leader whose node controller is not running.
	NodeController *controlplane.NodeController
	// Replaced counts the leaders that were replaced because of NodeController.
	Replaced func()
	// Memory is where this process keeps what it has seen of the lease.
	Memory *Memory `optional:"without one, nothing is kept"`
}

type controller struct {
	dependencies.Deps
	Options
	// kept is what this process has written to Memory's file.
	kept []byte
	// restarted is the container that replaced the one that led and failed.
	restarted patience.Since[string]
	// cordoned is the leader's Node while that is cordoned.
	cordoned patience.Since[string]
}

// New returns the controller, which acts on managed platforms. A timer requeues when time alone proves that a holder
// has ended, lets the lead move or deletes the pods of a move. A leader whose node controller is not running still
// renews the lease, and each renewal requeues.
func New(d dependencies.Deps, o Options) factory.Controller {
	dependencies.Require(d, o)
	f := factory.New().
		WithInformers(d.Lease, d.Target.Core().V1().Pods().Informer(), d.Nodes.Informer(), d.Infrastructures.Informer()).
		WithFilteredEventsInformers(trial.HasRecord, d.Target.Core().V1().Secrets().Informer())
	return reconciler.From(f, name, d.Operator, d.Recorder, (&controller{Deps: d, Options: o}).sync)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	next, leaseErr := c.keepLease(ctx, v)
	wait, err := c.moveLead(ctx, v)
	reconciler.After(syncCtx, patience.Sooner(next, wait))
	return errors.Join(leaseErr, err)
}

// view is the control plane and what this process knows of the holder and of the moves of the lead.
type view struct {
	controlplane.View
	holder controlplane.Holder
	// isOurs reports whether the holder is a process of ours that was seen to lead, and end is what is known of its end.
	// restarted is when the next run of its container was first seen.
	isOurs    bool
	end       controlplane.End
	restarted time.Time
	proof     *trial.Proof
	moves     []movePod
	// cordonedSince is when the holder's Node was first seen cordoned.
	cordonedSince time.Time
	// isDeaf reports whether the holder runs no node controller. That began at deafSince, and these nodes are waiting for
	// it.
	isDeaf    bool
	deafSince time.Time
	waiting   []string
}

func (c *controller) view() (*view, error) {
	seen, err := c.View()
	if err != nil {
		return nil, err
	}
	secret, err := c.Secret(operand.PreflightName)
	if err != nil {
		return nil, err
	}
	v := c.observe(seen)
	v.proof = trial.Of(secret).Proof
	return v, nil
}

func (c *controller) observe(seen controlplane.View) *view {
	v := &view{View: seen, holder: seen.Holder(), moves: movePodsOf(seen.Moves())}
	if record := v.Record(); record.Exists {
		// The View keeps its lease: the update that releases it fails if it has changed since.
		v.View = c.Lease.ObserveHolder(seen, (record.Observed || v.oneCanLead()) && v.couldOnlyBeOurs())
		c.keep()
	}
	if v.holder.Identity != "" && v.holder.Identity == v.Record().Process.Identity {
		v.isOurs, v.end = true, c.Lease.EndOf(v.View)
	}
	if v.hasEnded() {
		v.restarted = c.restarted.See(v.end.Next, v.Now())
	}
	cordoned := ""
	if v.isCordoned() {
		cordoned = v.holder.Node
	}
	v.cordonedSince = c.cordoned.See(cordoned, v.Now())
	v.deafSince, v.waiting, v.isDeaf = c.NodeController.NotRunning(v.holder.Identity)
	return v
}
