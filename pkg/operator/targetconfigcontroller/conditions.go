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
	// fieldManager owns only the conditions of this controller.
	fieldManager = "TargetConfigController-Inputs"

	// noticesCondition reports warnings about accepted inputs. Its name has none of the suffixes that the
	// ClusterOperator aggregates.
	noticesCondition = "CloudConfigNotices"

	// maxMessage limits a condition's message, because an event's message has at most 1 KiB.
	maxMessage = 1000
)

// causes are the causes that have a condition, in the order in which the conditions are written.
var causes = []diagnostic.Cause{
	diagnostic.CloudConfig,
	diagnostic.Credentials,
	diagnostic.TrustedCA,
	diagnostic.Image,
	diagnostic.Configuration,
}

// report writes one condition for each cause and one for the warnings. It records an event for each new message.
func (c *controller) report(ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate) error {
	var conditions []*applyoperatorv1.OperatorConditionApplyConfiguration
	add := func(conditionType, reason string, texts []string, standIn string) {
		message := joinBounded(texts)
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
		if omitted := textsOf(chosen.warnings, cause); cause == diagnostic.TrustedCA && len(omitted) > 0 {
			// The candidate does not contain the certificate, but the administrator wants it trusted.
			add(string(cause)+"Degraded", "LeftOut", omitted, chosen.standIns[cause])
			continue
		}
		add(string(cause)+"Degraded", "Refused", textsOf(chosen.errors, cause), chosen.standIns[cause])
	}
	if chosen.resources != nil {
		warnings := textsOf(chosen.warnings, diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.Configuration)
		add(noticesCondition, "Accepted", warnings, "")
	} else {
		// The existing warnings are about the last accepted inputs.
		conditions = append(conditions, kept(status, noticesCondition)...)
	}
	return c.applyConditions(ctx, conditions)
}

// reportOnly writes the condition of a diagnostic that keeps the inputs from being checked. The other conditions
// stay.
func (c *controller) reportOnly(ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, d *diagnostic.Diagnostic) error {
	if d == nil {
		return nil
	}
	var conditions []*applyoperatorv1.OperatorConditionApplyConfiguration
	for _, cause := range causes {
		conditionType := string(cause) + "Degraded"
		if cause != d.Cause {
			conditions = append(conditions, kept(status, conditionType)...)
			continue
		}
		message := d.String()
		conditions = append(conditions, applyoperatorv1.OperatorCondition().
			WithType(conditionType).WithStatus(operatorv1.ConditionTrue).WithReason("Unjudged").WithMessage(message))
		if previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType); previous == nil || previous.Message != message {
			recorder.Warning(string(cause)+"Unjudged", message)
		}
	}
	return c.applyConditions(ctx, append(conditions, kept(status, noticesCondition)...))
}

// kept returns the existing condition of a type, if any.
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

// textsOf returns the diagnostics of the given causes as strings, in their order.
func textsOf(diagnostics []diagnostic.Diagnostic, causes ...diagnostic.Cause) []string {
	var texts []string
	for _, d := range diagnostics {
		if slices.Contains(causes, d.Cause) {
			texts = append(texts, d.String())
		}
	}
	return texts
}

// joinBounded joins as many lines as fit in maxMessage, and the number of the others.
func joinBounded(lines []string) string {
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
