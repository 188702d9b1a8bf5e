package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/condition"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/staticpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// blockers are the conditions that say why a rollout does not go on, the most specific first.
var blockers = []string{
	staticpod.HeldBackCondition,
	staticpod.ImagePullCondition,
	staticpod.InstallerStartCondition,
	condition.NodeInstallerDegradedConditionType,
	condition.InstallerControllerDegradedConditionType,
	condition.StaticPodsDegradedConditionType,
	condition.NodeControllerDegradedConditionType,
}

// ExplainRollout explains where the rollout of the latest revision stands.
func ExplainRollout(s *snapshot.Snapshot) (*Explanation, error) {
	e, err := begin(s)
	if err != nil {
		return nil, err
	}
	switch removal, isRemoving := e.firstTrue(observedplatform.RemovingCondition); {
	case removal.Reason == string(observedplatform.Removed):
		e.step(true, "%s", removal.Message)
		return e.Explanation, nil
	case isRemoving:
		e.unmanaged("", "")
		return e.Explanation, nil
	case !e.platform.Managed():
		e.step(true, "platform %q has no cloud-controller-manager of this operator", e.platform.Name)
		return e.Explanation, nil
	}
	e.inputs()
	heldBack, isHeldBack := e.firstTrue(staticpod.HeldBackCondition)
	e.either(!isHeldBack, fmt.Sprintf("the accepted inputs are revision %d", e.status.Revision),
		"the accepted inputs wait to become a revision")
	if isHeldBack {
		return e.condition(heldBack), nil
	}
	behind, down := e.behind()
	if len(behind) == 0 {
		return e.leftOver(), nil
	}
	if len(down) == len(behind) {
		return e.withCause("nothing can be installed where the kubelet does not work: "+strings.Join(down, ", "),
			"start the kubelet there, or replace the machine"), nil
	}
	if c, blocked := e.firstTrue(blockers...); blocked {
		return e.condition(c), nil
	}
	return e.withCause(fmt.Sprintf("revision %d is being installed, one node at a time, the leader's node last: %s",
		e.status.Revision, strings.Join(behind, ", ")), "wait: status --wait"), nil
}

// behind adds a step for each node. It returns the nodes without the latest revision, and those of them whose kubelet
// cannot install it.
func (e *walk) behind() (behind, down []string) {
	for _, node := range e.status.Nodes {
		if e.onNode(node) {
			continue
		}
		behind = append(behind, node.Name)
		if node.Kubelet != "Ready" {
			down = append(down, "node/"+node.Name)
		}
	}
	return behind, down
}

func (e *walk) inputs() {
	for _, input := range e.status.Inputs {
		if input.Rejected {
			e.step(false, "%s: %s is rejected, so it causes no revision: see status", input.Name, input.Source)
			continue
		}
		e.step(true, "%s: accepted", input.Name)
	}
}

// heldChanges are the conditions that say why a change of something else than an input did not roll out, or what a
// change waits for.
var heldChanges = []string{
	string(diagnostic.Image) + "Degraded", string(diagnostic.Configuration) + "Degraded", "PreflightNotices",
}

// leftOver ends an explanation of a rollout that has ended: what is rejected or waits did not roll out.
func (e *walk) leftOver() *Explanation {
	for _, input := range e.status.Inputs {
		if input.Rejected {
			return e.withCause(input.Message, "correct "+input.Source)
		}
	}
	if c, isHeld := e.firstTrue(heldChanges...); isHeld {
		return e.condition(c)
	}
	return e.Explanation
}

func (e *walk) onNode(node Node) bool {
	latest, name := e.status.Revision, "node/"+node.Name
	if node.Revision == latest && node.Installing == 0 {
		return e.step(node.CCM == "Ready", "%s runs revision %d, its cloud-controller-manager is %s", name, latest, node.CCM)
	}
	text := fmt.Sprintf("%s runs revision %d, its kubelet is %s", name, node.Revision, node.Kubelet)
	if node.Failed != 0 && node.Failed == latest {
		text += fmt.Sprintf(", revision %d failed: %s", node.Failed, node.Failure)
	}
	if pod := installerOf(e.shot, node.Name, cmp.Or(node.Installing, latest)); pod != nil {
		text += fmt.Sprintf(", pod/%s is %s", pod.Name, pod.Status.Phase)
	}
	return e.step(false, "%s", text)
}

func installerOf(s *snapshot.Snapshot, node string, revision int32) *corev1.Pod {
	installers := slices.DeleteFunc(s.Pods(operand.Namespace), func(pod *corev1.Pod) bool {
		return !controlplane.Installs(pod, node, revision)
	})
	if len(installers) == 0 {
		return nil
	}
	return slices.MaxFunc(installers, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}
