package staticpod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const progressController = "RolloutProgressController"

// progress reports which revision is on which node, and which node fails to get one. library-go's installer controller
// reports this too. But it counts nodes by their status, also those where nothing runs, or whose machine is gone, and
// it reports nothing while it waits to retry. progress also reports what keeps an installer from starting.
type progress struct {
	dependencies.Deps
	// since has when a container was first seen waiting. It is nil before the first sync.
	since patience.Each[stuckContainer, bool]
}

func newProgressController(o options) factory.Controller {
	core := o.Target.Core().V1()
	f := factory.New().
		WithInformers(core.Pods().Informer(), o.Nodes.Informer()).
		WithFilteredEventsInformers(isProof, core.Secrets().Informer())
	return reconciler.From(f, progressController, o.Operator, o.Recorder, (&progress{Deps: o.Deps}).sync)
}

func isProof(obj any) bool {
	object, ok := obj.(metav1.Object)
	return !ok || object.GetName() == operand.PreflightName
}

func (c *progress) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	view, err := c.View()
	if err != nil {
		return err
	}
	record, err := operatorclient.Find(c.Target.Core().V1().Secrets().Lister().Secrets(operand.Namespace), "secret",
		operand.Namespace, operand.PreflightName)
	if err != nil {
		return err
	}
	status := view.Status()
	text := describe(view, trial.Of(record).Proof)
	messages, next := c.stuck(view)
	if next > 0 {
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), next)
	}
	progressing := operatorclient.NewCondition(condition.NodeInstallerProgressingConditionType,
		operatorv1.ConditionFalse, "AllNodesAtLatestRevision", text)
	isInstalling := func(n operatorv1.NodeStatus) bool { return n.TargetRevision != 0 && n.CurrentRevision != 0 }
	if slices.ContainsFunc(status.NodeStatuses, isInstalling) ||
		controlplane.RollsOut(status, condition.NodeInstallerProgressingConditionType) {
		progressing.WithStatus(operatorv1.ConditionTrue).WithReason("")
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, progressController, progressing, failures(status),
		conditionOf(ImagePullCondition, "ImageNotPulled", slices.Sorted(slices.Values(messages[ImagePullCondition]))),
		conditionOf(InstallerStartCondition, "NotStarted", slices.Sorted(slices.Values(messages[InstallerStartCondition]))))
}

func describe(view controlplane.View, proof *trial.Proof) string {
	status := view.Status()
	latest := status.LatestAvailableRevision
	at, reached := map[int32]int{}, false
	var remarks []string
	for _, node := range status.NodeStatuses {
		reached = reached || node.CurrentRevision == latest
		if remark := remark(view, &node); remark != "" {
			remarks = append(remarks, remark)
		} else {
			at[node.CurrentRevision]++
		}
	}
	var texts []string
	for _, revision := range slices.Sorted(maps.Keys(at)) {
		verb := "node is"
		if at[revision] > 1 {
			verb = "nodes are"
		}
		texts = append(texts, fmt.Sprintf("%d %s at revision %d", at[revision], verb, revision))
	}
	if !reached && len(status.NodeStatuses) > 0 {
		texts = append(texts, fmt.Sprintf("0 nodes have achieved new revision %d", latest))
	}
	slices.Sort(remarks)
	if proof.IsOpen(latest) {
		remarks = append(remarks, proof.Describe())
	}
	return strings.Join(slices.Concat(texts, remarks), "; ")
}

// remark returns why a node does not count as being at its revision, "" if it does.
func remark(view controlplane.View, node *operatorv1.NodeStatus) string {
	state, latest := controlplane.KubeletOf(view.Node(node.NodeName)), view.Status().LatestAvailableRevision
	isBehind := node.CurrentRevision != latest
	switch {
	case state == controlplane.KubeletSilent && isBehind:
		return fmt.Sprintf("revision %d is not on node/%s: its kubelet is silent", latest, node.NodeName)
	case state == controlplane.KubeletSilent:
		return fmt.Sprintf("what runs on node/%s is not known: its kubelet is silent", node.NodeName)
	case controlplane.IsRepair(node):
		return fmt.Sprintf("revision %d is installed again on node/%s", node.TargetRevision, node.NodeName)
	case node.TargetRevision != 0:
		return fmt.Sprintf("revision %d is being installed on node/%s", node.TargetRevision, node.NodeName)
	case node.CurrentRevision == 0:
		return ""
	case view.StaticPod(node.NodeName) == nil:
		return fmt.Sprintf("no static pod runs on node/%s", node.NodeName)
	case state == controlplane.KubeletNotReady && isBehind:
		return fmt.Sprintf("revision %d is not on node/%s: its kubelet is not Ready", latest, node.NodeName)
	}
	return ""
}

// failures returns the condition about the nodes whose last installation failed, until they have that revision or get
// another one.
func failures(status *operatorv1.StaticPodOperatorStatus) *operatorclient.Condition {
	var messages []string
	for _, node := range status.NodeStatuses {
		wanted := status.LatestAvailableRevision
		if node.TargetRevision != 0 {
			wanted = node.TargetRevision
		}
		if failed := node.LastFailedRevision; failed != 0 && failed == wanted {
			messages = append(messages, fmt.Sprintf("revision %d cannot be installed on node/%s: %s", failed, node.NodeName,
				strings.Join(node.LastFailedRevisionErrors, "\n")))
		}
	}
	return conditionOf(condition.NodeInstallerDegradedConditionType, "InstallerPodFailed", messages)
}

func conditionOf(conditionType, reason string, messages []string) *operatorclient.Condition {
	if len(messages) == 0 {
		return operatorclient.AsExpected(conditionType)
	}
	return operatorclient.NewCondition(conditionType, operatorv1.ConditionTrue, reason, strings.Join(messages, "\n"))
}
