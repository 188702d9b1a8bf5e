package preflight

import (
	"context"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// report reports a verdict, nil if there is none to report, what else waits for its verdict, and what the present
// preflight waits for once that has lasted.
func (c *controller) report(
	ctx context.Context, candidate *corev1.Secret, verdict *operand.PreflightVerdict, waitsFor string,
) error {
	var waiting []operand.PreflightRejection
	if candidate != nil {
		waiting = operand.PreflightRejectionsOf(candidate)
	}
	var reason string
	var texts []string
	if verdict != nil {
		reason = reasons[verdict.Result]
		if verdict.Revision != 0 {
			reason = revisionFailed
		}
		if verdict.Result == operand.Failed || len(waiting) == 0 {
			texts = append(texts, verdict.Describe())
		}
	}
	for _, r := range waiting {
		if !r.Waits() {
			continue
		}
		whatHappens, err := c.whatHappens(r.Inputs, r.Verdict.NextTry())
		if err != nil {
			return err
		}
		texts = append(texts, r.Verdict.Describe()+whatHappens)
		if reason == "" {
			reason = reasons[operand.Inconclusive]
		}
	}
	if waitsFor != "" && c.hasLasted(candidate) {
		inputs := operand.PreflightInputsOf(candidate)
		whatHappens, err := c.whatHappens(inputs, "")
		if err != nil {
			return err
		}
		reason, texts = "PreflightWaiting", append(texts, "the preflight of the changed inputs waits for "+waitsFor+whatHappens)
	}
	if len(texts) == 0 {
		return c.apply(ctx, operatorclient.AsExpected(condition))
	}
	return c.apply(ctx, operatorclient.NewCondition(condition, operatorv1.ConditionTrue, reason, strings.Join(texts, "\n")))
}

// hasLasted reports whether the present preflight has lasted for quietTime.
func (c *controller) hasLasted(candidate *corev1.Secret) bool {
	now := c.Clock.Now()
	return now.Sub(c.waiting.See(candidate.Annotations[operand.PreflightDigestAnnotation], now)) >= quietTime
}

// whatHappens says what happens to inputs without a verdict. Target configuration holds them while a
// cloud-controller-manager works.
func (c *controller) whatHappens(inputs operand.StartDigests, nextTry string) (string, error) {
	present, err := c.startsWith(0)
	if err != nil {
		return "", err
	}
	if present.Have(inputs) {
		return "; the change rolls out, although nothing has proved it", nil
	}
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return "", err
	}
	value := (&operand.PreflightRejection{Inputs: inputs}).Value()
	return "; what ran before stays in use" + nextTry + "; to roll the change out unproved, run: " +
		operatorclient.AcceptCommand(meta.Annotations[operatorclient.PreflightAnnotation], value), nil
}
