package staticpod

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
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
	operator v1helpers.StaticPodOperatorClient
	nodes    corev1listers.NodeLister
	pods     corev1listers.PodLister
	secrets  corev1listers.SecretLister
	clock    clock.PassiveClock
	// since has when a container was first seen waiting. It is nil before the first sync.
	since patience.Each[stuckContainer, bool]
}

func newProgressController(o options) factory.Controller {
	pods, nodes, secrets := o.Target.Core().V1().Pods(), o.Nodes, o.Target.Core().V1().Secrets()
	c := &progress{
		operator: o.Operator, nodes: nodes.Lister(), pods: pods.Lister(), secrets: secrets.Lister(), clock: o.Clock,
	}
	f := factory.New().
		WithInformers(pods.Informer(), nodes.Informer()).
		WithFilteredEventsInformers(isProof, secrets.Informer())
	return reconciler.From(f, progressController, o.Operator, o.Recorder, c.sync)
}

// isProof selects the Secret with the record of a proof.
func isProof(obj any) bool {
	object, ok := obj.(metav1.Object)
	return !ok || object.GetName() == operand.PreflightName
}

func (c *progress) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	_, status, _, err := c.operator.GetStaticPodOperatorState()
	if err != nil {
		return err
	}
	text, describeErr := c.describe(status)
	installers, err := controlplane.Installers(c.pods)
	if err := errors.Join(describeErr, err); err != nil {
		return err
	}
	messages, next := c.stuck(status, installers)
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
	return operatorclient.ApplyConditions(ctx, c.operator, progressController, progressing, failures(status),
		conditionOf(ImagePullCondition, "ImageNotPulled", slices.Sorted(slices.Values(messages[ImagePullCondition]))),
		conditionOf(InstallerStartCondition, "NotStarted", slices.Sorted(slices.Values(messages[InstallerStartCondition]))))
}

// describe returns how many nodes are at which revision, and what is to be said about single nodes.
func (c *progress) describe(status *operatorv1.StaticPodOperatorStatus) (string, error) {
	latest := status.LatestAvailableRevision
	at, reached := map[int32]int{}, false
	var remarks []string
	for i := range status.NodeStatuses {
		node := &status.NodeStatuses[i]
		remark, err := c.remark(node, latest)
		if err != nil {
			return "", err
		}
		reached = reached || node.CurrentRevision == latest
		if remark == "" {
			at[node.CurrentRevision]++
			continue
		}
		remarks = append(remarks, remark)
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
	secret, err := operatorclient.Find(c.secrets.Secrets(operand.Namespace), "secret", operand.Namespace,
		operand.PreflightName)
	if proof := trial.Of(secret).Leading; proof.IsOpen(latest) {
		remarks = append(remarks, proof.Describe())
	}
	return strings.Join(slices.Concat(texts, remarks), "; "), err
}

// remark returns why a node does not count as being at its revision, "" if it does.
func (c *progress) remark(node *operatorv1.NodeStatus, latest int32) (string, error) {
	state, static, err := runningOn(c.nodes, c.pods, node.NodeName)
	if err != nil {
		return "", err
	}
	isBehind := node.CurrentRevision != latest
	switch {
	case state == controlplane.KubeletSilent && isBehind:
		return fmt.Sprintf("revision %d is not on node/%s: its kubelet is silent", latest, node.NodeName), nil
	case state == controlplane.KubeletSilent:
		return fmt.Sprintf("what runs on node/%s is not known: its kubelet is silent", node.NodeName), nil
	case controlplane.IsRepair(node):
		return fmt.Sprintf("revision %d is installed again on node/%s", node.TargetRevision, node.NodeName), nil
	case node.TargetRevision != 0:
		return fmt.Sprintf("revision %d is being installed on node/%s", node.TargetRevision, node.NodeName), nil
	case node.CurrentRevision == 0:
		return "", nil
	case static == nil:
		return fmt.Sprintf("no static pod runs on node/%s", node.NodeName), nil
	case state == controlplane.KubeletNotReady && isBehind:
		return fmt.Sprintf("revision %d is not on node/%s: its kubelet is not Ready", latest, node.NodeName), nil
	}
	return "", nil
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

// conditionOf returns a condition that is True if there are messages.
func conditionOf(conditionType, reason string, messages []string) *operatorclient.Condition {
	if len(messages) == 0 {
		return operatorclient.AsExpected(conditionType)
	}
	return operatorclient.NewCondition(conditionType, operatorv1.ConditionTrue, reason, strings.Join(messages, "\n"))
}
