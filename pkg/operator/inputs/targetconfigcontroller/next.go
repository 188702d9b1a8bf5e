package targetconfigcontroller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const (
	// holdTimeout is how long changes wait for a verdict where no former cloud-controller-manager leads: they may be the
	// cure. Then they become a revision without one.
	holdTimeout = 20 * time.Second

	// holdAllTimeout is how long everything waits for a preflight that has no result. Then only what it tries waits.
	holdAllTimeout = 90 * time.Second
)

// step is what happens to a candidate. All but pause, submit and wait make it a revision.
type step string

const (
	pass          step = "pass"
	passAndRepeat step = "pass and repeat" // the preflight of what is rejected, or withdraw one that has ended
	pause         step = "pause"           // until the preflight of what is rejected is repeated
	submit        step = "submit"          // to a preflight, and wait
	wait          step = "wait"            // for the verdict
)

// evidence is what is known at one moment about a candidate in which nothing is rejected.
type evidence struct {
	digests, changed operand.StartDigests
	// login is the digest of the credentials. Those of digests lack some: see loginOf.
	login string
	// isBack is whether the nodes run it that a failed revision has not reached, isPaused whether a login with its
	// credentials was rejected less than a pause ago, and isAccepted whether an administrator has accepted it.
	isBack, isPaused, isAccepted bool
	// preflight is the Secret of its preflight, nil if none is possible, and why the reason if that matters.
	preflight *corev1.Secret
	why       string
	// result is that of its preflight, "" before there is one, and runs whether that runs.
	result trial.Result
	runs   bool
	// works is whether a former cloud-controller-manager works, and waited how long something has waited.
	works  bool
	waited time.Duration
}

// decisions has what happens to a candidate, and why nothing has proved what becomes a revision, if nothing has. The
// first row that applies decides.
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
	e = &evidence{works: g.working != 0, isAccepted: g.accepted != nil, login: loginOf(next)}
	if next.resources == nil || g.isUndone {
		return e, nil
	}
	if e.digests, e.changed = g.changes(next); len(e.changed) == 0 {
		return e, nil
	}
	e.isBack, e.isPaused = g.goesBack(e.digests), g.isPaused(e)
	if e.isBack || e.isPaused || e.isAccepted {
		return e, nil
	}
	if e.preflight, e.why, err = g.preflightOf(next); !e.works {
		e.why = "" // Nothing can break.
	}
	if g.isTried(e.preflight) {
		g.observeTrial(e)
	}
	return e, err
}

// loginOf returns the digest of what a candidate logs in with. Some platforms have it in the cloud configuration, so
// the digests of what the cloud-controller-manager starts with do not tell.
func loginOf(c *candidate) string { return operand.CredentialsDigest(c.inputs) }

func (g *gating) observeTrial(e *evidence) {
	if e.runs = g.record.Runs(); g.record.Verdict != nil {
		e.result = g.record.Verdict.Result
	}
	if e.runs && (e.result == "" || e.result == trial.Failed) {
		e.waited = g.waited()
	}
}

// isPaused counts a remembered rejection of this candidate too: it is not active while it is not about the inputs that
// are wanted, as where what replaces them was rejected before.
func (g *gating) isPaused(e *evidence) bool {
	isPaused := func(r trial.Rejection) bool {
		return r.Verdict.Class == trial.RejectedLogin && r.Verdict.Revision == 0 &&
			r.Credentials == e.login && r.Verdict.RepeatIn(g.Clock.Now()) > 0
	}
	return slices.ContainsFunc(g.active, isPaused) || slices.ContainsFunc(g.remembered, func(r trial.Rejection) bool {
		return r.AppliesTo(e.digests, e.changed) && isPaused(r)
	})
}

func (g *gating) isTried(preflight *corev1.Secret) bool {
	return preflight != nil && g.record.Digest == digestOf(preflight)
}

// isHeld reports whether inputs are replaced by what runs. Those whose preflight showed nothing are while a former
// cloud-controller-manager works; without one, they may be the cure. While that hands over its lead, none works for
// some seconds.
func (g *gating) isHeld(r *trial.Rejection) bool {
	return !r.Waits() || g.waited() < holdTimeout || g.working != 0
}

// withoutWaiting returns what does not wait for the verdict about changes, nil if everything does.
func (g *gating) withoutWaiting(changed operand.StartDigests) (*candidate, error) {
	if g.working == 0 || g.waited() < holdAllTimeout {
		return nil, nil
	}
	g.active = append(g.active, trial.Rejection{
		Inputs: changed, Verdict: trial.Verdict{Result: trial.Inconclusive},
	})
	return g.withoutRejected()
}

// waited returns how long something has waited. The time counts on if another candidate replaces the one that waited.
func (g *gating) waited() time.Duration {
	now := g.Clock.Now()
	waited := now.Sub(g.held.See(g.working != 0, now))
	g.controller.held = g.held
	again := holdTimeout // Whether it works may change.
	if g.working != 0 && waited < holdAllTimeout {
		again = min(holdTimeout, holdAllTimeout-waited)
	} else if waited < holdTimeout {
		again = holdTimeout - waited
	}
	g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), again)
	return waited
}

// preflightOf returns the Secret with the preflight of a candidate, nil if none can be made: on this platform, or,
// with the reason, for this candidate.
func (g *gating) preflightOf(chosen *candidate) (preflight *corev1.Secret, why string, err error) {
	if !chosen.inputs.Platform.Preflight {
		return nil, "", nil
	}
	if chosen.resources.Untried != "" {
		return nil, chosen.resources.Untried, nil
	}
	tokens, err := operand.TokensOf(g.in.live)
	if err != nil {
		return nil, "", err
	}
	if !slices.Equal(tokens, chosen.resources.Tokens) {
		return nil, "it needs federated tokens that do not exist yet", nil
	}
	preflight, err = operand.PreflightCandidate(chosen.inputs)
	if err != nil {
		return nil, "", fmt.Errorf("rendering the preflight: %w", err)
	}
	if preflight == nil {
		return nil, "the cloud-controller-manager's files do not fit in one Secret", nil
	}
	return preflight, "", nil
}
