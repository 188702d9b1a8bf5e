package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

const progressController = "RolloutProgressController"

// progress reports which revision is on which node, and why a node fails to get one or an installer to start.
// library-go's installer controller also counts nodes where nothing runs, and reports nothing while it waits to retry.
type progress struct {
	dependencies.Deps
	// since is when a container was first seen waiting, nil before the first sync.
	since patience.Each[stuckContainer, bool]
}

func newProgressController(o options) factory.Controller {
	core := o.Target.Core().V1()
	f := factory.New().
		WithInformers(core.Pods().Informer(), o.Nodes.Informer()).
		WithFilteredEventsInformers(trial.HasRecord, core.Secrets().Informer())
	return reconciler.From(f, progressController, o.Operator, o.Recorder, (&progress{Deps: o.Deps}).sync)
}

func (c *progress) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	view, err := c.View()
	if err != nil {
		return err
	}
	objects, err := c.Objects()
	if err != nil {
		return err
	}
	status := view.Status()
	text := describe(view, trial.Of(objects.Secret(operand.PreflightName)).Proof)
	messages, next := c.stuck(view)
	reconciler.After(syncCtx, next)
	progressing := operatorclient.NewCondition(condition.NodeInstallerProgressingConditionType,
		operatorv1.ConditionFalse, "AllNodesAtLatestRevision", text)
	isInstalling := func(n operatorv1.NodeStatus) bool { return n.TargetRevision != 0 && n.CurrentRevision != 0 }
	if slices.ContainsFunc(status.NodeStatuses, isInstalling) ||
		controlplane.RollsOut(status, condition.NodeInstallerProgressingConditionType) {
		progressing.WithStatus(operatorv1.ConditionTrue).WithReason("")
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, progressController, progressing, failures(status),
		problem(ImagePullCondition, "ImageNotPulled", slices.Sorted(slices.Values(messages[ImagePullCondition]))),
		problem(InstallerStartCondition, "NotStarted", slices.Sorted(slices.Values(messages[InstallerStartCondition]))))
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

// failures returns the condition about nodes whose last installation failed, until they get that revision or another.
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
	return problem(condition.NodeInstallerDegradedConditionType, "InstallerPodFailed", messages)
}

func problem(conditionType, reason string, messages []string) *operatorclient.Condition {
	return operatorclient.Problem(conditionType, reason, strings.Join(messages, "\n"))
}

const (
	// ImagePullCondition is True while an installer pod waits for an image that the kubelet cannot pull.
	ImagePullCondition = "ImagePullDegraded"

	// InstallerStartCondition is True while the kubelet has not started any container of an installer pod.
	InstallerStartCondition = "InstallerPodStartDegraded"

	// imagePullGracePeriod is how long an init container may wait for its image, and an installer pod for its start. The
	// kubelet pulls again after 10 seconds and after 20 more.
	imagePullGracePeriod = 30 * time.Second
)

type stuckContainer struct {
	pod  types.UID
	name string
}

// stuck returns, by condition, messages about installer pods that have waited for the grace period: for an image, or
// for a kubelet whose container runtime hangs, since its node stays Ready for minutes. library-go's installer-state
// controller reports a pending pod and a waiting container after five minutes, and no init container. next is the time
// until another one will have waited for that long, 0 for never.
func (c *progress) stuck(view controlplane.View) (messages map[string][]string, next time.Duration) {
	now, status, installers := view.Now(), view.Status(), view.Installers()
	messages = map[string][]string{}
	since := patience.Each[stuckContainer, bool]{}
	for _, node := range status.NodeStatuses {
		for _, pod := range installers {
			if !waitsToInstall(pod, &node) {
				continue
			}
			found := delayOf(&node, pod, formerRevision(view.StaticPod(node.NodeName), &node))
			if found == nil {
				continue
			}
			key := stuckContainer{pod: pod.UID, name: found.container}
			seen := now
			if c.since == nil && v1helpers.IsOperatorConditionTrue(status.Conditions, found.condition) {
				seen = now.Add(-imagePullGracePeriod) // seen by the previous process of the operator
			}
			if former := c.since[key]; former != nil {
				since[key] = former
			}
			left := since.See(key, true, seen).Add(imagePullGracePeriod).Sub(now)
			if left <= 0 {
				messages[found.condition] = append(messages[found.condition], found.message)
			}
			next = patience.Sooner(next, left)
		}
	}
	c.since = since
	return messages, next
}

// delay is why an installer pod does not run. container is "" if none has started.
type delay struct{ condition, container, message string }

// delayOf returns nil for a pod that makes progress. former is what runs on the node meanwhile, which is unknown if the
// kubelet starts nothing: its machine may have just died.
func delayOf(node *operatorv1.NodeStatus, pod *corev1.Pod, former string) *delay {
	// A stuck init container waits for its image, or rarely for the container runtime.
	if i := slices.IndexFunc(pod.Status.InitContainerStatuses, controlplane.IsStuck); i >= 0 {
		waiting := &pod.Status.InitContainerStatuses[i]
		return &delay{ImagePullCondition, waiting.Name, describeStuck(node, pod, waiting, former)}
	}
	if hasStarted(pod) {
		return nil
	}
	return &delay{InstallerStartCondition, "", fmt.Sprintf("revision %d cannot be installed on node/%s: "+
		"the kubelet has not started any container of pod/%s; check that the kubelet and the container runtime there "+
		"respond, and that they can pull the image of this operator", node.TargetRevision, node.NodeName, pod.Name)}
}

// waitsToInstall reports whether a pod is to install the node's target revision, and has not started to.
func waitsToInstall(pod *corev1.Pod, node *operatorv1.NodeStatus) bool {
	return node.TargetRevision != 0 && controlplane.Installs(pod, node.NodeName, node.TargetRevision) &&
		pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil
}

func describeStuck(
	node *operatorv1.NodeStatus, pod *corev1.Pod, waiting *corev1.ContainerStatus, former string,
) string {
	image := waiting.Image
	for _, container := range pod.Spec.InitContainers {
		if container.Name == waiting.Name {
			image = container.Image
		}
	}
	return fmt.Sprintf("revision %d cannot be installed on node/%s: "+
		"container %s of pod/%s with image %q does not start: %s%s; "+
		"check that the image exists, and that the node can reach its registry and has credentials for it",
		node.TargetRevision, node.NodeName, waiting.Name, pod.Name, image, kubeletError(waiting.State.Waiting), former)
}

// formerRevision names the revision that the node runs meanwhile, "" if it has no static pod.
func formerRevision(static *corev1.Pod, node *operatorv1.NodeStatus) string {
	if static == nil || controlplane.IsRepair(node) || !controlplane.HasRevision(static, node.CurrentRevision) {
		return ""
	}
	return fmt.Sprintf("; revision %d keeps running there", node.CurrentRevision)
}

// backOff matches the prefix of an error between pulls (EnsureImageExists in k8s.io/kubernetes/pkg/kubelet/images).
var backOff = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Back-off pulling image "[^"]*": [A-Za-z]+: `)
})

// kubeletError returns why the container does not start, the same during and after a pull: otherwise each pull would
// change the condition. An error may quote any answer of the registry, such as a signed URL.
func kubeletError(waiting *corev1.ContainerStateWaiting) string {
	return cmp.Or(terminationmessage.Summary(backOff().ReplaceAllString(waiting.Message, "")),
		terminationmessage.Cut(waiting.Reason))
}
