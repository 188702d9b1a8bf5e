package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/predecessor"
)

// installerClient is the operator client of the installer controller. It makes the leader's node the last one of a
// rollout, and makes the controller install a revision again on a node whose target is the revision that it is at. It
// corrects three reports of library-go's controller. That controller never clears a failed revision, not even after the
// node has reached that revision or a newer one. It reports the objects of revision 0 as missing while the revision
// controller creates revision 1. And it judges availability by revisions, which do not say whether a process works.
type installerClient struct {
	v1helpers.StaticPodOperatorClient
	leases coordinationlisters.LeaseLister
	pods   corev1listers.PodLister
	// read is the latest revision of the status that the controller read. The stored status may be newer than its report.
	read atomic.Int32
}

// GetStaticPodOperatorState returns the nodes with the leader's node last. The installer controller takes the first of
// the nodes that are equally old, so a rollout moves the leadership once, to a node that has the new revision. A node
// that becomes the leader meanwhile is last too. Nodes where the predecessor's pods run come before it.
//
// A node whose target is the revision that it is at appears to be at an older one: the controller installs only targets
// that are newer.
func (c *installerClient) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, resourceVersion, err := c.StaticPodOperatorClient.GetStaticPodOperatorState()
	if err != nil {
		return nil, nil, "", err
	}
	c.read.Store(status.LatestAvailableRevision)
	status = status.DeepCopy()
	for i := range status.NodeStatuses {
		if node := &status.NodeStatuses[i]; node.TargetRevision != 0 && node.TargetRevision == node.CurrentRevision {
			node.CurrentRevision--
		}
	}
	last, err := c.last(nodeNames(status))
	if err != nil {
		return nil, nil, "", err
	}
	slices.SortStableFunc(status.NodeStatuses, func(a, b operatorv1.NodeStatus) int {
		return cmp.Compare(slices.Index(last, a.NodeName), slices.Index(last, b.NodeName))
	})
	return spec, status, resourceVersion, nil
}

// last returns the nodes that a rollout reaches last, in this order: those where the predecessor's pods run, which may
// occupy the port of the static pod, and the leader's.
func (c *installerClient) last(nodes []string) ([]string, error) {
	var last []string
	predecessors, err := predecessor.Pods(c.pods)
	if err != nil {
		return nil, err
	}
	for _, pod := range predecessors {
		last = append(last, pod.Spec.NodeName)
	}
	lease, err := c.leases.Leases(operand.Namespace).Get(operand.Lease)
	if apierrors.IsNotFound(err) {
		return last, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lease/%s in %s: %w", operand.Lease, operand.Namespace, err)
	}
	leader := leaseholder.NodeOf(ptr.Deref(lease.Spec.HolderIdentity, ""), nodes)
	return append(slices.DeleteFunc(last, func(node string) bool { return node == leader }), leader), nil
}

func nodeNames(status *operatorv1.StaticPodOperatorStatus) []string {
	var names []string
	for _, node := range status.NodeStatuses {
		names = append(names, node.NodeName)
	}
	return names
}

// ApplyStaticPodOperatorStatus omits failures that are over, missing objects of revision 0, and the judgement on
// availability. It keeps the revision of a node that appeared to be at an older one, which the API server would reject.
func (c *installerClient) ApplyStaticPodOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) error {
	if status != nil {
		_, current, _, err := c.StaticPodOperatorClient.GetStaticPodOperatorState()
		if err != nil {
			return fmt.Errorf("cloudcontrollermanager/cluster: %w", err)
		}
		for i := range status.NodeStatuses {
			node := &status.NodeStatuses[i]
			if at := slices.Index(nodeNames(current), ptr.Deref(node.NodeName, "")); at >= 0 {
				node.WithCurrentRevision(max(ptr.Deref(node.CurrentRevision, 0), current.NodeStatuses[at].CurrentRevision))
			}
			clearPastFailure(node)
		}
		if c.read.Load() == 0 {
			clearMissingRevision(status.Conditions)
		}
		tellRepairs(status.Conditions, current.NodeStatuses)
		status.Conditions = slices.DeleteFunc(status.Conditions, countsRevisions)
	}
	return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, status)
}

// tellRepairs corrects what the installer controller says about nodes that appeared to be at an older revision.
func tellRepairs(conditions []applyoperatorv1.OperatorConditionApplyConfiguration, nodes []operatorv1.NodeStatus) {
	var repaired []string
	at := map[int32]int{}
	for _, node := range nodes {
		at[node.CurrentRevision]++
		if node.TargetRevision != 0 && node.TargetRevision == node.CurrentRevision {
			repaired = append(repaired,
				fmt.Sprintf("revision %d is installed again on node/%s", node.TargetRevision, node.NodeName))
		}
	}
	i := slices.IndexFunc(conditions, func(c applyoperatorv1.OperatorConditionApplyConfiguration) bool {
		return ptr.Deref(c.Type, "") == condition.NodeInstallerProgressingConditionType
	})
	if i < 0 || len(repaired) == 0 {
		return
	}
	var texts []string
	for _, revision := range slices.Sorted(maps.Keys(at)) {
		verb := "node is"
		if at[revision] > 1 {
			verb = "nodes are"
		}
		texts = append(texts, fmt.Sprintf("%d %s at revision %d", at[revision], verb, revision))
	}
	slices.Sort(repaired)
	conditions[i].WithMessage(strings.Join(append(texts, repaired...), "; "))
}

// clearPastFailure clears the last failure of a node that is at its target.
func clearPastFailure(node *applyoperatorv1.NodeStatusApplyConfiguration) {
	failed := ptr.Deref(node.LastFailedRevision, 0)
	if failed == 0 || ptr.Deref(node.TargetRevision, 0) != 0 || ptr.Deref(node.CurrentRevision, 0) < failed {
		return
	}
	node.WithLastFailedRevision(0).WithLastFailedReason("").WithLastFailedCount(0).WithLastFallbackCount(0)
	node.LastFailedTime, node.LastFailedRevisionErrors = nil, nil
}

// countsRevisions reports whether c is library-go's count of nodes that have a revision. It is not applied, because the
// ClusterOperator would count it as an outage: a resource that was created again has no revisions while the pods run,
// and during a take-over the predecessor works. CloudControllerManagerAvailable has the judgement on processes.
func countsRevisions(c applyoperatorv1.OperatorConditionApplyConfiguration) bool {
	return ptr.Deref(c.Type, "") == condition.StaticPodsAvailableConditionType
}

// clearMissingRevision clears the condition about missing objects of revision 0.
func clearMissingRevision(conditions []applyoperatorv1.OperatorConditionApplyConfiguration) {
	for i := range conditions {
		c := &conditions[i]
		if ptr.Deref(c.Type, "") == condition.InstallerControllerDegradedConditionType &&
			strings.HasPrefix(ptr.Deref(c.Message, ""), "missing required resources") {
			c.WithStatus(operatorv1.ConditionFalse).WithReason("NoRevision").WithMessage("no revision exists yet")
		}
	}
}
