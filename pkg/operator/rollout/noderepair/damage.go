package noderepair

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// damage is how a node differs from its revision; its text is "" if it does not, or if that is not known. patience is
// how long it must last. missing reports whether the static pod does not exist.
type damage struct {
	text     string
	patience time.Duration
	missing  bool
}

// damagedNode is a node that has differed from its revision for long enough.
type damagedNode struct {
	damage

	machine machine
	status  operatorv1.NodeStatus
}

// damagedNodes returns the nodes that have differed for long enough. A rollout may be stuck on another node for long.
// It does not keep a node without a static pod from its repair, which takes nothing away. A node whose static pod runs
// waits for the end of the rollout: its repair would end another static pod. Those that have waited for long enough are
// the problems. wait is the time until another node will have differed for long enough.
func (c *controller) damagedNodes(status *operatorv1.StaticPodOperatorStatus) (
	damaged []damagedNode, waiting []problem, wait time.Duration, err error,
) {
	rollsOut, err := c.rollsOut(status)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, n := range status.NodeStatuses {
		node, err := c.readyNode(n.NodeName)
		if err != nil {
			return nil, nil, 0, err
		}
		found, err := c.found(node, &n, status.LatestAvailableRevision, rollsOut)
		if err != nil {
			return nil, nil, 0, err
		}
		waits := rollsOut && n.TargetRevision == 0 && !found.missing
		if waits {
			found.patience = waitingPatience
		}
		left := c.remaining(c.since, n.NodeName, found)
		switch {
		case found.text == "":
		case left > 0:
			wait = patience.Sooner(wait, left)
		case waits:
			waiting = append(waiting, problem{"RepairWaits", fmt.Sprintf(
				"node/%s: %s; its revision is installed again after the rollout of revision %d", n.NodeName, found.text,
				status.LatestAvailableRevision)})
		default:
			damaged = append(damaged, damagedNode{found, machine{n.NodeName, node.UID}, n})
		}
	}
	// The others wait for the one that is being installed.
	slices.SortStableFunc(damaged, func(a, b damagedNode) int {
		return cmp.Compare(min(b.status.TargetRevision, 1), min(a.status.TargetRevision, 1))
	})
	return damaged, waiting, wait, nil
}

// found returns how a node differs from its revision. node is nil if its kubelet does not work. A node where the
// rollout has begun is the rollout's concern.
func (c *controller) found(
	node *corev1.Node, status *operatorv1.NodeStatus, latest int32, rollsOut bool,
) (damage, error) {
	switch {
	case node == nil:
		return damage{}, nil
	case status.TargetRevision != 0:
		return c.stuckInstallation(node, status)
	case status.CurrentRevision == 0:
		return damage{}, nil
	}
	if rollsOut && status.CurrentRevision != latest {
		begun, err := c.installers(node.Name, latest)
		if err != nil || len(begun) > 0 {
			return damage{}, err
		}
	}
	return c.damageOf(node, status)
}

// repairing reports whether the revision of a node is being installed again.
func repairing(status *operatorv1.StaticPodOperatorStatus) bool {
	return slices.ContainsFunc(status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return controlplane.IsRepair(&n)
	})
}

// rollsOut reports whether a node gets another revision, or waits for that, while no node is repaired. A node whose
// kubelet is silent gets nothing: the rollout passes by it.
func (c *controller) rollsOut(status *operatorv1.StaticPodOperatorStatus) (bool, error) {
	for _, n := range status.NodeStatuses {
		if n.CurrentRevision != 0 && n.CurrentRevision >= status.LatestAvailableRevision && n.TargetRevision == 0 {
			continue
		}
		node, err := c.node(n.NodeName)
		if err != nil || controlplane.KubeletOf(node) != controlplane.KubeletSilent {
			return true, err
		}
	}
	return false, nil
}

// remaining returns how long the damage of a node must still persist before it is repaired. It starts the clock on
// first sight.
func (c *controller) remaining(since patience.Each[string, bool], node string, wrong damage) time.Duration {
	now := c.Clock.Now()
	return since.See(node, wrong.text != "", now).Add(wrong.patience).Sub(now)
}

// damageOf returns how a node that is not being installed differs from its revision.
func (c *controller) damageOf(node *corev1.Node, status *operatorv1.NodeStatus) (damage, error) {
	installers, err := c.installers(node.Name, status.CurrentRevision)
	if err != nil {
		return damage{}, err
	}
	if wrong, err := c.staticPodOf(node, status.CurrentRevision, installers); err != nil || wrong.text != "" {
		return wrong, err
	}
	report, text, err := c.reportOf(node.Name)
	if err != nil || text == "" {
		return damage{}, err
	}
	want, err := c.digestsOf(status.CurrentRevision)
	if err != nil || want == nil {
		return damage{}, err
	}
	wrong := damage{patience: filesPatience}
	switch {
	case report.Manifest != want.manifest:
		wrong.text = fmt.Sprintf("the manifest of the static pod differs from revision %d", status.CurrentRevision)
	case report.Directory != want.directory:
		wrong.text = fmt.Sprintf("the files of revision %d differ from its objects", status.CurrentRevision)
	}
	return wrong, nil
}

// stuckInstallation returns why the result of the node's installer pod does not count: it ran on a former machine of
// this name, or before etcd was restored. library-go's installer controller would wait for its static pod forever.
func (c *controller) stuckInstallation(node *corev1.Node, status *operatorv1.NodeStatus) (damage, error) {
	installers, err := c.installers(node.Name, status.TargetRevision)
	if err != nil || !slices.ContainsFunc(installers, hasSucceeded) {
		return damage{}, err
	}
	return c.staticPodOf(node, status.TargetRevision, installers)
}

// staticPodOf returns what is wrong with the node's mirror pod, which should be that of the revision.
func (c *controller) staticPodOf(node *corev1.Node, revision int32, installers []*corev1.Pod) (damage, error) {
	pod, err := controlplane.StaticPod(c.Pods.Lister(), node.Name)
	if err != nil {
		return damage{}, err
	}
	if pod == nil || isOfFormerNode(pod, node) {
		if slices.ContainsFunc(installers, func(installer *corev1.Pod) bool {
			return hasSucceeded(installer) && installer.CreationTimestamp.Before(&node.CreationTimestamp)
		}) {
			return damage{"the machine was replaced, and the static pod does not exist", replacedPatience, true}, nil
		}
		return damage{"the static pod does not exist", filesPatience, true}, nil
	}
	if runs := pod.Labels["revision"]; runs != "" && runs != strconv.Itoa(int(revision)) {
		return damage{fmt.Sprintf("the static pod runs revision %s, want %d", runs, revision), filesPatience, false}, nil
	}
	return damage{}, nil
}

// isOfFormerNode reports whether the kubelet of a deleted Node of the same name created the mirror pod.
func isOfFormerNode(pod *corev1.Pod, node *corev1.Node) bool {
	for _, owner := range pod.OwnerReferences {
		if owner.Kind == "Node" && owner.UID != node.UID {
			return true
		}
	}
	return false
}

// installers returns the node's installer pods of a revision.
func (c *controller) installers(node string, revision int32) ([]*corev1.Pod, error) {
	pods, err := controlplane.Installers(c.Pods.Lister())
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !controlplane.Installs(pod, node, revision)
	}), err
}

func hasSucceeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }
