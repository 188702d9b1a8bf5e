// Package controlplane is a model of the control plane, made from the caches and the operator's clock. Controllers ask
// it instead of computing the same fact each: whether a Node or a Pod is Ready, what an installer pod installs, and the
// operand's lease: who holds it, since when, whether it is renewed, and whether the process behind it has ended.
package controlplane

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// IsReady reports whether the kubelet reports a pod as Ready.
func IsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ContainerStatus returns the status of the named container, empty if the kubelet has not reported one.
func ContainerStatus(pod *corev1.Pod, name string) corev1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == name {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// Terminated returns the container's last termination, nil if there is none.
func Terminated(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

// HasEnded reports whether a pod that runs once has ended.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsStuck reports whether a container waits for something other than its turn or its start, such as its image.
func IsStuck(status corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && !slices.Contains([]string{"", "PodInitializing", "ContainerCreating"}, waiting.Reason)
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
