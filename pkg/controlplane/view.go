package controlplane

import (
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	configlisters "github.com/openshift/client-go/config/listers/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// View is the lease at one moment, with all that tells who holds it: the pods that may, and the topology, on which the
// duration of a lease of ours depends. Its fields are private because a holder that is judged without one of them may
// be the wrong one: make it with Look.
type View struct {
	now      time.Time
	record   Record
	topology configv1.TopologyMode
	// operand are the operand's mirror pods, predecessors the pods of the predecessor.
	operand, predecessors []*corev1.Pod
	// vanished are deleted Nodes that ran a pod of the operand.
	vanished []string
}

// operandSelector selects the operand's mirror pods.
var operandSelector = labels.SelectorFromSet(labels.Set{"app": operand.Name})

// IsOperand reports whether a pod is a mirror pod of the operand.
func IsOperand(pod *corev1.Pod) bool { return operandSelector.Matches(labels.Set(pod.Labels)) }

// Look reads the caches. The topology is "" if the Infrastructure does not exist.
func Look(
	lease *Lease, pods corev1listers.PodLister, infrastructures configlisters.InfrastructureLister,
	clock clock.PassiveClock,
) (View, error) {
	v := View{now: clock.Now(), record: lease.Record()}
	var err error
	if v.operand, err = pods.Pods(operand.Namespace).List(operandSelector); err != nil {
		return v, fmt.Errorf("listing pods in %s: %w", operand.Namespace, err)
	}
	if v.predecessors, err = predecessor.Pods(pods); err != nil {
		return v, err
	}
	infrastructure, err := infrastructures.Get("cluster")
	if apierrors.IsNotFound(err) {
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("reading infrastructure/cluster: %w", err)
	}
	v.topology = infrastructure.Status.ControlPlaneTopology
	return v, nil
}

// NewView returns the view of one who has no caches. pods are those of the operand's namespace.
func NewView(now time.Time, record Record, pods []*corev1.Pod, topology configv1.TopologyMode) View {
	return View{
		now: now, record: record, topology: topology, predecessors: predecessor.Of(pods),
		operand: slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !IsOperand(pod) }),
	}
}

// Now returns the moment, by the operator's clock.
func (v *View) Now() time.Time { return v.now }

// Record returns the lease.
func (v *View) Record() Record { return v.record }

// Topology returns the topology of the control plane.
func (v *View) Topology() configv1.TopologyMode { return v.topology }

// StaticPods returns the operand's mirror pods.
func (v *View) StaticPods() []*corev1.Pod { return v.operand }

// Predecessors returns the pods of the predecessor that may still run, sorted by name.
func (v *View) Predecessors() []*corev1.Pod { return v.predecessors }

// StaticPod returns the operand's mirror pod on a node, nil if there is none.
func (v *View) StaticPod(node string) *corev1.Pod {
	for _, pod := range v.operand {
		if pod.Spec.NodeName == node {
			return pod
		}
	}
	return nil
}

// Duration returns how long the lease lasts after a renewal by a process of ours.
func (v *View) Duration() time.Duration { return v.record.Duration(v.topology) }

// On returns the view with the pods on these nodes only: a mirror pod outlives its Node by a minute. vanished are the
// Nodes that were deleted while they ran a pod of the operand. Only a holder on one of them is CutOff.
func (v *View) On(isNode func(name string) bool, vanished []string) View {
	seen := *v
	seen.vanished = vanished
	seen.operand = slices.DeleteFunc(slices.Clone(v.operand), func(pod *corev1.Pod) bool {
		return !isNode(pod.Spec.NodeName)
	})
	return seen
}

// StaticPod returns the operand's mirror pod on a node from a cache, nil if there is none.
func StaticPod(pods corev1listers.PodLister, node string) (*corev1.Pod, error) {
	name := operand.Name + "-" + node
	pod, err := pods.Pods(operand.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod/%s in %s: %w", name, operand.Namespace, err)
	}
	return pod, nil
}
