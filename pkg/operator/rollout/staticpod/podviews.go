package staticpod

import (
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	// settlePeriod is how long the operand's container must have been Ready before a rollout goes on with the next node.
	// A cloud-controller-manager that cannot work with its new configuration often becomes Ready, fails and exits.
	settlePeriod = 5 * time.Second

	// startGrace is how long the containers of a new static pod may wait to be created. Their images are on the node.
	startGrace = 30 * time.Second
)

// settling is how the installer controller sees static pods. The one of a node that is being installed is Ready only
// after its container has been Ready for settlePeriod, so a container that ends before that stops the rollout on its
// node. The time is the operator's own, because the clocks of the nodes may differ from it: library-go's
// minReadyDuration compares them. The pods of other nodes are as they are: the controller starts a rollout with a node
// that is not Ready, which would be the leader's if its container was restarted a moment ago.
type settling struct {
	dependencies.Deps

	mutex sync.Mutex
	// ready has, by pod name, the IDs of the Ready containers.
	ready patience.Each[string, string]
}

func (s *settling) view(pod *corev1.Pod) (*corev1.Pod, error) {
	if s.isSettled(pod) {
		return pod, nil
	}
	_, status, _, err := s.Operator.GetStaticPodOperatorState()
	if err != nil || controlplane.TargetRevision(status, pod.Spec.NodeName) == 0 {
		return pod, err
	}
	pod = pod.DeepCopy()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			c.Status, c.Reason = corev1.ConditionFalse, "NotSettled"
		}
	}
	return pod, nil
}

// isSettled records the operand's container of a pod and reports whether it has been Ready for settlePeriod.
func (s *settling) isSettled(pod *corev1.Pod) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	container := controlplane.ContainerStatus(pod, operand.Name)
	if !container.Ready {
		delete(s.ready, pod.Name)
		return false
	}
	return s.Clock.Since(s.ready.See(pod.Name, container.ContainerID, s.Clock.Now())) >= settlePeriod
}

// remaining returns the time until another pod counts as Ready, 0 if there is none.
func (s *settling) remaining() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	least := time.Duration(0)
	for _, container := range s.ready {
		least = patience.Sooner(least, settlePeriod-s.Clock.Since(container.At()))
	}
	return least
}

// rolling is how library-go's static-pod-state controller sees static pods: without what a rollout does on purpose. The
// installer ends the static pod of the former revision, and the containers of the next one have to be created.
// library-go reports both as StaticPodsDegraded, on each node of each rollout. A move of the lead ends static pods on
// purpose too.
type rolling struct{ dependencies.Deps }

// view implements nodePods.view.
func (r rolling) view(pod *corev1.Pod) (*corev1.Pod, error) {
	seen, err := r.View()
	if err != nil {
		return nil, err
	}
	target, moves := seen.Revisions(pod.Spec.NodeName).TargetRevision, seen.Moves()
	hasMoved := slices.ContainsFunc(moves, func(m *corev1.Pod) bool { return m.Spec.NodeName == pod.Spec.NodeName })
	isEnded := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && controlplane.EndedByMove(c.State.Terminated, pod.Spec.NodeName, moves)
	})
	// The installer does not cause a back-off, and may have to wait for long before it replaces the pod: for an image, or
	// for its kubelet.
	isReplaced := target != 0 && pod.Labels["revision"] != strconv.Itoa(int(target)) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, controlplane.IsInBackOff)
	switch {
	case isEnded || isReplaced:
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	case target == 0 && !hasMoved:
		return pod, nil
	case r.Clock.Since(pod.CreationTimestamp.Time).Abs() < startGrace: // the API server's clock may be ahead
		return withoutCreation(pod), nil
	}
	return pod, nil
}

// withoutCreation returns the pod with containers that are being created as initializing, which is no failure.
func withoutCreation(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && waiting.Reason == "ContainerCreating" {
			waiting.Reason = "PodInitializing"
		}
	}
	return pod
}
