package preflight

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// deadlineExceeded is the reason of a pod that its kubelet has ended at spec.activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go). An operator that watches the pod ends it sooner.
const deadlineExceeded = "DeadlineExceeded"

// isUnwatched reports whether a pod ended while no operator watched it: this process found it so, or its deadline has
// passed. What the leader and the cloud did meanwhile is unknown, so the end tells nothing about the candidate.
func (c *controller) isUnwatched(pod *corev1.Pod) bool {
	isFound := c.seen.Value() != string(pod.UID)
	if isFound && hasEnded(pod) {
		return true
	}
	c.seen.See(string(pod.UID), c.Clock.Now())
	return hasEnded(pod) && pod.Status.Reason == deadlineExceeded
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded ||
		controlplane.ContainerStatus(pod, operand.Name).State.Terminated != nil
}

// runAgain replaces a pod that no operator watched, once: each run logs in to the cloud.
func (c *controller) runAgain(
	ctx context.Context, record *trial.Record, pod *corev1.Pod,
) (*trial.Verdict, string, error) {
	if pod.Annotations[operand.PreflightAgainAnnotation] != "" {
		now := c.Clock.Now()
		e := &evidence{now: now, pod: pod, since: now}
		return e.verdict(trial.Inconclusive, notStarted,
			"pod/"+pod.Name+" ended twice while no operator watched it; check the pods of the operator"), "", nil
	}
	waitsFor := "the end of pod/" + pod.Name + ", which no operator watched"
	if err := c.deletePod(ctx, pod); err != nil {
		return nil, waitsFor, err
	}
	record.Again = true
	return nil, waitsFor, record.Save(ctx, c.Kube.CoreV1())
}
