package staticpod

import (
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
)

// This file corrects what library-go's installer controller reports. TestWhatTheInstallerControllerReportsByItself pins
// each of these reports, so that a correction goes when library-go makes it needless.

// conclusions are the conditions that the controller computes from the nodes that it is shown. NodeInstallerProgressing
// and NodeInstallerDegraded are the progress controller's, which sees all nodes. StaticPodsAvailable counts the nodes
// that have a revision, which the ClusterOperator would take for an outage: a resource that was created again has no
// revisions while the pods run, and during a take-over the predecessor works. CloudControllerManagerAvailable has the
// judgement on processes.
var conclusions = []string{
	condition.StaticPodsAvailableConditionType,
	condition.NodeInstallerProgressingConditionType,
	condition.NodeInstallerDegradedConditionType,
}

func withoutConclusions(
	conditions []applyoperatorv1.OperatorConditionApplyConfiguration,
) []applyoperatorv1.OperatorConditionApplyConfiguration {
	return slices.DeleteFunc(conditions, func(c applyoperatorv1.OperatorConditionApplyConfiguration) bool {
		return slices.Contains(conclusions, ptr.Deref(c.Type, ""))
	})
}

// clearPastFailure clears the last failure of a node that is at its target. The controller never clears it, not even
// after the node has reached that revision or a newer one.
func clearPastFailure(node *applyoperatorv1.NodeStatusApplyConfiguration) {
	failed := ptr.Deref(node.LastFailedRevision, 0)
	if failed == 0 || ptr.Deref(node.TargetRevision, 0) != 0 || ptr.Deref(node.CurrentRevision, 0) < failed {
		return
	}
	node.WithLastFailedRevision(0).WithLastFailedReason("").WithLastFailedCount(0).WithLastFallbackCount(0)
	node.LastFailedTime, node.LastFailedRevisionErrors = nil, nil
}

// clearMissingRevision clears the condition about missing objects of revision 0, which the controller reports while the
// revision controller creates revision 1.
func clearMissingRevision(conditions []applyoperatorv1.OperatorConditionApplyConfiguration) {
	for i := range conditions {
		c := &conditions[i]
		if ptr.Deref(c.Type, "") == condition.InstallerControllerDegradedConditionType &&
			strings.HasPrefix(ptr.Deref(c.Message, ""), "missing required resources") {
			c.WithStatus(operatorv1.ConditionFalse).WithReason("NoRevision").WithMessage("no revision exists yet")
		}
	}
}

// installerEvents returns the recorder of the controller. It drops the events about the revisions of a node that is
// repaired, which is shown without a revision, and keeps the one that it has. Node repair records an event about it.
func installerEvents(recorder events.Recorder, isRepair func() bool) events.Recorder {
	return eventfilter.New(recorder, func(reason, message string) (string, bool) {
		if reason == "NodeCurrentRevisionChanged" && isRepair() {
			klog.InfoS("not an event", "reason", reason, "message", message)
			return "", false
		}
		return message, true
	})
}
