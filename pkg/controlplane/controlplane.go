// Package controlplane is a model of the control plane, made from the caches and the operator's clock. Controllers ask
// it instead of computing the same fact each: whether a Node or a Pod is Ready, what an installer pod installs, and the
// operand's lease: who holds it, since when, whether it is renewed, and whether the process behind it has ended.
package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// IsReady reports whether the kubelet reports a pod as Ready. It may be nil.
func IsReady(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Port returns where the cloud-controller-manager of a static pod listens, 0 if that is not known.
func Port(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		probe := container.LivenessProbe
		if container.Name == operand.Name && probe != nil && probe.HTTPGet != nil {
			return probe.HTTPGet.Port.IntVal
		}
	}
	return 0
}

// Kubelet is what a Node says about its kubelet.
type Kubelet int

const (
	// KubeletSilent is a kubelet that has not reported for kube-controller-manager's grace period (40 seconds in
	// OpenShift), or whose Node does not exist. Its machine may be dead. If only the kubelet hangs, the containers run on.
	KubeletSilent Kubelet = iota
	// KubeletNotReady is a kubelet that reports that not everything on its node works: the container runtime, or only the
	// pod network, without which static pods run nevertheless.
	KubeletNotReady
	// KubeletReady is a kubelet that reports that its node works.
	KubeletReady
)

// KubeletOf returns the state of a Node's kubelet. node is nil if the Node does not exist.
func KubeletOf(node *corev1.Node) Kubelet {
	if node == nil {
		return KubeletSilent
	}
	for _, condition := range ReadyConditions(node) {
		if condition.Status == corev1.ConditionTrue {
			return KubeletReady
		}
		if condition.Status == corev1.ConditionUnknown {
			return KubeletSilent
		}
	}
	return KubeletNotReady // or registered a moment ago
}

// ReadyConditions returns the condition in which a Node's kubelet reports, none if it has not.
func ReadyConditions(node *corev1.Node) []corev1.NodeCondition {
	return slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool {
		return c.Type != corev1.NodeReady
	})
}

// UninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
const UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// IsUninitialized reports whether a Node waits for its initialization: from its registration until the CCM, or a
// cloud-node-manager, has removed the taint. By a taint that repels no pod the operator asks the CCM about initialized
// Nodes.
func IsUninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == UninitializedTaint && t.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// IsCordoned reports whether a Node takes no more pods, as before a drain. The node controller adds the taint moments
// after the field; an administrator may set it alone.
func IsCordoned(node *corev1.Node) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnschedulable
	})
}

// InstallerApp is the label app of library-go's installer pods, PrunerApp that of its pruner pods, HandoverApp that of
// the pods that move the lead.
const (
	InstallerApp = "installer"
	PrunerApp    = "pruner"
	HandoverApp  = "handover"
)

// MoveTimeout is the longest that a move of the lead takes: the command's patience with the successor, and its limit.
const MoveTimeout = time.Minute

// EndedByMove reports whether a run on a node ended while one of the moves worked there: a move takes the manifest away
// for a moment. The times are those of one kubelet, in seconds. A move that has not started by the API's word may work
// already.
func EndedByMove(run *corev1.ContainerStateTerminated, node string, moves []*corev1.Pod) bool {
	return slices.ContainsFunc(moves, func(move *corev1.Pod) bool {
		if move.Spec.NodeName != node {
			return false
		}
		if len(move.Status.ContainerStatuses) == 0 {
			return move.Status.Phase == corev1.PodPending
		}
		state := move.Status.ContainerStatuses[0].State
		switch {
		case state.Running != nil:
			return !run.FinishedAt.Before(&state.Running.StartedAt)
		case state.Terminated != nil:
			return !run.FinishedAt.Before(&state.Terminated.StartedAt) && !state.Terminated.FinishedAt.Before(&run.FinishedAt)
		}
		return true
	})
}

// InstallerName returns the name of the first installer pod of a revision on a node. Those after it have names such as
// installer-7-retry-1-master-0.
func InstallerName(revision int32, node string) string {
	return fmt.Sprintf("installer-%d-%s", revision, node)
}

// InstallerRevision returns the revision that a pod installs, by its name, and false for a pod that installs none.
func InstallerRevision(name string) (revision int32, isInstaller bool) {
	rest, isInstaller := strings.CutPrefix(name, "installer-")
	number, _, _ := strings.Cut(rest, "-")
	parsed, err := strconv.ParseInt(number, 10, 32)
	return int32(parsed), isInstaller && err == nil
}

// Installs reports whether a pod is to install a revision on a node.
func Installs(pod *corev1.Pod, node string, revision int32) bool {
	of, isInstaller := InstallerRevision(pod.Name)
	return isInstaller && of == revision && pod.Spec.NodeName == node
}
