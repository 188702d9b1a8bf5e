package targetconfigcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	name = "TargetConfigController"

	// NoticesCondition reports warnings about accepted inputs. The ClusterOperator does not aggregate its suffix.
	NoticesCondition = "CloudConfigNotices"

	// maxMessage, in bytes, limits a condition's message: an event's message has at most 1 KiB.
	maxMessage = 1000
)

// causes have one condition each, written in this order.
var causes = []diagnostic.Cause{
	diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.TrustedCA, diagnostic.Image, diagnostic.Configuration,
}

// Inertia reports the causes at once: an invalid input does not recover by itself.
var Inertia = func() operatorclient.Inertia {
	inertia := operatorclient.Inertia{}
	for _, cause := range causes {
		inertia[string(cause)+"Degraded"] = operatorclient.AtOnce
	}
	return inertia
}()

// report writes one condition for each cause and one for warnings, and records an event for each new message.
func (c *controller) report(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, chosen *candidate,
) error {
	var conditions []*operatorclient.Condition
	for _, cause := range causes {
		texts, reason := textsOf(chosen.errors, cause), "Refused"
		if omitted := textsOf(chosen.warnings, cause); cause == diagnostic.TrustedCA && len(omitted) > 0 {
			// The candidate does not contain the certificate, but the administrator wants it trusted.
			texts, reason = omitted, "LeftOut"
		}
		message := joinBounded(texts)
		if fallback := chosen.fallbacks[cause]; message != "" && fallback != "" {
			message += "\n" + fallback
		}
		conditions = append(conditions, condition(recorder, status, string(cause)+"Degraded", reason, message))
	}
	if chosen.resources != nil {
		warnings := joinBounded(
			textsOf(chosen.warnings, diagnostic.CloudConfig, diagnostic.Credentials, diagnostic.Configuration))
		conditions = append(conditions, condition(recorder, status, NoticesCondition, "Accepted", warnings))
	} else {
		// The existing warnings are about the last accepted inputs.
		conditions = append(conditions, kept(status, NoticesCondition)...)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditions...)
}

// reportOnly reports a diagnostic that keeps the inputs from being checked. The other conditions stay.
func (c *controller) reportOnly(
	ctx context.Context, recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, d *diagnostic.Diagnostic,
) error {
	if d == nil {
		return nil
	}
	var conditions []*operatorclient.Condition
	for _, cause := range causes {
		conditionType := string(cause) + "Degraded"
		if cause == d.Cause {
			conditions = append(conditions, condition(recorder, status, conditionType, "Unjudged", d.String()))
		} else {
			conditions = append(conditions, kept(status, conditionType)...)
		}
	}
	conditions = append(conditions, kept(status, NoticesCondition)...)
	return operatorclient.ApplyConditions(ctx, c.Operator, name, conditions...)
}

func condition(
	recorder events.Recorder, status *operatorv1.StaticPodOperatorStatus, conditionType, reason, message string,
) *operatorclient.Condition {
	previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
	if message != "" && (previous == nil || previous.Message != operatorclient.Bounded(message)) {
		recorder.Warning(strings.TrimSuffix(conditionType, "Degraded")+reason, message)
	}
	return operatorclient.Problem(conditionType, reason, message)
}

func kept(status *operatorv1.StaticPodOperatorStatus, conditionType string) []*operatorclient.Condition {
	previous := v1helpers.FindOperatorCondition(status.Conditions, conditionType)
	if previous == nil {
		return nil
	}
	return []*operatorclient.Condition{
		operatorclient.NewCondition(conditionType, previous.Status, previous.Reason, previous.Message),
	}
}

func textsOf(diagnostics []diagnostic.Diagnostic, causes ...diagnostic.Cause) []string {
	var texts []string
	for _, d := range diagnostics {
		if slices.Contains(causes, d.Cause) {
			texts = append(texts, d.String())
		}
	}
	return texts
}

// joinBounded joins the lines that fit in maxMessage, and counts the others.
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
