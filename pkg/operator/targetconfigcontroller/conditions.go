package targetconfigcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// fieldManager owns the conditions of this controller, and only them.
	fieldManager = "TargetConfigController-Inputs"

	// noticesCondition tells of inputs that were accepted with a remark. Its name ends in none of the words by which
	// ClusterOperator picks up conditions.
	noticesCondition = "CloudConfigNotices"

	// maxMessage bounds a condition's message; an event takes 1 KiB.
	maxMessage = 1000
)

// causes are all that may have a condition, in the order in which they are written.
var causes = []diagnostic.Cause{
	diagnostic.CloudConfig,
	diagnostic.Credentials,
	diagnostic.TrustedCA,
	diagnostic.Image,
	diagnostic.Configuration,
}

// report writes one condition for each cause and one for the remarks, and tells of each text once by an event.
func (c *controller) report(ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate) error {
	var conditions []*applyoperatorv1.OperatorConditionApplyConfiguration
	add := func(conditionType, reason string, texts []string, standIn string) {
		message := bounded(texts)
		if message != "" && standIn != "" {
			message += "\n" + standIn
		}
		condition := applyoperatorv1.OperatorCondition().WithType(conditionType).WithStatus(operatorv1.ConditionFalse).WithReason("AsExpected")
		if message != "" {
			condition = condition.WithStatus(operatorv1.ConditionTrue).WithReason(reason).WithMessage(message)
		}
		conditions = append(conditions, condition)
		previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
		if message != "" && (previous == nil || previous.Message != message) {
			recorder.Warning(strings.TrimSuffix(conditionType, "Degraded")+reason, message)
		}
	}
	for _, cause := range causes {
		if left := textsOf(chosen.warnings, cause); cause == diagnostic.TrustedCA && len(left) > 0 {
			// The candidate went ahead without it, but somebody wants it trusted.
			add(string(cause)+"Degraded", "LeftOut", left, chosen.standIns[cause])
			continue
		}
		add(string(cause)+"Degraded", "Refused", textsOf(chosen.problems, cause), chosen.standIns[cause])
	}
	if chosen.resources != nil {
		notices := textsOf(chosen.warnings, diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.Configuration)
		add(noticesCondition, "Accepted", notices, "")
	} else {
		// They are about what was accepted last.
		conditions = append(conditions, kept(status, noticesCondition)...)
	}
	return c.applyConditions(ctx, conditions)
}

// reportOnly writes the condition of a problem that keeps the inputs from being judged. The other conditions stay.
func (c *controller) reportOnly(ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, problem *diagnostic.Diagnostic) error {
	if problem == nil {
		return nil
	}
	var conditions []*applyoperatorv1.OperatorConditionApplyConfiguration
	for _, cause := range causes {
		conditionType := string(cause) + "Degraded"
		if cause != problem.Cause {
			conditions = append(conditions, kept(status, conditionType)...)
			continue
		}
		message := problem.String()
		conditions = append(conditions, applyoperatorv1.OperatorCondition().
			WithType(conditionType).WithStatus(operatorv1.ConditionTrue).WithReason("Unjudged").WithMessage(message))
		if previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType); previous == nil || previous.Message != message {
			recorder.Warning(string(cause)+"Unjudged", message)
		}
	}
	return c.applyConditions(ctx, append(conditions, kept(status, noticesCondition)...))
}

// kept returns the condition of a type as it is, if there is one.
func kept(status *operatorv1.StaticPodOperatorStatus, conditionType string) []*applyoperatorv1.OperatorConditionApplyConfiguration {
	previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
	if previous == nil {
		return nil
	}
	return []*applyoperatorv1.OperatorConditionApplyConfiguration{applyoperatorv1.OperatorCondition().
		WithType(conditionType).WithStatus(previous.Status).WithReason(previous.Reason).WithMessage(previous.Message)}
}

func (c *controller) applyConditions(ctx context.Context, conditions []*applyoperatorv1.OperatorConditionApplyConfiguration) error {
	err := c.Operator.ApplyStaticPodOperatorStatus(ctx, fieldManager, applyoperatorv1.StaticPodOperatorStatus().WithConditions(conditions...))
	if err != nil {
		return fmt.Errorf("writing the conditions of cloudcontrollermanager/cluster: %w", err)
	}
	return nil
}

// textsOf are the problems of the given causes in their order.
func textsOf(problems []diagnostic.Diagnostic, causes ...diagnostic.Cause) []string {
	var texts []string
	for _, p := range problems {
		if slices.Contains(causes, p.Cause) {
			texts = append(texts, p.String())
		}
	}
	return texts
}

// bounded joins as many lines as fit and says how many do not.
func bounded(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if b.Len() > 0 && b.Len()+len(line) > maxMessage {
			fmt.Fprintf(&b, "\nand %d more", len(lines)-i)
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}
