package preflight

import (
	"context"
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// report reports a verdict, nil if there is none to report, what else waits for its verdict, and what the present
// preflight waits for once that has lasted.
func (c *controller) report(
	ctx context.Context, record *trial.Record, verdict *trial.Verdict, waitsFor string,
) error {
	texts, err := c.waiting(record)
	if err != nil {
		return err
	}
	reason := reasons[trial.Inconclusive]
	if verdict != nil {
		if reason = reasons[verdict.Result]; verdict.Revision != 0 {
			reason = revisionFailed
		}
		if verdict.Result == trial.Failed || len(texts) == 0 {
			texts = append([]string{verdict.Describe()}, texts...)
		}
	}
	if waitsFor != "" && c.hasLasted(record) {
		next, err := c.whatHappens(record.Inputs, "")
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
func (c *controller) waiting(record *trial.Record) (texts []string, err error) {
	for _, r := range record.Rejected {
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
func (c *controller) hasLasted(record *trial.Record) bool {
	now := c.Clock.Now()
	return now.Sub(c.lasts.See(record.Digest, now)) >= quietTime
}

// withCommand adds to the error of a preflight that does not go on what ends the wait for it.
func (c *controller) withCommand(err error, record *trial.Record) error {
	next, failed := c.whatHappens(record.Inputs, "")
	if failed != nil {
		return err
	}
	return fmt.Errorf("%w%s", err, next)
}

// whatHappens says what happens to inputs without a verdict. Target configuration holds them while a
// cloud-controller-manager works.
func (c *controller) whatHappens(inputs operand.StartDigests, nextTry string) (string, error) {
	objects, err := c.objects()
	if err != nil {
		return "", err
	}
	present, err := objects.StartsWith(0)
	if err != nil {
		return "", err
	}
	if present.Have(inputs) {
		return "; the change rolls out, although nothing has proved it", nil
	}
	_, accept, err := c.acceptance(inputs)
	return "; what ran before stays in use" + nextTry + "; to roll the change out unproved, run: " + accept, err
}

// acceptance reports whether an administrator has accepted inputs, and returns the command for that.
func (c *controller) acceptance(inputs operand.StartDigests) (accepted bool, command string, err error) {
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return false, "", err
	}
	annotation, value := meta.Annotations[operatorclient.PreflightAnnotation], inputs.Value()
	return operatorclient.IsAccepted(annotation, value), operatorclient.AcceptCommand(annotation, value), nil
}

// objects returns those of the operand's namespace.
func (c *controller) objects() (trial.Objects, error) {
	return trial.ObjectsOf(
		c.ConfigMaps.Lister().ConfigMaps(operand.Namespace), c.Secrets.Lister().Secrets(operand.Namespace))
}

// changes returns what a rollout changes.
func (c *controller) changes(r *rollout) (operand.StartDigests, error) {
	objects, err := c.objects()
	if err != nil {
		return nil, err
	}
	return objects.Changes(r.revision, r.former)
}
