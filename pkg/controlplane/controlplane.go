// Package controlplane is a model of the control plane, built from the caches and the operator's clock. Controllers use
// it instead of each computing the same facts: whether a Node or a Pod is Ready, what an installer pod installs, and,
// about the operand's lease, who holds it, since when, whether it is renewed, and whether its process has ended.
// View is the model at one moment: holder.go has who leads, process.go whether a leader has ended, and rollout.go which
// nodes have which revision. Lease and NodeController record what a moment does not show.
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

// IsReady reports whether the kubelet reports a pod as Ready. pod may be nil.
func IsReady(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Port returns the port of the cloud-controller-manager in a static pod, or 0 if it is unknown.
func Port(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		probe := container.LivenessProbe
		if container.Name == operand.Name && probe != nil && probe.HTTPGet != nil {
			return probe.HTTPGet.Port.IntVal
		}
	}
	return 0
}

// Kubelet is the state of a kubelet according to its Node.
type Kubelet int

const (
	// KubeletSilent means that the kubelet has not reported for kube-controller-manager's grace period (40 seconds in
	// OpenShift), or that its Node does not exist. The machine may be dead. If only the kubelet hangs, containers run.
	KubeletSilent Kubelet = iota
	// KubeletNotReady means that the kubelet reports a failure on its node: of the container runtime, or only of the pod
	// network, without which static pods still run.
	KubeletNotReady
	// KubeletReady means that the kubelet reports its node as Ready.
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
	return KubeletNotReady // or the Node has just registered
}

// ReadyConditions returns the Ready condition of a Node; empty before the kubelet's first report.
func ReadyConditions(node *corev1.Node) []corev1.NodeCondition {
	return slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool {
		return c.Type != corev1.NodeReady
	})
}

// UninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
const UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// IsUninitialized reports whether a Node waits for its initialization: from its registration until the CCM, or a
// cloud-node-manager, removes the taint. With the effect PreferNoSchedule, which repels no pod, the operator uses the
// same taint to probe the CCM on initialized Nodes; that does not count.
func IsUninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == UninitializedTaint && t.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// IsCordoned reports whether a Node accepts no more pods, as before a drain. The node controller adds the taint shortly
// after the field is set; an administrator may set the taint alone.
func IsCordoned(node *corev1.Node) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnschedulable
	})
}

// InstallerApp, PrunerApp and HandoverApp are the labels app of installer, pruner and hand-over pods.
const (
	InstallerApp = "installer"
	PrunerApp    = "pruner"
	HandoverApp  = "handover"
)

// MoveTimeout is how long a move of the lead may take. A move for a proof takes the longest: it waits up to 30 seconds
// for the successor and 15 for the lead, stays away for 18, and its pods have to start.
const MoveTimeout = 90 * time.Second

// EndedByMove reports whether a run on a node ended while one of the moves worked there: a move removes the manifest
// for a moment. The times are those of one kubelet, in seconds. A move may already work before its start is reported.
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

// InstallerName returns the name of the first installer pod of a revision on a node. Retries have names such as
// installer-7-retry-1-master-0.
func InstallerName(revision int32, node string) string {
	return fmt.Sprintf("installer-%d-%s", revision, node)
}

// InstallerRevision returns the revision that a pod installs according to its name, or false if it is not an installer.
func InstallerRevision(name string) (revision int32, isInstaller bool) {
	rest, isInstaller := strings.CutPrefix(name, "installer-")
	number, _, _ := strings.Cut(rest, "-")
	parsed, err := strconv.ParseInt(number, 10, 32)
	return int32(parsed), isInstaller && err == nil
}

// Installs reports whether a pod is an installer of a revision on a node.
func Installs(pod *corev1.Pod, node string, revision int32) bool {
	of, isInstaller := InstallerRevision(pod.Name)
	return isInstaller && of == revision && pod.Spec.NodeName == node
}
