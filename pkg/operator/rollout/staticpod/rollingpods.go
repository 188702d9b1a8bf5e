package staticpod

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// startGrace is how long the containers of a new static pod may wait to be created. Their images are on the node.
const startGrace = 30 * time.Second

// rollingPods is the pod client of library-go's static-pod-state controller. It hides what a rollout does on purpose:
// the installer ends the static pod of the former revision, and the containers of the next one have to be created.
// library-go reports both as StaticPodsDegraded, on each node of each rollout. A move of the lead ends static pods on
// purpose too.
type rollingPods struct {
	corev1client.PodsGetter
	clock clock.PassiveClock
	// moves has the pods that move the lead.
	moves corev1listers.PodLister
	// target returns the revision that is being installed on a node, 0 if none is.
	target func(node string) (int32, error)
}

func newRollingPods(o Options, pods corev1client.PodsGetter) rollingPods {
	return rollingPods{
		PodsGetter: pods, clock: o.Clock, target: targetOf(o.Operator), moves: o.Target.Core().V1().Pods().Lister(),
	}
}

// targetOf returns the function that reads target revisions from the operator's status.
func targetOf(operator v1helpers.StaticPodOperatorClient) func(node string) (int32, error) {
	return func(node string) (int32, error) {
		_, status, _, err := operator.GetStaticPodOperatorState()
		if err != nil {
			return 0, err
		}
		return controlplane.TargetRevision(status, node), nil
	}
}

// Pods implements corev1client.PodsGetter.
func (r rollingPods) Pods(namespace string) corev1client.PodInterface {
	return namespacedRollingPods{PodInterface: r.PodsGetter.Pods(namespace), rollingPods: r}
}

type namespacedRollingPods struct {
	corev1client.PodInterface
	rollingPods
}

func (p namespacedRollingPods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	pod, err := p.PodInterface.Get(ctx, name, options)
	if err != nil || !controlplane.IsOperand(pod) {
		return pod, err
	}
	target, err := p.target(pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	moved, ended, err := p.isMoved(pod)
	switch {
	case err != nil:
		return nil, err
	case ended:
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	case target == 0 && !moved:
		return pod, nil
	case target != 0 && pod.Labels["revision"] != strconv.Itoa(int(target)) && !isInBackOff(pod):
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	case p.clock.Since(pod.CreationTimestamp.Time).Abs() < startGrace: // the API server's clock may be ahead
		return withoutCreation(pod), nil
	}
	return pod, nil
}

// isMoved reports whether the lead has moved on the node of the pod, and whether that has ended the pod.
func (p namespacedRollingPods) isMoved(pod *corev1.Pod) (moved, ended bool, err error) {
	moves, err := controlplane.Moves(p.moves)
	if err != nil {
		return false, false, err
	}
	moved = slices.ContainsFunc(moves, func(m *corev1.Pod) bool { return m.Spec.NodeName == pod.Spec.NodeName })
	ended = slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && controlplane.EndedByMove(c.State.Terminated, pod.Spec.NodeName, moves)
	})
	return moved, ended, nil
}

// isInBackOff reports whether a container of the pod keeps exiting. The installer does not cause that, and may have to
// wait for long before it replaces the pod: for an image, or for its kubelet.
func isInBackOff(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, controlplane.IsInBackOff)
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
