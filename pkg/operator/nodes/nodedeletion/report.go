package nodedeletion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// byAlarm are the reasons that the condition reports, the most alarming first.
var byAlarm = []hold{livingNodesUnknown, nodeReports, tooManyNodes, noLivingNode, oneAtATime}

// report is the content of the condition, empty if it is False.
type report struct {
	reason  hold
	message string
	// nodes are the names of the held Nodes, sorted.
	nodes []string
}

func (m *memory) compose(o *observation) report {
	byReason := map[hold][]string{}
	for _, n := range o.nodes {
		if n.record != nil && n.record.state == held {
			byReason[n.record.hold] = append(byReason[n.record.hold], n.name)
		}
	}
	i := slices.IndexFunc(byAlarm, func(h hold) bool { return len(byReason[h]) > 0 })
	if i < 0 {
		return report{}
	}
	r := report{reason: byAlarm[i], nodes: byReason[byAlarm[i]]}
	wants := "wants to delete %s, because the cloud does not know the machine"
	if o.deletions.Unannounced {
		wants = "may want to delete %s, whose kubelet is silent"
	}
	r.message = fmt.Sprintf("the cloud-controller-manager "+wants+", but %s%s",
		diagnostic.FewNodes(r.nodes), m.explain(o, r.reason), m.advise(o, r))
	return r
}

// explain completes the sentence "the cloud-controller-manager wants to delete …, but …".
func (m *memory) explain(o *observation, reason hold) string {
	const check = "check that the credentials and the cloud configuration are those of this cluster's project and region"
	silent := fmt.Sprintf("%d of %d kubelets are silent", o.silent, o.expected)
	switch reason {
	case livingNodesUnknown:
		if name := o.wantedAndReporting(); name != "" {
			return fmt.Sprintf("it wants to delete node/%s too, whose kubelet reports its state: %s", name, check)
		}
		text := fmt.Sprintf("it did not find the machine of the living node %s either within %s: %s",
			strings.Join(m.unanswered, ", "), m.waited, check)
		if o.mostAreSilent() {
			text += ", and that the network works: " + silent
		}
		return text
	case nodeReports:
		return "the kubelet there reports its state: " + check
	case tooManyNodes:
		return silent + ", as after a failure of the network, and a cloud that denies so many machines may be wrong: " +
			"restore their connection to the API server, and " + check
	case noLivingNode:
		return "there is no other initialized and ready node to compare with"
	case oneAtATime:
		return fmt.Sprintf("on this platform nothing shows whether its cloud still knows living machines, so it may delete "+
			"one Node in %s: %s", turnPeriod, check)
	case noHold:
	}
	return ""
}

// advise returns what an administrator can do if the machines are gone, "" if they exist.
func (m *memory) advise(o *observation, r report) string {
	one := fmt.Sprintf("allow the deletion: oc annotate --overwrite node %s %s=%s", r.nodes[0], Annotation, Allowed)
	// The annotation of a former permission stays. A zone an hour ahead, because only GNU's date computes times.
	many := fmt.Sprintf("allow all of them for an hour: oc annotate --overwrite cloudcontrollermanager %s "+
		"%s=$(TZ=UTC-1 date +%%FT%%TZ)", operatorclient.Instance, operatorclient.NodeDeletionsAnnotation)
	switch r.reason {
	case nodeReports, livingNodesUnknown, noHold:
		return "" // The machine exists, or the cloud does not find machines that do.
	case noLivingNode:
		if o.ready == 0 {
			return "; if the machine is gone for certain, " + one
		}
		return fmt.Sprintf("; after %s, the operator lets one such Node go in %s; if the machine is gone for certain, %s",
			turnPeriod, turnPeriod, one)
	case oneAtATime:
		return "; if the machines are gone for certain, " + many
	case tooManyNodes:
	}
	if !o.canProbe {
		return fmt.Sprintf("; from %s on, the operator lets one of these Nodes go in %s; if the machines are gone for "+
			"certain, %s", m.mass.At().Add(massLimit).UTC().Format(time.RFC3339), turnPeriod, many)
	}
	return fmt.Sprintf("; from %s on, the operator lets at most %d of these Nodes go in a minute while the cloud finds "+
		"the machines of living nodes; if the machines are gone for certain, %s",
		m.mass.At().Add(massLimit).UTC().Format(time.RFC3339), max(1, len(o.all)/massShare), many)
}

// isNews reports whether the reason, or one of the Nodes, is new.
func (r report) isNews(former report) bool {
	return r.reason != noHold && (r.reason != former.reason || slices.ContainsFunc(r.nodes, func(name string) bool {
		_, known := slices.BinarySearch(former.nodes, name)
		return !known
	}))
}

func (c *controller) report(ctx context.Context, r report) error {
	condition := operatorclient.AsExpected(ConditionType)
	if r.reason != noHold {
		condition = operatorclient.NewCondition(ConditionType, operatorv1.ConditionTrue, string(r.reason), r.message)
	}
	if r.isNews(c.lastReport) {
		c.Recorder.Warning("NodeDeletionHeld", r.message)
	}
	c.lastReport = r
	return operatorclient.ApplyConditions(ctx, c.Operator, name, condition)
}
