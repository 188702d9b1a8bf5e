package targetconfigcontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// gating is one decision of the gate.
type gating struct {
	*controller
	syncCtx factory.SyncContext
	// latest is the latest revision, and working the one that a change could break, 0 if there is none.
	latest, working int32
	in              *gathered
	record          *trial.Record
	// full is the candidate of the current inputs. digests cover what its cloud-controller-manager starts with; changed
	// are those that differ from the last candidate.
	full             *candidate
	digests, changed operand.StartDigests
	// isUndone reports whether full is the working revision: a change was undone while it rolled out.
	isUndone bool
	// active are the rejections of full that no administrator has accepted, with what waits for its verdict. remembered
	// are those of inputs that were undone, and failed those of them with which a revision failed: they must not replace
	// rejected ones. byAdmin are changed inputs that an administrator has accepted, nil if there are none.
	active, remembered, failed []trial.Rejection
	byAdmin                    operand.StartDigests
	// waits reports whether anything waits for a verdict. Otherwise the hold timer starts anew.
	waits bool
}

// gate decides whether a candidate that changes what the cloud-controller-manager starts with becomes a revision, see
// doc.go. It returns the candidate to apply, with accepted inputs instead of failed ones, or nil while a verdict is
// pending or the lead may be moving. Inputs stay rejected until one of them changes, an administrator accepts them, or
// a preflight succeeds.
func (c *controller) gate(ctx context.Context, syncCtx factory.SyncContext,
	status *operatorv1.StaticPodOperatorStatus, in *gathered, chosen *candidate,
) (*candidate, error) {
	g := &gating{controller: c, syncCtx: syncCtx, latest: status.LatestAvailableRevision, in: in, full: chosen}
	defer func() {
		if !g.waits {
			c.held = patience.Since[bool]{}
		}
	}()
	if chosen.resources == nil {
		return chosen, nil
	}
	if err := g.classify(); err != nil {
		return nil, err
	}
	next, err := g.withoutRejected()
	if err != nil {
		return nil, err
	}
	e, err := g.observe(next)
	if err != nil {
		return nil, err
	}
	return g.take(ctx, next, e)
}

// take carries out the step that follows from the evidence, and returns what gate does.
func (g *gating) take(ctx context.Context, next *candidate, e *evidence) (*candidate, error) {
	step, unproved := e.next()
	if changed := e.changed.Changed(g.byAdmin); len(changed) > 0 && unproved != "" {
		g.syncCtx.Recorder().Warningf("PreflightUnproved", "nothing has proved the change of %v: %s",
			changed.Causes(), unproved)
	}
	switch step {
	case pause:
		if err := g.repeatOrWithdraw(ctx); err != nil {
			return nil, err
		}
		if others, err := g.withoutWaiting(e.changed); err != nil || others != nil {
			return others, err
		}
		next.resources = nil
		return next, nil
	case passAndRepeat:
		return next, g.repeatOrWithdraw(ctx)
	case submit:
		if err := g.submit(ctx, e.preflight, e.changed, e.login, nil); err != nil {
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

func (g *gating) classify() (err error) {
	if g.working, err = g.workingRevision(); err != nil {
		return err
	}
	g.record = trial.Of(g.in.objects.Secret(operand.PreflightName))
	g.digests, g.changed = g.changes(g.full)
	g.accept(g.changed)
	if g.digests.Matches(g.record.Inputs) {
		g.accept(g.record.Inputs)
	}
	for _, r := range g.record.Rejected {
		isRollingOut := r.IsFor(g.latest) && g.digests.Matches(r.Inputs) // and has failed on its first node
		switch {
		case !isRollingOut && !contains(g.digests, g.changed, r.Inputs), g.logsInAnew(&r):
			g.remember(r)
		case g.accept(r.Inputs):
		case g.isReplaced(&r):
			g.active = append(g.active, r)
		}
	}
	if g.isUndone = g.undoes(); g.isUndone {
		g.remembered, g.active = append(g.remembered, g.active...), nil
	}
	return nil
}

// remember keeps a rejection that replaces no input now. One of a revision may still say what to go back to.
func (g *gating) remember(r trial.Rejection) {
	g.remembered = append(g.remembered, r)
	if r.Verdict.Revision != 0 && !g.logsInAnew(&r) && !operatorclient.IsAccepted(g.in.acceptance, r.Inputs.Value()) {
		g.failed = append(g.failed, r)
	}
}

// accept reports whether an administrator has accepted the inputs, and notes them in g.byAdmin if they cover a change.
func (g *gating) accept(inputs operand.StartDigests) bool {
	if len(inputs) == 0 || !operatorclient.IsAccepted(g.in.acceptance, inputs.Value()) {
		return false
	}
	if contains(g.digests, g.changed, inputs) {
		if g.byAdmin == nil {
			g.byAdmin = operand.StartDigests{}
		}
		maps.Copy(g.byAdmin, inputs)
	}
	return true
}

// contains reports whether a candidate with these digests, some of them changed, has what was rejected or accepted.
func contains(digests, changed, judged operand.StartDigests) bool {
	return digests.Matches(judged) && slices.ContainsFunc(judged.Causes(), func(cause diagnostic.Cause) bool {
		return changed[cause] != ""
	})
}

// undoes reports whether the candidate is the working revision, unless that is rejected: a rejected revision may lead.
func (g *gating) undoes() bool {
	isRejected := func(r trial.Rejection) bool { return r.IsFor(g.working) }
	return len(g.changed) > 0 && g.working != 0 && !slices.ContainsFunc(g.active, isRejected) &&
		g.in.objects.StartDigests(g.working).Matches(g.digests)
}

// changes returns the digests of what the candidate's cloud-controller-manager starts with, and those that differ from
// the last candidate: none at a first installation, all before a take-over.
func (g *gating) changes(next *candidate) (digests, changed operand.StartDigests) {
	if next.inputs.First && g.working != controlplane.PredecessorRevision && g.record.Secret == nil {
		return nil, nil
	}
	digests = next.resources.StartDigests()
	return digests, digests.Changed(g.in.objects.StartDigests(g.lastComplete()))
}

// lastComplete returns the last candidate, or the latest revision if that is edited or not fully applied.
func (g *gating) lastComplete() int32 {
	if g.in.objects.CopiesMatch(operand.Candidate) != nil {
		return g.latest
	}
	return operand.Candidate
}

// repeatOrWithdraw repeats the preflight of rejected inputs if that is due. If nothing is rejected, it withdraws the
// preflight and its verdict, but not a proof that still counts. The verdict of an applied candidate stays for the
// notice; the digest of a preflight does not identify it, because that covers pinned flags. A verdict about a revision
// goes: an administrator has accepted what it rejected, so no node goes back.
func (g *gating) repeatOrWithdraw(ctx context.Context) error {
	if len(g.active) > 0 {
		return g.repeat(ctx)
	}
	if g.record.Secret == nil {
		return nil
	}
	preflight, _, err := g.preflightOf(g.full)
	verdict := g.record.Verdict
	isApplied := g.isTried(preflight) && g.digests.Matches(g.record.Inputs) && (verdict == nil || verdict.Revision == 0)
	if err != nil || isApplied {
		return err
	}
	now := g.Clock.Now()
	left := &trial.Record{Rejected: trial.Remembered(g.remembered, g.latest, now), Secret: g.record.Secret}
	if g.record.Proof.Counts(g.latest, now) {
		left.Proof = g.record.Proof
	}
	reconciler.After(g.syncCtx, trial.RememberPeriod)
	return left.Save(ctx, g.secrets)
}

// repeat submits the current inputs to another preflight if that is due. The former verdict and its tries count until
// there is a new one, whatever else changes meanwhile, but a login's own tries if the credentials have changed.
func (g *gating) repeat(ctx context.Context) error {
	last, pause := g.nextRepeat()
	if pause > 0 {
		if pause != trial.Never {
			reconciler.After(g.syncCtx, pause)
		}
		if tried := g.record.Inputs; len(tried) > 0 && g.digests.Matches(tried) {
			return nil
		}
		// The inputs that were tried last were undone.
		return g.submit(ctx, &corev1.Secret{}, last.Inputs, last.Credentials, &last.Verdict)
	}
	preflight, _, err := g.preflightOf(g.full)
	if err != nil || preflight == nil || g.record.Runs() && g.isTried(preflight) {
		return err
	}
	login := loginOf(g.full)
	if last.Verdict.Class == trial.RejectedLogin && last.Credentials != "" && last.Credentials != login {
		last.Verdict.Tries = g.triesOf(login)
	}
	return g.submit(ctx, preflight, g.changed, login, &last.Verdict)
}

// triesOf returns how often a login was rejected, whatever else was tried with it. The tries of others do not count.
func (g *gating) triesOf(login string) (tries int) {
	for _, r := range g.active {
		if r.Verdict.Class == trial.RejectedLogin && r.Credentials == login {
			tries = max(tries, r.Verdict.Tries)
		}
	}
	return tries
}

// nextRepeat returns the rejection that the next preflight repeats, that of a preflight with the most tries if there is
// one, and the pause until then. Rejected logins may lock an account, so the longest pause of a login counts, unless
// the credentials have changed.
func (g *gating) nextRepeat() (last trial.Rejection, pause time.Duration) {
	soonest, login := trial.Never, time.Duration(0)
	for i, r := range g.active {
		in := r.Verdict.RepeatIn(g.Clock.Now())
		isLogin := r.Verdict.Class == trial.RejectedLogin && in != trial.Never
		if isLogin && r.Credentials != "" && r.Credentials != loginOf(g.full) {
			in, isLogin = 0, false
		}
		if isLogin {
			login = max(login, in)
		}
		soonest = min(soonest, in)
		isLater := last.Verdict.Revision != 0 || r.Verdict.Revision == 0 && r.Verdict.Tries > last.Verdict.Tries
		if i == 0 || isLater {
			last = r
		}
	}
	return last, max(soonest, login)
}

// submit writes the Secret of a preflight. The verdict counts until the preflight has one, nil if there is none.
func (g *gating) submit(
	ctx context.Context, preflight *corev1.Secret, changed operand.StartDigests, login string, verdict *trial.Verdict,
) error {
	next := &trial.Record{
		Digest: preflight.Annotations[operand.PreflightDigestAnnotation],
		Inputs: changed, Credentials: login, Verdict: verdict,
		Rejected: slices.Concat(trial.Remembered(g.remembered, g.latest, g.Clock.Now()), g.active),
		Proof:    g.record.Proof, Files: preflight.Data, Secret: g.record.Secret,
	}
	return next.Save(ctx, g.secrets)
}
