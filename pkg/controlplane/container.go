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

// ContainerStatus returns the status of a static pod's cloud-controller-manager, empty if pod is nil or the kubelet has
// not reported one.
func ContainerStatus(pod *corev1.Pod) corev1.ContainerStatus {
	if pod == nil {
		return corev1.ContainerStatus{}
	}
	return first(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == operand.Name })
}

// Terminated returns the container's last termination, nil if there is none.
func Terminated(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if container.State.Terminated != nil {
		return container.State.Terminated
	}
	return container.LastTerminationState.Terminated
}

// Signal returns the signal that ended a run, 0 if none did: the exit code is then 128 more (signal(7)).
func Signal(run *corev1.ContainerStateTerminated) int32 {
	const signaled, last = 128, 64
	if run.Signal == 0 && run.ExitCode > signaled && run.ExitCode <= signaled+last {
		return run.ExitCode - signaled
	}
	return run.Signal
}

// IsLost reports whether nobody saw a run end: containerd did not find the container when it started, or the kubelet
// did not, as after a reboot of the node. The message may be the end of a log that tells no failure.
func IsLost(run *corev1.ContainerStateTerminated) bool {
	return strings.HasSuffix(run.Reason, "Unknown")
}

// HasEnded reports whether a pod that runs once has ended.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// CrashLoopBackOff is the kubelet's reason of a container that it does not start for now.
const CrashLoopBackOff = "CrashLoopBackOff"

// BackOffPeriod is how long a container must have run for its kubelet to start it again without a pause: twice the
// longest pause (pkg/kubelet/kubelet.go). What ends sooner and repeatedly crash-loops. Nobody asks that alone: a
// rollout asks whether the kubelet waits now, a move of the lead whether its next start would wait, a preflight how
// many ends count against a revision, availability whether the ends go on after an outage of the API server would have
// ended, and the cloud-node-manager's health what restarts say about pods that nobody has watched.
const BackOffPeriod = 10 * time.Minute

// IsInBackOff reports whether the kubelet does not start a container for now.
func IsInBackOff(container corev1.ContainerStatus) bool {
	return container.State.Waiting != nil && container.State.Waiting.Reason == CrashLoopBackOff
}

// IsStuck reports whether a container waits for something other than its turn or its start, such as its image.
func IsStuck(status corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && !slices.Contains([]string{"", "PodInitializing", "ContainerCreating"}, waiting.Reason)
}
