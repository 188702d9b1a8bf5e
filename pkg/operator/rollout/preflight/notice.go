package preflight

import (
	"context"
	"fmt"
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
	texts, err := c.waiting(candidate)
	if err != nil {
		return err
	}
	reason := reasons[operand.Inconclusive]
	if verdict != nil {
		if reason = reasons[verdict.Result]; verdict.Revision != 0 {
			reason = revisionFailed
		}
		if verdict.Result == operand.Failed || len(texts) == 0 {
			texts = append([]string{verdict.Describe()}, texts...)
		}
	}
	if waitsFor != "" && c.hasLasted(candidate) {
		next, err := c.whatHappens(operand.PreflightInputsOf(candidate), "")
		if err != nil {
			return err
		}
		texts = append(texts, "the preflight of the changed inputs waits for "+waitsFor+next)
		reason = "PreflightWaiting"
	}
	if len(texts) == 0 {
		return c.apply(ctx, operatorclient.AsExpected(Condition))
	}
	message := strings.Join(texts, "\n")
	return c.apply(ctx, operatorclient.NewCondition(Condition, operatorv1.ConditionTrue, reason, message))
}

// waiting describes what waits for its verdict, and what happens to it.
func (c *controller) waiting(candidate *corev1.Secret) (texts []string, err error) {
	if candidate == nil {
		return nil, nil
	}
	for _, r := range operand.PreflightRejectionsOf(candidate) {
		if !r.Waits() {
			continue
		}
		next, err := c.whatHappens(r.Inputs, r.Verdict.NextTry())
		if err != nil {
			return nil, err
		}
		texts = append(texts, r.Verdict.Describe()+next)
	}
	return texts, nil
}

// hasLasted reports whether the present preflight has lasted for quietTime.
func (c *controller) hasLasted(candidate *corev1.Secret) bool {
	now := c.Clock.Now()
	return now.Sub(c.lasts.See(candidate.Annotations[operand.PreflightDigestAnnotation], now)) >= quietTime
}

// withCommand adds to the error of a preflight that does not go on what ends the wait for it.
func (c *controller) withCommand(err error, candidate *corev1.Secret) error {
	next, failed := c.whatHappens(operand.PreflightInputsOf(candidate), "")
	if failed != nil {
		return err
	}
	return fmt.Errorf("%w%s", err, next)
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
