package targetconfigcontroller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// settle repeats the preflight of what is rejected if that is due. If nothing is, it withdraws a candidate that no
// longer is one, and its verdict. If the candidate is applied already, with all that it changed, the verdict stays for
// the notice: the digest of a preflight does not tell, because it has pinned flags. One about a revision does not: an
// administrator has accepted what it rejected, and no node goes back. The proof of a revision stays as long as it
// counts.
func (g *gating) settle(ctx context.Context) error {
	if len(g.standing) > 0 {
		return g.repeat(ctx)
	}
	if g.record.Secret == nil {
		return nil
	}
	preflight, _, err := g.preflightOf(g.full)
	verdict := g.record.Verdict
	isApplied := g.isTried(preflight) && g.digests.Have(g.record.Inputs) && (verdict == nil || verdict.Revision == 0)
	if err != nil || isApplied {
		return err
	}
	now := g.Clock.Now()
	left := &trial.Record{Rejected: trial.Remembered(g.remembered, now), Secret: g.record.Secret}
	if g.record.Leading.Counts(g.status.LatestAvailableRevision, now) {
		left.Leading = g.record.Leading
	}
	g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), trial.RememberPeriod)
	return left.Save(ctx, g.secrets)
}

// repeat gives the current inputs to a preflight again if that is due. The former verdict counts until there is
// another one, and so do its tries, whatever else has changed meanwhile.
func (g *gating) repeat(ctx context.Context) error {
	last, pause := g.nextRepeat()
	if pause > 0 {
		if pause != trial.Never {
			g.syncCtx.Queue().AddAfter(g.syncCtx.QueueKey(), pause)
		}
		if tried := g.record.Inputs; len(tried) > 0 && g.digests.Have(tried) {
			return nil
		}
		// What was tried last was undone.
		return g.submit(ctx, &corev1.Secret{}, last.Inputs, last.Credentials, &last.Verdict)
	}
	preflight, _, err := g.preflightOf(g.full)
	if err != nil || preflight == nil || g.record.Runs() && g.isTried(preflight) {
		return err
	}
	return g.submit(ctx, preflight, g.changed, g.digests[diagnostic.Credentials], &last.Verdict)
}

// nextRepeat returns the rejection that the next repeated preflight is about, and the pause until then. A rejected
// login counts against an account, so its pause is the longest that counts, unless the credentials are others now.
func (g *gating) nextRepeat() (last trial.Rejection, pause time.Duration) {
	soonest, login := trial.Never, time.Duration(0)
	for i, r := range g.standing {
		in := r.Verdict.RepeatIn(g.Clock.Now())
		isLogin := r.Verdict.Class == trial.RejectedLogin && in != trial.Never
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

// submit writes a candidate for a preflight, with what it changes, the digest of its login, and the verdict that counts
// meanwhile, nil if there is none.
func (g *gating) submit(
	ctx context.Context, preflight *corev1.Secret, changed operand.StartDigests, login string, verdict *trial.Verdict,
) error {
	next := &trial.Record{
		Digest: digestOf(preflight), Inputs: changed, Credentials: login, Verdict: verdict,
		Rejected: slices.Concat(trial.Remembered(g.remembered, g.Clock.Now()), g.standing),
		Leading:  g.record.Leading, Files: preflight.Data, Secret: g.record.Secret,
	}
	return next.Save(ctx, g.secrets)
}
