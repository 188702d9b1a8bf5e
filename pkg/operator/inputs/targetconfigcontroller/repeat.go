package targetconfigcontroller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// withdraw withdraws a candidate that no longer is one, and its verdict. If the candidate is applied already, with
// all that it changed, the verdict stays for the notice: the digest of a preflight does not tell, because it has pinned
// flags. One about a revision does not: an administrator has accepted what it rejected, and no node goes back. The
// record of a revision's proof stays as long as it counts.
func (g *gating) withdraw(ctx context.Context) error {
	if len(g.standing) > 0 {
		return g.repeat(ctx)
	}
	if g.former == nil {
		return nil
	}
	preflight, _, err := g.preflightOf(g.full)
	verdict := operand.PreflightVerdictOf(g.former)
	isApplied := preflight != nil && digestOf(g.former) == digestOf(preflight) &&
		g.digests.Have(operand.PreflightInputsOf(g.former)) && (verdict == nil || verdict.Revision == 0)
	if err != nil || isApplied {
		return err
	}
	left := operand.RememberedRejections(g.remembered, g.Clock.Now())
	if len(left) > 0 || operand.LeadingOf(g.former).Counts(g.status.LatestAvailableRevision, g.Clock.Now()) {
		g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), operand.RememberTime)
		return g.submit(ctx, operand.PreflightSecret(""), nil, nil)
	}
	if _, _, err := resourceapply.DeleteSecret(ctx, g.Secrets, g.syncCtx.Recorder(), g.former); err != nil {
		return fmt.Errorf("deleting secret/%s in %s: %w", g.former.Name, g.former.Namespace, err)
	}
	return nil
}

// repeatsLogin reports whether a preflight of the candidate would repeat a rejected login before the end of its pause.
// What goes back to a former revision has no preflight, and a revision's login has no pause.
func (g *gating) repeatsLogin(next *candidate) (bool, error) {
	if next.resources == nil || len(g.standing) == 0 {
		return false, nil
	}
	digests, changed, err := g.changes(next)
	if err != nil || len(changed) == 0 {
		return false, err
	}
	if back, err := g.goesBack(digests); err != nil || back {
		return false, err
	}
	return slices.ContainsFunc(g.standing, func(r operand.PreflightRejection) bool {
		return r.Verdict.Class == operand.RejectedLogin && r.Verdict.Revision == 0 &&
			r.Credentials == digests[diagnostic.Credentials] && r.Verdict.RepeatIn(g.Clock.Now()) > 0
	}), nil
}

// repeat gives the current inputs to a preflight again if that is due. The former verdict counts until there is
// another one, and so do its tries, whatever else has changed meanwhile.
func (g *gating) repeat(ctx context.Context) error {
	last, pause := g.nextRepeat()
	if pause > 0 {
		if pause != operand.Never {
			g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), pause)
		}
		if tried := operand.PreflightInputsOf(g.former); len(tried) > 0 && g.digests.Have(tried) {
			return nil
		}
		g.login = last.Credentials
		// What was tried last was undone.
		return g.submit(ctx, operand.PreflightSecret(last.Verdict.Digest), last.Inputs, &last.Verdict)
	}
	preflight, _, err := g.preflightOf(g.full)
	if err != nil || preflight == nil {
		return err
	}
	if operand.PreflightRuns(g.former) && digestOf(g.former) == digestOf(preflight) {
		return nil
	}
	last.Verdict.Digest, g.login = digestOf(preflight), g.digests[diagnostic.Credentials]
	return g.submit(ctx, preflight, g.changed, &last.Verdict)
}

// nextRepeat returns the rejection that the next repeated preflight is about, and the pause until then. A rejected
// login counts against an account, so its pause is the longest that counts, unless the credentials are others now.
func (g *gating) nextRepeat() (last operand.PreflightRejection, pause time.Duration) {
	soonest, login := operand.Never, time.Duration(0)
	for i, r := range g.standing {
		in := r.Verdict.RepeatIn(g.Clock.Now())
		isLogin := r.Verdict.Class == operand.RejectedLogin && in != operand.Never
		if isLogin && r.Credentials != "" && r.Credentials != g.digests[diagnostic.Credentials] {
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

// submit writes a candidate for a preflight, with what it changes and the verdict that counts meanwhile, nil if there
// is none.
func (g *gating) submit(
	ctx context.Context, preflight *corev1.Secret, changed operand.StartDigests, verdict *operand.PreflightVerdict,
) error {
	rejections := slices.Concat(operand.RememberedRejections(g.remembered, g.Clock.Now()), g.standing)
	if err := operand.AnnotatePreflight(preflight, changed, rejections, verdict); err != nil {
		return err
	}
	preflight.Annotations[operand.PreflightCredentialsAnnotation] = g.login
	return g.applySecret(ctx, g.syncCtx.Recorder(), preflight)
}
