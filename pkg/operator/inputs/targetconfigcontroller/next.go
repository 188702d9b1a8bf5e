package targetconfigcontroller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// holdTimeout is how long changes wait once no former cloud-controller-manager works: none does for some seconds while
	// the lead moves. After that, they become a revision without a verdict, because they may be the fix.
	holdTimeout = 20 * time.Second

	// holdAllTimeout is how long all changes wait for a preflight. Then only those that it tries wait.
	holdAllTimeout = 90 * time.Second
)

// step is what happens to a candidate. All but pause, submit and wait make it a revision.
type step string

const (
	pass          step = "pass"
	passAndRepeat step = "pass and repeat" // the preflight of what is rejected, or withdraw one that has ended
	pause         step = "pause"           // until the preflight of what is rejected is repeated
	submit        step = "submit"          // to a preflight, and wait
	wait          step = "wait"            // for the verdict, or until the lead has moved
)

// evidence is what is known about a candidate whose rejected inputs have been replaced.
type evidence struct {
	digests, changed operand.StartDigests
	// login is the digest of all credentials; digests lack some, see loginOf.
	login string
	// isBack reports whether the nodes that a failed revision has not reached run this candidate, isPaused whether a
	// rejected login with its credentials must not be repeated yet, isAccepted whether an administrator has accepted it.
	isBack, isPaused, isAccepted bool
	// preflight is the Secret of its preflight, nil if none is possible; why is the reason, if it matters.
	preflight *corev1.Secret
	why       string
	// result is that of the preflight, "" if it has none; runs reports whether it runs.
	result trial.Result
	runs   bool
	// works reports whether a former cloud-controller-manager works, isLeadMoving whether one did until less than
	// holdTimeout ago. waited is how long changes have waited.
	works, isLeadMoving bool
	waited              time.Duration
}

// decisions implements the table in doc.go. unproved is why a change becomes a revision without proof, if it does.
var decisions = []struct {
	when     func(*evidence) bool
	step     step
	unproved string
}{
	{func(e *evidence) bool { return len(e.changed) == 0 }, passAndRepeat, ""},
	{func(e *evidence) bool { return e.isBack }, pass, ""},
	{func(e *evidence) bool { return e.isPaused }, pause, ""},
	{func(e *evidence) bool { return e.isAccepted }, pass, "it rolls out with what an administrator has accepted"},
	{func(e *evidence) bool { return e.preflight == nil }, passAndRepeat, ""},
	{func(e *evidence) bool { return e.result == trial.Successful }, pass, ""},
	{
		func(e *evidence) bool { return e.result == trial.Inconclusive }, pass,
		"its preflight showed nothing, and no cloud-controller-manager works",
	},
	{
		func(e *evidence) bool { return e.runs && !e.works && e.waited >= holdTimeout }, pass,
		fmt.Sprintf("its preflight has no result after %s", holdTimeout),
	},
	{func(e *evidence) bool { return e.runs }, wait, ""},
	{func(e *evidence) bool { return e.isLeadMoving }, wait, ""},
	{func(e *evidence) bool { return !e.works }, passAndRepeat, ""},
}

func (e *evidence) next() (step step, unproved string) {
	for _, d := range decisions {
		if d.when(e) {
			return d.step, cmp.Or(d.unproved, e.why)
		}
	}
	return submit, ""
}

func (g *gating) observe(next *candidate) (e *evidence, err error) {
	e = &evidence{
		works: g.working != 0, isLeadMoving: g.isLeadMoving(), isAccepted: g.byAdmin != nil, login: loginOf(next),
	}
	if next.resources == nil || g.isUndone {
		return e, nil
	}
	if e.digests, e.changed = g.changes(next); len(e.changed) == 0 {
		return e, nil
	}
	back := g.formerRevision()
	e.isBack = back != 0 && g.in.objects.StartDigests(back).Matches(e.digests)
	e.isPaused = g.isPaused(e)
	if e.isBack || e.isPaused || e.isAccepted {
		return e, nil
	}
	if e.preflight, e.why, err = g.preflightOf(next); !e.works && !e.isLeadMoving {
		e.why = "" // Nothing can break.
	}
	if g.isTried(e.preflight) {
		g.observeTrial(e)
	}
	return e, err
}

// isLeadMoving reports whether the last former cloud-controller-manager stopped working less than holdTimeout ago. If
// this process has seen none that works, one may have led until it started. It looks again while none works.
func (g *gating) isLeadMoving() bool {
	now, lease := g.Clock.Now(), g.Lease.Record()
	if g.working == 0 && g.worked.At().IsZero() && !lease.WasRenewedWithin(holdTimeout, now) {
		return false
	}
	left := g.worked.See(g.working != 0, now).Add(holdTimeout).Sub(now)
	if g.working != 0 {
		return false
	}
	reconciler.After(g.syncCtx, cmp.Or(max(left, 0), holdTimeout))
	return left > 0
}

// loginOf returns the digest of the credentials. StartDigests lack those in a cloud configuration.
func loginOf(c *candidate) string { return operand.CredentialsDigest(c.inputs) }

func (g *gating) observeTrial(e *evidence) {
	if e.runs = g.record.Runs(); g.record.Verdict != nil {
		e.result = g.record.Verdict.Result
	}
	if e.runs && (e.result == "" || e.result == trial.Failed) {
		e.waited = g.waited()
	}
}

// isPaused also counts remembered rejections: inputs that now replace others may have been rejected before.
func (g *gating) isPaused(e *evidence) bool {
	isPaused := func(r trial.Rejection) bool {
		return r.Verdict.Class == trial.RejectedLogin && r.Verdict.Revision == 0 &&
			r.Credentials == e.login && r.Verdict.RepeatIn(g.Clock.Now()) > 0
	}
	return slices.ContainsFunc(g.active, isPaused) || slices.ContainsFunc(g.remembered, func(r trial.Rejection) bool {
		return contains(e.digests, e.changed, r.Inputs) && isPaused(r)
	})
}

func (g *gating) isTried(preflight *corev1.Secret) bool {
	return preflight != nil && g.record.Digest == preflight.Annotations[operand.PreflightDigestAnnotation]
}

// isReplaced reports whether accepted inputs replace these. They replace inconclusive ones while a former CCM works;
// otherwise these may be the fix.
func (g *gating) isReplaced(r *trial.Rejection) bool {
	return !r.Waits() || g.waited() < holdTimeout || g.working != 0
}

// withoutWaiting returns the candidate without the changes that wait for a verdict, nil if everything waits.
func (g *gating) withoutWaiting(changed operand.StartDigests) (*candidate, error) {
	if g.working == 0 || g.waited() < holdAllTimeout {
		return nil, nil
	}
	g.active = append(g.active, trial.Rejection{
		Inputs: changed, Verdict: trial.Verdict{Result: trial.Inconclusive},
	})
	return g.withoutRejected()
}

// waited returns how long changes have waited. Replacing the waiting candidate does not reset the timer.
func (g *gating) waited() time.Duration {
	now := g.Clock.Now()
	waited := now.Sub(g.held.See(g.working != 0, now))
	g.waits = true
	again := holdTimeout // until a cloud-controller-manager may work, or no longer
	if g.working != 0 && waited < holdAllTimeout {
		again = min(holdTimeout, holdAllTimeout-waited)
	} else if waited < holdTimeout {
		again = holdTimeout - waited
	}
	reconciler.After(g.syncCtx, again)
	return waited
}

// preflightOf returns the Secret of a preflight, nil if the platform or, for the given reason, the candidate has none.
func (g *gating) preflightOf(chosen *candidate) (preflight *corev1.Secret, why string, err error) {
	if !chosen.inputs.Platform.Preflight {
		return nil, "", nil
	}
	if chosen.resources.Untried != "" {
		return nil, chosen.resources.Untried, nil
	}
	// An annotation that cannot be read was edited manually. The candidate replaces it.
	if tokens, err := operand.TokensOf(g.in.live); err == nil && !slices.Equal(tokens, chosen.resources.Tokens) {
		return nil, "it needs federated tokens that do not exist yet", nil
	}
	preflight, err = g.preflightCandidate(chosen.inputs)
	if err != nil {
		return nil, "", fmt.Errorf("rendering the preflight: %w", err)
	}
	if preflight == nil {
		return nil, "the cloud-controller-manager's files do not fit in one Secret", nil
	}
	return preflight, "", nil
}
