package controlplane

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// HasRevision reports whether a static pod runs a revision.
func HasRevision(pod *corev1.Pod, revision int32) bool {
	return pod.Labels["revision"] == strconv.Itoa(int(revision))
}

// ContainerStatus returns the status of the cloud-controller-manager in a static pod. It is empty if pod is nil or the
// kubelet has not reported one.
func ContainerStatus(pod *corev1.Pod) corev1.ContainerStatus {
	if pod == nil {
		return corev1.ContainerStatus{}
	}
	return first(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == operand.Name })
}

// Terminated returns the container's last termination, or nil.
func Terminated(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

// Signal returns the signal that ended a run, or 0. The exit code of such a run is 128 plus the signal (signal(7)).
func Signal(run *corev1.ContainerStateTerminated) int32 {
	const signaled, last = 128, 64
	if run.Signal == 0 && run.ExitCode > signaled && run.ExitCode <= signaled+last {
		return run.ExitCode - signaled
	}
	return run.Signal
}

// IsLost reports whether the end of a run was not observed: containerd did not find the container after its own
// restart, or the kubelet did not, as after a reboot of the node. The message may be a log without a failure.
func IsLost(run *corev1.ContainerStateTerminated) bool {
	return strings.HasSuffix(run.Reason, "Unknown")
}

// HasEnded reports whether a pod that does not restart has ended.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// CrashLoopBackOff is the kubelet's reason for a container whose restart it delays.
const CrashLoopBackOff = "CrashLoopBackOff"

// BackOffPeriod is how long a container must have run for its kubelet to restart it without a delay: twice the maximum
// delay (pkg/kubelet/kubelet.go). A container that repeatedly ends sooner crash-loops. Each caller decides itself which
// ends it counts.
const BackOffPeriod = 10 * time.Minute

// IsInBackOff reports whether the kubelet delays the restart of a container.
func IsInBackOff(container corev1.ContainerStatus) bool {
	return container.State.Waiting != nil && container.State.Waiting.Reason == CrashLoopBackOff
}

// IsStuck reports whether a container waits for something other than its normal start, for example its image.
func IsStuck(status corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && !slices.Contains([]string{"", "PodInitializing", "ContainerCreating"}, waiting.Reason)
}
