package staticpod

import (
	"context"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/eventfilter"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// installerClient is the operator client of library-go's installer controller. It shows the controller only the node
// that it may act upon, and adds the other nodes to what it writes.
//
// It works around these properties of that controller, which TestWhatTheInstallerControllerDoesByItself pins:
//   - It starts with a node whose mirror pod is not Ready. The node controller reports that of a silent kubelet's pods,
//     even if the process there leads. It never goes on before the node has the revision, dead or alive.
//   - It installs only a target that is newer than the node's revision, and goes on to the latest revision at once. So
//     a node that is to get its own revision again is shown without a revision, and with no later one.
//
// The controller's conclusions about the cluster are not written.
type installerClient struct {
	v1helpers.StaticPodOperatorClient
	next *nextNode
	// chosen is what the controller is shown during a sync. view and version are of the resource that it was made from.
	chosen  choice
	view    controlplane.View
	version string
}

// maxConflicts limits how often a status is applied again after a conflict.
const maxConflicts = 10

// choose begins a sync. The version is read first: one that is newer than the nodes would hide that a node has changed.
func (c *installerClient) choose() (err error) {
	if _, _, c.version, err = c.StaticPodOperatorClient.GetStaticPodOperatorState(); err != nil {
		return err
	}
	if c.view, err = c.next.View(); err != nil {
		return err
	}
	c.chosen, err = c.next.choose(c.view)
	return err
}

// GetStaticPodOperatorState returns the status with only the node that the controller may act upon.
func (c *installerClient) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	status := c.view.Status().DeepCopy()
	status.LatestAvailableRevision, status.NodeStatuses = c.chosen.latest, nil
	if c.chosen.node != nil {
		node := *c.chosen.node.DeepCopy()
		if controlplane.IsRepair(&node) {
			node.CurrentRevision = 0
		}
		status.NodeStatuses = append(status.NodeStatuses, node)
	}
	return c.view.Spec(), status, c.version, nil
}

// ApplyStaticPodOperatorStatus writes all nodes, because what the controller applies replaces what it applied before.
// It returns a conflict if a node has changed since the controller was shown one: otherwise the target of a repair
// would be taken back. An abandoned node loses its target, because the validation of the resource lets only one node
// have one. The revision of a node never decreases, even if the controller was not shown it.
func (c *installerClient) ApplyStaticPodOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) error {
	if status == nil {
		return c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(ctx, fieldManager, nil)
	}
	var nodes []applyoperatorv1.NodeStatusApplyConfiguration
	for _, current := range c.view.Status().NodeStatuses {
		node := c.merged(&current, status.NodeStatuses)
		clearPastFailure(node)
		nodes = append(nodes, *node)
	}
	status.NodeStatuses = nodes
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c operatorclient.Condition) bool {
		return slices.Contains(conclusions, ptr.Deref(c.Type, ""))
	})
	if c.view.Status().LatestAvailableRevision == 0 {
		clearMissingRevision(status.Conditions)
	}
	return c.applyUnlessNodesChanged(ctx, fieldManager, status)
}

// applyUnlessNodesChanged applies a status again if only another part of the resource has changed since it was read.
func (c *installerClient) applyUnlessNodesChanged(
	ctx context.Context, fieldManager string, status *applyoperatorv1.StaticPodOperatorStatusApplyConfiguration,
) (err error) {
	version := c.version
	for range maxConflicts {
		err = c.StaticPodOperatorClient.ApplyStaticPodOperatorStatus(
			operatorclient.AtVersion(ctx, version), fieldManager, status)
		if !apierrors.IsConflict(err) {
			return err
		}
		_, live, latest, readErr := c.GetStaticPodOperatorStateWithQuorum(ctx)
		if readErr != nil {
			return readErr
		}
		if !equality.Semantic.DeepEqual(live.NodeStatuses, c.view.Status().NodeStatuses) {
			return err
		}
		version = latest
	}
	return err
}

// merged returns a node as the controller applies it, or as it is if the controller was not shown it.
func (c *installerClient) merged(
	current *operatorv1.NodeStatus, applied []applyoperatorv1.NodeStatusApplyConfiguration,
) *applyoperatorv1.NodeStatusApplyConfiguration {
	for i := range applied {
		if ptr.Deref(applied[i].NodeName, "") == current.NodeName {
			return applied[i].WithCurrentRevision(max(ptr.Deref(applied[i].CurrentRevision, 0), current.CurrentRevision))
		}
	}
	node := applyoperatorv1.NodeStatus().
		WithNodeName(current.NodeName).
		WithCurrentRevision(current.CurrentRevision).
		WithTargetRevision(current.TargetRevision).
		WithLastFailedRevision(current.LastFailedRevision).
		WithLastFailedReason(current.LastFailedReason).
		WithLastFailedCount(current.LastFailedCount).
		WithLastFallbackCount(current.LastFallbackCount).
		WithLastFailedRevisionErrors(current.LastFailedRevisionErrors...)
	node.LastFailedTime = current.LastFailedTime
	isCurrent := func(n operatorv1.NodeStatus) bool { return n.NodeName == current.NodeName }
	if slices.ContainsFunc(c.chosen.abandoned, isCurrent) {
		node.WithTargetRevision(0)
	}
	return node
}

// abandon deletes installers that the kubelets of abandoned nodes have not started: such a kubelet would start one
// later, while another node is being installed. A started one finishes, so that its node keeps a static pod.
func (c *installerClient) abandon(ctx context.Context, pods corev1client.PodsGetter) error {
	for _, node := range c.chosen.abandoned {
		for _, pod := range c.view.Installers() {
			if !controlplane.Installs(pod, node.NodeName, node.TargetRevision) || hasStarted(pod) ||
				pod.DeletionTimestamp != nil {
				continue
			}
			// The kubelet may start it at this moment.
			unchanged := metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
			}
			err := operatorclient.Delete(ctx, pods.Pods(pod.Namespace).Delete, "pod", pod.Namespace, pod.Name, unchanged)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func hasStarted(pod *corev1.Pod) bool {
	started := func(s corev1.ContainerStatus) bool { return s.State.Running != nil || s.State.Terminated != nil }
	return pod.Status.Phase != corev1.PodPending || slices.ContainsFunc(pod.Status.InitContainerStatuses, started) ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, started)
}

// The following corrects what library-go's installer controller reports. TestWhatTheInstallerControllerReportsByItself
// pins each of these reports, so that a correction goes when library-go makes it needless.

// conclusions are the conditions that the controller computes from the nodes that it is shown. The progress controller,
// which sees all nodes, writes the last two. StaticPodsAvailable counts the nodes that have a revision: during a
// take-over, or after a recreation of the resource, that would look like an outage.
var conclusions = []string{
	condition.StaticPodsAvailableConditionType,
	condition.NodeInstallerProgressingConditionType,
	condition.NodeInstallerDegradedConditionType,
}

// clearPastFailure clears the last failure of a node that has this revision or a newer one: the controller never does.
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
func clearMissingRevision(conditions []operatorclient.Condition) {
	for i := range conditions {
		c := &conditions[i]
		if ptr.Deref(c.Type, "") == condition.InstallerControllerDegradedConditionType &&
			strings.HasPrefix(ptr.Deref(c.Message, ""), "missing required resources") {
			c.WithStatus(operatorv1.ConditionFalse).WithReason("NoRevision").WithMessage("no revision exists yet")
		}
	}
}

// installerEvents drops the events about the revisions of a node that is being repaired: the controller is shown no
// revision, but the node keeps its own. Node repair records an event instead.
func installerEvents(recorder events.Recorder, isRepair func() bool) events.Recorder {
	return eventfilter.New(recorder, func(reason, message string) (string, bool) {
		if reason == "NodeCurrentRevisionChanged" && isRepair() {
			klog.InfoS("not an event", "reason", reason, "message", message)
			return "", false
		}
		return message, true
	})
}
