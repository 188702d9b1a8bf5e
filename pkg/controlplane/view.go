package controlplane

import (
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// View is an immutable snapshot of the control plane with everything that determines who leads. Its fields are private,
// because a holder that is determined without one of them may be wrong. Controllers get it from dependencies.Deps.
type View struct {
	state State
	// operand are the operand's mirror pods, and predecessors the pods of the predecessor.
	operand, predecessors []*corev1.Pod
	// deleted are the Nodes that were deleted while they ran a pod of the operand.
	deleted []string
}

// State is the input of a View.
type State struct {
	Now    time.Time
	Record Record
	// Topology determines the duration of our lease. It is "" if the Infrastructure does not exist.
	Topology configv1.TopologyMode
	// Pods are those of the operand's namespace, and Nodes the control-plane Nodes.
	Pods  []*corev1.Pod
	Nodes []*corev1.Node
	// Spec and Status are those of the operator's resource.
	Spec   *operatorv1.StaticPodOperatorSpec
	Status *operatorv1.StaticPodOperatorStatus
}

// NewView returns the view of a state, which must not change afterwards.
func NewView(state State) View {
	return View{
		state: state, predecessors: predecessor.Of(state.Pods),
		operand: slices.DeleteFunc(slices.Clone(state.Pods), func(pod *corev1.Pod) bool { return !IsOperand(pod) }),
	}
}

var operandSelector = labels.SelectorFromSet(labels.Set{"app": operand.Name})

// IsOperand reports whether a pod is a mirror pod of the operand.
func IsOperand(pod *corev1.Pod) bool { return operandSelector.Matches(labels.Set(pod.Labels)) }

// Now returns the time of the view, by the operator's clock.
func (v *View) Now() time.Time { return v.state.Now }

// Record returns the record of the lease.
func (v *View) Record() Record { return v.state.Record }

// Topology returns the topology of the control plane.
func (v *View) Topology() configv1.TopologyMode { return v.state.Topology }

// Spec returns the spec of the operator's resource.
func (v *View) Spec() *operatorv1.StaticPodOperatorSpec { return v.state.Spec }

// Status returns the status of the operator's resource.
func (v *View) Status() *operatorv1.StaticPodOperatorStatus { return v.state.Status }

// Pods returns all pods of the operand's namespace.
func (v *View) Pods() []*corev1.Pod { return v.state.Pods }

// Nodes returns the control-plane Nodes.
func (v *View) Nodes() []*corev1.Node { return v.state.Nodes }

// StaticPods returns the operand's mirror pods.
func (v *View) StaticPods() []*corev1.Pod { return v.operand }

// Predecessors returns the pods of the predecessor that may still run, sorted by name.
func (v *View) Predecessors() []*corev1.Pod { return v.predecessors }

// Moves returns the pods that move the lead, including those that have ended.
func (v *View) Moves() []*corev1.Pod { return v.podsOf(HandoverApp) }

// Installers returns the installer pods of all nodes and revisions.
func (v *View) Installers() []*corev1.Pod { return v.podsOf(InstallerApp) }

func (v *View) podsOf(app string) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(v.state.Pods), func(pod *corev1.Pod) bool {
		return pod.Labels["app"] != app || IsMirror(pod)
	})
}

// IsMirror reports whether a kubelet created the pod. Its name and labels prove nothing, and the kubelet recreates it
// after a deletion. The operator creates no such pod.
func IsMirror(pod *corev1.Pod) bool { return pod.Annotations[corev1.MirrorPodAnnotationKey] != "" }

// StaticPod returns the operand's mirror pod on a node, or nil.
func (v *View) StaticPod(node string) *corev1.Pod {
	return first(v.operand, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
}

// Node returns the control-plane Node with the name, or nil.
func (v *View) Node(name string) *corev1.Node {
	return first(v.state.Nodes, func(node *corev1.Node) bool { return node.Name == name })
}

func first[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}

// NodesOf returns the control-plane Nodes that a holder's identity may refer to.
func (v *View) NodesOf(identity string) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(v.state.Nodes), func(node *corev1.Node) bool {
		return leaseholder.NodeOf(identity, []string{node.Name}) == ""
	})
}

// Revisions returns the status of a node, or a zero status.
func (v *View) Revisions(node string) operatorv1.NodeStatus {
	return StatusOf(v.state.Status, node)
}

// IsInstalled reports whether any node has a revision.
func (v *View) IsInstalled() bool {
	return slices.ContainsFunc(v.state.Status.NodeStatuses, func(n operatorv1.NodeStatus) bool {
		return n.CurrentRevision > 0
	})
}

// Duration returns how long the lease lasts after a renewal by a process of ours.
func (v *View) Duration() time.Duration { return v.state.Record.Duration(v.state.Topology) }

// WithNodes returns the view with only the mirror pods on these nodes: a mirror pod outlives its Node by a minute.
// deleted are the Nodes that were deleted while they ran a pod of the operand; a holder on them is NodeGone.
func (v *View) WithNodes(isNode func(name string) bool, deleted []string) View {
	seen := *v
	seen.deleted = deleted
	seen.operand = slices.DeleteFunc(slices.Clone(v.operand), func(pod *corev1.Pod) bool {
		return !isNode(pod.Spec.NodeName)
	})
	return seen
}
