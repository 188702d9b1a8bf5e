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

// isUnwatched reports whether the pod ended while no operator watched it: this process found it so, or its deadline has
// passed. What the leader and the cloud did meanwhile is unknown, so the end tells nothing about the candidate.
func (s *state) isUnwatched() bool {
	hasEnded := s.pod.Status.Phase == corev1.PodFailed || s.pod.Status.Phase == corev1.PodSucceeded ||
		controlplane.ContainerStatus(s.pod, operand.Name).State.Terminated != nil
	if hasEnded && s.podSeen.Value() != string(s.pod.UID) {
		return true
	}
	s.podSeen.See(string(s.pod.UID), s.now)
	return hasEnded && s.pod.Status.Reason == deadlineExceeded
}

// runAgain replaces a pod that no operator watched, once: each run logs in to the cloud.
func (s *state) runAgain(ctx context.Context) (*trial.Verdict, string, error) {
	if s.pod.Annotations[operand.PreflightAgainAnnotation] != "" {
		e := &evidence{now: s.now, pod: s.pod, since: s.now}
		return e.verdict(trial.Inconclusive, notStarted,
			"pod/"+s.pod.Name+" ended twice while no operator watched it; check the pods of the operator"), "", nil
	}
	waitsFor := "the end of pod/" + s.pod.Name + ", which no operator watched"
	if err := s.deletePod(ctx); err != nil {
		return nil, waitsFor, err
	}
	s.record.Again = true
	return nil, waitsFor, s.record.Save(ctx, s.Kube.CoreV1())
}
