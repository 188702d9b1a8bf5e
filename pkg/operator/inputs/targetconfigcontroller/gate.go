package targetconfigcontroller

import (
	"context"
	"fmt"
	"maps"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// gating decides about a candidate.
type gating struct {
	*controller
	syncCtx factory.SyncContext
	status  *operatorv1.StaticPodOperatorStatus
	in      *gathered
	record  *trial.Record
	// full is the candidate of the current inputs, digests are those of what it starts with, and changed what of that
	// differs from the last candidate.
	full             *candidate
	digests, changed operand.StartDigests
	// isUndone is whether full is what works, as after a change that is undone while it rolls out.
	isUndone bool
	// standing are the rejections that concern full, and that no administrator has accepted, with what waits for its
	// verdict. remembered are those of inputs that were undone. accepted are the inputs that an administrator has
	// accepted, of which some have changed, nil if there are none.
	standing, remembered []trial.Rejection
	accepted             operand.StartDigests
	// works is the revision that a change could break, 0 if there is none.
	works int32
	// held is since when something waits while a former one works, or while none does.
	held patience.Since[bool]
}

// gate decides whether a candidate that changes what the cloud-controller-manager starts with becomes a revision, see
// decisions. It returns the candidate to apply: nil while the verdict is awaited, or one with the accepted inputs
// instead of those with which the cloud-controller-manager has failed. Those stay rejected until one of them changes,
// an administrator accepts them, or a repeated preflight succeeds; what else changes is tried without them.
func (c *controller) gate(ctx context.Context, syncCtx factory.SyncContext,
	status *operatorv1.StaticPodOperatorStatus, in *gathered, chosen *candidate,
) (*candidate, error) {
	g := &gating{controller: c, syncCtx: syncCtx, status: status, in: in, full: chosen, held: c.held}
	c.held = patience.Since[bool]{} // Reset the timer of what no longer waits.
	if chosen.resources == nil {
		return chosen, nil
	}
	next, e, err := g.look()
	if err != nil {
		return nil, err
	}
	step, unproved := e.next()
	g.tellUnproved(e.changed.Changed(g.accepted), unproved)
	return g.take(ctx, step, next, e)
}

// look returns the candidate in which nothing is rejected, and what is known about it.
func (g *gating) look() (*candidate, *evidence, error) {
	if err := g.classify(); err != nil {
		return nil, nil, err
	}
	next, err := g.withoutRejected()
	if err != nil {
		return nil, nil, err
	}
	e, err := g.observe(next)
	return next, e, err
}

// take takes the next step of a candidate, and returns what becomes a revision meanwhile.
func (g *gating) take(ctx context.Context, step step, next *candidate, e *evidence) (*candidate, error) {
	switch step {
	case pause:
		next.resources = nil
		return next, g.settle(ctx)
	case settle:
		return next, g.settle(ctx)
	case submit:
		if err := g.submit(ctx, e.preflight, e.changed, e.digests[diagnostic.Credentials], nil); err != nil {
			return nil, fmt.Errorf("%w; to roll the change out unproved, run: %s", err,
				operatorclient.AcceptCommand(g.in.acceptance, g.changed.Value()))
		}
		return g.withoutWaiting(e.changed)
	case wait:
		return g.withoutWaiting(e.changed)
	case pass:
	}
	return next, nil
}

// classify finds out what changes, and what of that is rejected or waits.
func (g *gating) classify() (err error) {
	if g.works, err = g.controller.works(g.status); err != nil {
		return err
	}
	g.record = trial.Of(g.in.objects.Secret(operand.PreflightName))
	g.digests, g.changed = g.changes(g.full)
	g.accept(g.changed)
	if g.digests.Have(g.record.Inputs) {
		g.accept(g.record.Inputs)
	}
	for _, r := range g.record.Rejected {
		switch {
		case !r.Concerns(g.digests, g.changed) && !g.isRollingOut(&r):
			g.remembered = append(g.remembered, r)
		case g.accept(r.Inputs):
		case g.isHeld(&r):
			g.standing = append(g.standing, r)
		}
	}
	if g.isUndone = g.undoes(); g.isUndone {
		g.remembered, g.standing = append(g.remembered, g.standing...), nil
	}
	return nil
}

// accept reports whether an administrator has accepted inputs. They let a candidate pass if some of them have changed.
func (g *gating) accept(inputs operand.StartDigests) bool {
	if len(inputs) == 0 || !operatorclient.IsAccepted(g.in.acceptance, inputs.Value()) {
		return false
	}
	if (&trial.Rejection{Inputs: inputs}).Concerns(g.digests, g.changed) {
		if g.accepted == nil {
			g.accepted = operand.StartDigests{}
		}
		maps.Copy(g.accepted, inputs)
	}
	return true
}

// undoes reports whether the candidate is what works. That may lead although it is rejected.
func (g *gating) undoes() bool {
	return len(g.changed) > 0 && g.works != 0 && !g.hasFailed(g.works) &&
		g.in.objects.StartsWith(g.works).Have(g.digests)
}

// tellUnproved says why a change, if there is one and a reason, becomes a revision without a verdict.
func (g *gating) tellUnproved(changed operand.StartDigests, why string) {
	if len(changed) == 0 || why == "" {
		return
	}
	g.syncCtx.Recorder().Warningf("PreflightUnproved", "nothing has proved the change of %v: %s", changed.Causes(), why)
}

func digestOf(secret *corev1.Secret) string {
	return secret.Annotations[operand.PreflightDigestAnnotation]
}

// changes returns the digests of what the cloud-controller-manager of a candidate starts with, and what of that
// differs from the last candidate. At a first installation there is nothing to differ from, but before a take-over
// everything does.
func (g *gating) changes(next *candidate) (digests, changed operand.StartDigests) {
	if next.inputs.First && g.works != controlplane.PredecessorWorks && g.record.Secret == nil {
		return nil, nil
	}
	digests = next.resources.StartsWith()
	return digests, digests.Changed(g.in.objects.StartsWith(g.lastComplete(0)))
}

// lastComplete returns the latest revision instead of 0, the last candidate, if that is not complete: it was edited by
// hand, or not all of it is applied yet.
func (g *gating) lastComplete(revision int32) int32 {
	if revision == 0 && operand.CopiesMatch(g.in.objects.ConfigMaps, g.in.objects.Secrets, 0) != nil {
		return g.status.LatestAvailableRevision
	}
	return revision
}
