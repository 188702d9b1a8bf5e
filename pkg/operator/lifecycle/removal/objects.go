package removal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// removeObjects is a step: it deletes the operand's objects, rights and identities last, and repeats that until it
// finds none. The namespace stays, with the objects of the payload and of other components. So does kube-cloud-config
// in openshift-config-managed, which other components read.
func (c *controller) removeObjects(ctx context.Context, syncCtx factory.SyncContext) error {
	left, err := c.endPods(ctx, slices.Concat(appWriters, []string{appRemoval, operand.PreflightName})...)
	if err != nil {
		return err
	}
	err = c.report(ctx, observedplatform.RemovingObjects, endsOf(onNode, left), nil)
	if err != nil || len(left) > 0 {
		return err
	}
	if err := c.endLeases(ctx); err != nil {
		return err
	}
	if err := c.remember(ctx); err != nil {
		return err
	}
	found, err := c.deleteOwn(ctx)
	resources, others := c.RemoveStaticResources(ctx, c.Recorder)
	if err := errors.Join(err, others); err != nil {
		return err
	}
	if found || resources {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), verifyPeriod)
		return nil
	}
	err = operatorclient.Delete(ctx, c.Kube.CoreV1().Secrets(operatorclient.OperatorNamespace).Delete, "secret",
		operatorclient.OperatorNamespace, c.SignerSecret, metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	if err := c.removeConditions(ctx); err != nil {
		return err
	}
	if err := c.enter(ctx, observedplatform.Removed); err != nil {
		return err
	}
	c.Recorder.Event("Removed", "Removed the cloud-controller-manager and its objects")
	return nil
}

func (c *controller) endLeases(ctx context.Context) error {
	if err := c.releaseLease(ctx); err != nil {
		return err
	}
	return operatorclient.Delete(ctx, c.Kube.CoordinationV1().Leases(operand.Namespace).Delete, "lease",
		operand.Namespace, operand.PreflightName, metav1.DeleteOptions{})
}

// releaseLease releases the last leader's lease, so that the next CCM need not wait until it expires. It stays if its
// holder is not on a control-plane node, or if a pod on that node could be the holder.
func (c *controller) releaseLease(ctx context.Context) error {
	leases := c.Leases.Lister().Leases(operand.Namespace)
	lease, err := operatorclient.Find(leases, "lease", operand.Namespace, operand.Lease)
	if err != nil || lease == nil {
		return err
	}
	if ours, err := c.couldOnlyBeOurs(ctx, lease); err != nil || !ours {
		return err
	}
	err = leaseholder.Release(ctx, c.Kube.CoordinationV1(), lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Recorder.Eventf("LeaseReleased", "Released lease/%s in %s: the static pod of its holder %s was removed",
		operand.Lease, operand.Namespace, leaseholder.Identity(lease))
	return nil
}

// couldOnlyBeOurs reports whether the holder was a static pod of this operator that has ended: no pod is left on its
// node, whose kubelet reports. A View knows a process of ours only by its pod, which is gone.
func (c *controller) couldOnlyBeOurs(ctx context.Context, lease *coordinationv1.Lease) (bool, error) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return false, err
	}
	var names []string
	for _, node := range nodes {
		if controlplane.KubeletOf(node) == controlplane.KubeletReady {
			names = append(names, node.Name)
		}
	}
	node := leaseholder.Node(lease, names)
	if node == "" {
		return false, nil
	}
	others, err := c.Pods()
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(others, func(pod *corev1.Pod) bool {
		return leaseholder.Short(pod.Spec.NodeName) == leaseholder.Short(node)
	}), nil
}

// remember copies the annotations that make the next installation not a first one to the operator's resource.
func (c *controller) remember(ctx context.Context) error {
	pod, err := c.ConfigMap(operand.PodConfigMap)
	if err != nil || pod == nil {
		return err
	}
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return err
	}
	kept := operand.Remembered(pod.Annotations)
	if kept == nil || maps.Equal(kept, operand.Remembered(meta.Annotations)) {
		return nil
	}
	return c.Annotate(ctx, kept)
}

func (c *controller) deleteOwn(ctx context.Context) (found bool, err error) {
	objects, err := c.Objects()
	if err != nil {
		return false, err
	}
	var errs []error
	remove := func(kind string, object metav1.Object, by func(context.Context, string, metav1.DeleteOptions) error) {
		found = true
		if held := operatorclient.Held(object); held != nil {
			errs = append(errs, fmt.Errorf("deleting %s/%s in %s: %w", kind, object.GetName(), operand.Namespace, held))
			return
		}
		errs = append(errs,
			operatorclient.Delete(ctx, by, kind, operand.Namespace, object.GetName(), metav1.DeleteOptions{}))
	}
	for _, configMap := range objects.ConfigMaps {
		if operand.IsOwnConfigMap(configMap.Name) ||
			slices.Contains([]string{filesyncer.ReportConfigMap, operand.ServingCAConfigMap}, configMap.Name) {
			remove("configmap", configMap, c.Kube.CoreV1().ConfigMaps(operand.Namespace).Delete)
		}
	}
	for _, secret := range objects.Secrets {
		if operand.IsOwnSecret(secret.Name) || secret.Name == operand.NodeManagerConfigSecret {
			remove("secret", secret, c.Kube.CoreV1().Secrets(operand.Namespace).Delete)
		}
	}
	return found, errors.Join(errs...)
}

func (c *controller) block(ctx context.Context, o obstacles) error {
	const blocked = "Blocked"
	var causes []string
	if len(o.nodes) > 0 {
		causes = append(causes, fmt.Sprintf("these nodes wait for the cloud-controller-manager to initialize them: %s; "+
			"wait until they are initialized, delete them, or set spec.removalPolicy to %s",
			diagnostic.Few(o.nodes), ccmv1.CloudControllerManagerRemovalPolicyForce))
	}
	if len(o.services) > 0 {
		causes = append(causes, fmt.Sprintf("only a cloud-controller-manager can delete the load balancers of these "+
			"Services, and the Services with them: %s; delete them, or, if another cloud-controller-manager takes over, set "+
			"spec.removalPolicy to %s", diagnostic.Few(o.services), ccmv1.CloudControllerManagerRemovalPolicyForce))
	}
	message := "spec.managementState is Removed, but " + strings.Join(causes, "; and ")
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionFalse, blocked, message),
		operatorclient.NewCondition(DegradedCondition, operatorv1.ConditionTrue, blocked, message))
}

// wait reports when the removal starts, what it does then, and how to undo it or to start at once.
func (c *controller) wait(ctx context.Context, start time.Time, generation int64, first bool) error {
	message := fmt.Sprintf("spec.managementState is Removed: from %s on, every cloud-controller-manager of this cluster "+
		"is removed, and nothing initializes new nodes or updates load balancers then; to keep them, set "+
		"spec.managementState to Managed before; to begin at once, run: oc annotate --overwrite "+
		"cloudcontrollermanager/cluster %s=%d",
		start.UTC().Format(time.RFC3339), operatorclient.RemovalAnnotation, generation)
	err := operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionFalse, "Waiting", message),
		operatorclient.AsExpected(DegradedCondition))
	if err == nil && first {
		c.Recorder.Warning("RemovalRequested", message)
	}
	return err
}

var stepMessages = map[observedplatform.Removal]string{
	observedplatform.RemovingStaticPods: "removing the static pods and their files from the control-plane nodes",
	observedplatform.RemovingObjects:    "removing the objects that the operator created",
	observedplatform.Restoring:          "waiting until nothing of the removal runs any more",
	observedplatform.Removed: "the cloud-controller-manager is removed: nothing initializes new nodes or updates load " +
		"balancers; set spec.managementState to Managed to install it again",
}

func (c *controller) enter(ctx context.Context, step observedplatform.Removal) error {
	return c.report(ctx, step, nil, nil)
}

// report writes the step, what it waits for, and what an administrator should look at.
func (c *controller) report(ctx context.Context, step observedplatform.Removal, waiting, problems []string) error {
	message := stepMessages[step]
	if len(waiting) > 0 {
		message = "waiting for " + diagnostic.Few(waiting)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name,
		operatorclient.Problem(DegradedCondition, "NodesNotClean", diagnostic.JoinFew(problems, "; ", "; and %d more")),
		operatorclient.NewCondition(observedplatform.RemovingCondition, operatorv1.ConditionTrue, string(step), message))
}

// release also ends the pods of a removal whose resource was deleted: they would remove what is installed again.
func (c *controller) release(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	if _, err := c.removePods(ctx, "", appRemoval); err != nil {
		return err
	}
	if v1helpers.FindOperatorCondition(status.Conditions, observedplatform.RemovingCondition) == nil &&
		v1helpers.FindOperatorCondition(status.Conditions, DegradedCondition) == nil {
		return nil
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name)
}

// currentConditions stay true after a removal: those of this controller and of package unmanaged.
var currentConditions = []string{
	observedplatform.RemovingCondition, DegradedCondition, name + "Degraded",
	operatorclient.AvailableCondition, operatorclient.ProgressingCondition, operatorclient.DegradedCondition,
	operatorclient.UpgradeableCondition,
}

// removeConditions removes conditions whose controllers have ended or do nothing now. Others are written again.
func (c *controller) removeConditions(ctx context.Context, except ...string) error {
	return operatorclient.RemoveConditions(ctx, c.Operator, func(condition *operatorv1.OperatorCondition) bool {
		return !slices.Contains(currentConditions, condition.Type) && !slices.Contains(except, condition.Type)
	})
}

// forgetRevisions removes the nodes' revisions first: if the removal ends at any point, every node gets its files
// again. A revision cannot decrease, so the whole entry goes; library-go's node controller recreates it.
//
// Before, it removes conditions: the removal may take long, and what the stopped controllers saw last would make the
// ClusterOperator Degraded, or not Available. A take-over that is under way goes on if the removal is undone.
func (c *controller) forgetRevisions(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	if !slices.ContainsFunc(status.NodeStatuses, hasRevision) {
		return nil
	}
	if err := c.removeConditions(ctx, predecessor.ConditionType); err != nil {
		return err
	}
	_, status, _, err := c.Operator.GetStaticPodOperatorStateWithQuorum(ctx)
	if err != nil {
		return err
	}
	var entries operatorclient.Removals
	for i, node := range status.NodeStatuses {
		if hasRevision(node) {
			entries.Add(i, "/status/nodeStatuses", "nodeName", node.NodeName, "")
		}
	}
	return entries.Apply(ctx, c.Operator)
}

func hasRevision(node operatorv1.NodeStatus) bool {
	return node.CurrentRevision != 0 || node.TargetRevision != 0
}
