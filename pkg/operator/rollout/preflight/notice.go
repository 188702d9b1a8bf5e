package preflight

import (
	"context"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const revisionFailed = "RevisionFailed"

var reasons = map[trial.Result]string{
	trial.Failed: "PreflightFailed", trial.Inconclusive: "PreflightInconclusive",
}

// report reports a verdict, if any, what else waits for one, and what a preflight that takes long waits for.
func (s *state) report(ctx context.Context, verdict *trial.Verdict, waitsFor string) error {
	reason, texts := reasons[trial.Inconclusive], []string(nil)
	for _, r := range s.record.Rejected {
		if r.Waits() {
			texts = append(texts, r.Verdict.Describe()+s.whatHappens(r.Inputs, r.Verdict.NextTry()))
		}
	}
	if verdict != nil {
		if reason = reasons[verdict.Result]; verdict.Revision != 0 {
			reason = revisionFailed
		}
		if verdict.Result == trial.Failed || len(texts) == 0 {
			texts = append([]string{verdict.Describe()}, texts...)
		}
	}
	if waitsFor != "" && s.view.Now().Sub(s.lasts.See(s.record.Digest, s.view.Now())) >= quietPeriod {
		texts = append(texts, "the preflight of the changed inputs waits for "+waitsFor+s.whatHappens(s.record.Inputs, ""))
		reason = "PreflightWaiting"
	}
	return operatorclient.ApplyConditions(ctx, s.Operator, name,
		operatorclient.Problem(Condition, reason, strings.Join(texts, "\n")))
}

// whatHappens describes the use of inputs without a verdict, which targetconfigcontroller may hold.
func (s *state) whatHappens(inputs operand.StartDigests, nextTry string) string {
	if s.objects.StartDigests(operand.Candidate).Matches(inputs) {
		return "; the change rolls out, although nothing has proved it"
	}
	return "; what ran before stays in use" + nextTry + "; to roll the change out unproved, run: " +
		s.acceptCommand(inputs)
}

func (s *state) isAccepted(inputs operand.StartDigests) bool {
	return operatorclient.IsAccepted(s.acceptance, inputs.Value())
}

func (s *state) acceptCommand(inputs operand.StartDigests) string {
	return operatorclient.AcceptCommand(s.acceptance, inputs.Value())
}
