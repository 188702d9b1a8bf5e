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

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// holdTime is how long changes wait for a verdict where no former cloud-controller-manager leads: they may be the
	// cure. Then they become a revision without one.
	holdTime = 20 * time.Second

	// holdAllTime is how long everything waits for a preflight that has no result. Then only what it tries waits.
	holdAllTime = 90 * time.Second
)

// gating decides about a candidate.
type gating struct {
	*controller
	syncCtx factory.SyncContext
	status  *operatorv1.StaticPodOperatorStatus
	in      *gathered
	// full is the candidate of the current inputs, digests are those of what it starts with, and changed what of that
	// differs from the last candidate.
	full             *candidate
	digests, changed operand.StartDigests
	// former is the Secret that is there, nil if there is none. standing are the rejections of it that concern full, and
	// that no administrator has accepted, with what waits for its verdict. accepted are the inputs that one has, of which
	// some have changed, nil if there are none.
	former   *corev1.Secret
	standing []operand.PreflightRejection
	accepted operand.StartDigests
	// remembered are rejections of inputs that were undone.
	remembered []operand.PreflightRejection
	// login is the digest of the credentials of what is submitted.
	login string
	// works is the revision that a change could break, 0 if there is none.
	works int32
	// held is since when something waits while a former one works, or while none does.
	held patience.Since[bool]
}

// gate lets a candidate that changes what the cloud-controller-manager starts with wait for the verdict of a
// preflight, while a former one works. It returns the candidate to apply: nil while the verdict is awaited, or one
// with the accepted inputs instead of those with which the cloud-controller-manager has failed. Those stay rejected
// until one of them changes, an administrator accepts them, or a repeated preflight succeeds; what else changes is
// tried without them.
func (c *controller) gate(ctx context.Context, syncCtx factory.SyncContext,
	status *operatorv1.StaticPodOperatorStatus, in *gathered, chosen *candidate,
) (*candidate, error) {
	g := &gating{controller: c, syncCtx: syncCtx, status: status, in: in, full: chosen, held: c.held}
	c.held = patience.Since[bool]{} // What no longer waits begins anew.
	if chosen.resources == nil {
		return chosen, nil
	}
	if err := g.classify(); err != nil {
		return nil, err
	}
	if undone, err := g.undone(); err != nil {
		return nil, err
	} else if undone {
		g.remembered = append(g.remembered, g.standing...)
		g.standing = nil
		return chosen, g.withdraw(ctx)
	}
	next, err := g.withoutRejected()
	if err != nil {
		return nil, err
	}
	if held, err := g.repeatsLogin(next); err != nil {
		return nil, err
	} else if held {
		next.resources = nil
	}
	waitsFor, err := g.submitOrPass(ctx, next)
	if err != nil || len(waitsFor) == 0 {
		return next, err
	}
	return g.withoutWaiting(waitsFor)
}

// classify finds out what changes, and what of that is rejected or waits.
func (g *gating) classify() error {
	var err error
	if g.digests, g.changed, err = g.changes(g.full); err != nil {
		return err
	}
	if len(g.changed) > 0 {
		if g.works, err = g.Works(g.status); err != nil {
			return err
		}
	}
	g.accept(&operand.PreflightRejection{Inputs: g.changed})
	g.former, err = operatorclient.Find(g.secrets, "secret", operatorclient.TargetNamespace, operand.PreflightName)
	if err != nil || g.former == nil {
		return err
	}
	if tried := (&operand.PreflightRejection{Inputs: operand.PreflightInputsOf(g.former)}); g.digests.Have(tried.Inputs) {
		g.accept(tried)
	}
	for _, r := range operand.PreflightRejectionsOf(g.former) {
		switch {
		case !r.Concerns(g.digests, g.changed) && !g.isRollingOut(&r):
			g.remembered = append(g.remembered, r)
		case g.accept(&r):
		case g.isHeld(&r):
			g.standing = append(g.standing, r)
		}
	}
	return nil
}

// accept reports whether an administrator has accepted inputs. They let a candidate pass if some of them have changed.
func (g *gating) accept(r *operand.PreflightRejection) bool {
	if len(r.Inputs) == 0 || !operatorclient.IsAccepted(g.in.acceptance, r.Value()) {
		return false
	}
	if r.Concerns(g.digests, g.changed) {
		if g.accepted == nil {
			g.accepted = operand.StartDigests{}
		}
		maps.Copy(g.accepted, r.Inputs)
	}
	return true
}

// undone reports whether the candidate is what works, as after a change that is undone while it rolls out.
func (g *gating) undone() (bool, error) {
	if len(g.changed) == 0 || g.works == 0 || g.hasFailed(g.works) {
		return false, nil
	}
	running, err := g.startsWith(g.works)
	return running.Have(g.digests), err
}

// submitOrPass gives a candidate to a preflight, and returns what waits for the verdict. While there is nothing new to
// try, the preflight of what is rejected is repeated after a pause.
func (g *gating) submitOrPass(ctx context.Context, next *candidate) (waitsFor operand.StartDigests, err error) {
	if next.resources == nil {
		return nil, g.repeat(ctx)
	}
	digests, changed, err := g.changes(next)
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return nil, g.withdraw(ctx)
	}
	if back, err := g.goesBack(digests); err != nil || back {
		return nil, err
	}
	if g.accepted != nil {
		g.tellUnproved(changed.Changed(g.accepted), "it rolls out with what an administrator has accepted")
		return nil, nil
	}
	preflight, why, err := g.preflightOf(next)
	if err != nil {
		return nil, err
	}
	if g.works != 0 {
		g.tellUnproved(changed, why)
	}
	g.login = digests[diagnostic.Credentials]
	if waits, err := g.passOrHold(ctx, preflight, changed); err != nil || !waits {
		return nil, err
	}
	return changed, nil
}

// passOrHold reports whether a candidate waits for its verdict.
func (g *gating) passOrHold(
	ctx context.Context, preflight *corev1.Secret, changed operand.StartDigests,
) (waits bool, err error) {
	if preflight == nil {
		return false, g.withdraw(ctx)
	}
	if g.former != nil && digestOf(g.former) == digestOf(preflight) {
		switch verdict := operand.PreflightVerdictOf(g.former); {
		case verdict != nil && verdict.Result == operand.Inconclusive:
			g.tellUnproved(changed, "its preflight showed nothing, and no cloud-controller-manager works")
			return false, nil
		case verdict != nil && verdict.Result != operand.Failed:
			return false, nil
		case operand.PreflightRuns(g.former):
			return g.holds(changed), nil
		}
	}
	if g.works == 0 {
		return false, g.withdraw(ctx)
	}
	if err := g.submit(ctx, preflight, changed, nil); err != nil {
		value := (&operand.PreflightRejection{Inputs: g.changed}).Value()
		return true, fmt.Errorf("%w; to roll the change out unproved, run: %s", err,
			operatorclient.AcceptCommand(g.in.acceptance, value))
	}
	return g.holds(changed), nil
}

// holds reports whether changes still wait for a verdict.
func (g *gating) holds(changed operand.StartDigests) bool {
	if g.waited() >= holdTime && g.works == 0 {
		g.tellUnproved(changed, fmt.Sprintf("its preflight has no result after %s", holdTime))
		return false
	}
	return true
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
// differs from the last candidate. At a first installation there is nothing to differ from.
func (g *gating) changes(next *candidate) (digests, changed operand.StartDigests, err error) {
	if next.inputs.First {
		return nil, nil, nil
	}
	former, err := g.startsWith(0)
	if err != nil {
		return nil, nil, err
	}
	digests, err = next.resources.StartsWith()
	return digests, digests.Changed(former), err
}

// startsWith returns the digests of a revision, or with 0 those of the last candidate, see lastComplete.
func (g *gating) startsWith(revision int32) (operand.StartDigests, error) {
	configMaps, secrets, err := g.delivered()
	if err != nil {
		return nil, err
	}
	return operand.StartsWith(configMaps, secrets, g.lastComplete(revision, configMaps, secrets))
}

// delivered returns the objects of the operand's namespace.
func (g *gating) delivered() (configMaps []*corev1.ConfigMap, secrets []*corev1.Secret, err error) {
	configMaps, err = operatorclient.All(g.configMaps, "configmaps in "+operatorclient.TargetNamespace)
	if err != nil {
		return nil, nil, err
	}
	secrets, err = operatorclient.All(g.secrets, "secrets in "+operatorclient.TargetNamespace)
	return configMaps, secrets, err
}

// lastComplete returns the latest revision instead of 0, the last candidate, if that is not complete: it was edited by
// hand, or not all of it is applied yet.
func (g *gating) lastComplete(revision int32, configMaps []*corev1.ConfigMap, secrets []*corev1.Secret) int32 {
	if revision == 0 && operand.CopiesMatch(configMaps, secrets, 0) != nil {
		return g.status.LatestAvailableRevision
	}
	return revision
}

// preflightOf returns the Secret with the preflight of a candidate, nil if none can be made: on this platform, or,
// with the reason, for this candidate.
func (c *controller) preflightOf(chosen *candidate) (preflight *corev1.Secret, why string, err error) {
	if !chosen.inputs.Platform.Preflight {
		return nil, "", nil
	}
	if chosen.resources.Untried != "" {
		return nil, chosen.resources.Untried, nil
	}
	live, err := operatorclient.Find(c.configMaps, "configmap", operatorclient.TargetNamespace, operand.PodConfigMap)
	if err != nil || live == nil {
		return nil, "", err
	}
	tokens, err := operand.TokensOf(live)
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
