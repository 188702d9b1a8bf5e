package controlplane

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	configlisters "github.com/openshift/client-go/config/listers/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// Pods are those that may hold the lease.
type Pods struct {
	// Operand are the operand's mirror pods, Predecessors the pods of the predecessor.
	Operand, Predecessors []*corev1.Pod
	// Vanished are deleted Nodes that ran a pod of the operand.
	Vanished []string
	Topology configv1.TopologyMode
}

// operandSelector selects the operand's mirror pods.
var operandSelector = labels.SelectorFromSet(labels.Set{"app": operand.Name})

// IsOperand reports whether a pod is a mirror pod of the operand.
func IsOperand(pod *corev1.Pod) bool { return operandSelector.Matches(labels.Set(pod.Labels)) }

// ListPods returns the pods that may hold the lease, without the Nodes that vanished. The topology is "" if the
// Infrastructure does not exist.
func ListPods(pods corev1listers.PodLister, infrastructures configlisters.InfrastructureLister) (Pods, error) {
	var found Pods
	var err error
	if found.Operand, err = pods.Pods(operand.Namespace).List(operandSelector); err != nil {
		return found, fmt.Errorf("listing pods in %s: %w", operand.Namespace, err)
	}
	if found.Predecessors, err = predecessor.Pods(pods); err != nil {
		return found, err
	}
	infrastructure, err := infrastructures.Get("cluster")
	if apierrors.IsNotFound(err) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("reading infrastructure/cluster: %w", err)
	}
	found.Topology = infrastructure.Status.ControlPlaneTopology
	return found, nil
}
