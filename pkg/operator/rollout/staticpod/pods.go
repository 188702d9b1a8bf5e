package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandlog"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// nodePods is the pod client of library-go's static-pod controllers. It reads from a lister, because they read each
// node's pod at least once a minute. Only installer pods are read live: the installer controller warns with an event if
// it does not find one that it has just created. It adapts created pods, and summarizes termination messages.
type nodePods struct {
	corev1client.PodInterface
	options
	lister corelisters.PodNamespaceLister
	server func() (*url.URL, error)
	// view returns a static pod as the controller is to see it, nil for unchanged.
	view func(pod *corev1.Pod) (*corev1.Pod, error)
}

func nodePodsOf(o options, server func() (*url.URL, error)) nodePods {
	return nodePods{
		PodInterface: o.Kube.CoreV1().Pods(operand.Namespace), options: o, server: server,
		lister: o.Target.Core().V1().Pods().Lister().Pods(operand.Namespace),
	}
}

func (p nodePods) seenAs(view func(pod *corev1.Pod) (*corev1.Pod, error)) nodePods {
	p.view = view
	return p
}

// Pods returns the client of the operand's namespace, the only one that the controllers use.
func (p nodePods) Pods(string) corev1client.PodInterface { return p }

func (p nodePods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	if _, isInstaller := controlplane.InstallerRevision(name); isInstaller {
		pod, err := p.PodInterface.Get(ctx, name, options)
		if err == nil && controlplane.IsMirror(pod) {
			pod, err = nil, cmp.Or(p.deleteMirror(ctx, pod), notFound(name))
		}
		if err != nil {
			return nil, err
		}
		return withInitFailures(pod), nil
	}
	pod, err := p.lister.Get(name)
	if err != nil {
		return nil, err
	}
	if pod = summarized(pod); p.view == nil || !controlplane.IsOperand(pod) {
		return pod, nil
	}
	return p.view(pod)
}

// deleteMirror deletes a mirror pod, which any kubelet may create under the name of an installer. It does not wait for
// that kubelet: the installer is created next.
func (p nodePods) deleteMirror(ctx context.Context, pod *corev1.Pod) error {
	return operatorclient.Delete(ctx, p.Delete, "pod", pod.Namespace, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
}

func notFound(pod string) error { return apierrors.NewNotFound(corev1.Resource("pods"), pod) }

// withInitFailures adds a failed pod's failed init containers to the containers, whose messages library-go quotes.
func withInitFailures(pod *corev1.Pod) *corev1.Pod {
	if pod.Status.Phase != corev1.PodFailed {
		return pod
	}
	pod = pod.DeepCopy()
	for _, status := range pod.Status.InitContainerStatuses {
		if terminated := status.State.Terminated; terminated != nil && terminated.ExitCode != 0 {
			summarize(&status)
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		}
	}
	return pod
}

// summarized returns a copy of the pod with each termination message reduced to its relevant line: library-go copies
// messages into conditions, and the tail of a log is mostly noise and may quote secrets. A container in back-off
// reports why it exited instead of the delay.
func summarized(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			summarize(&statuses[i])
		}
	}
	return pod
}

func summarize(status *corev1.ContainerStatus) {
	last := status.LastTerminationState.Terminated
	for _, terminated := range []*corev1.ContainerStateTerminated{status.State.Terminated, last} {
		if terminated != nil {
			terminated.Message = terminationmessage.Summary(operandlog.OfRun(terminated, ""))
		}
	}
	if controlplane.IsInBackOff(*status) && last != nil && last.Message != "" {
		status.State.Waiting.Message = last.Message
	}
}

// List omits mirror pods. Only installers are listed.
func (p nodePods) List(_ context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("listing pods by labels %q: %w", options.LabelSelector, err)
	}
	pods, err := p.lister.List(selector)
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	for _, pod := range pods {
		if !controlplane.IsMirror(pod) {
			list.Items = append(list.Items, *summarized(pod))
		}
	}
	return list, nil
}

func (p nodePods) Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error) {
	server, err := p.server()
	if err != nil {
		return nil, err
	}
	adapted := pod.DeepCopy()
	adapt(adapted, server, p.image)
	return p.PodInterface.Create(ctx, adapted, options)
}

// adapt prepares an installer or pruner pod for an uninitialized node, which has neither a pod nor a service network.
func adapt(pod *corev1.Pod, server *url.URL, image string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, hostpod.Annotations())
	pod.Spec.HostNetwork = true
	pod.Spec.DNSPolicy = corev1.DNSDefault
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.Image = image
		container.Resources.Limits = nil
		container.Env = append(container.Env, operand.APIServerEnv(server)...)
	}
}

const (
	// settlePeriod is how long the operand's container must be Ready before a rollout goes on with the next node. A CCM
	// that cannot work with its new configuration often becomes Ready, fails and exits.
	settlePeriod = 5 * time.Second

	// startGrace is how long the containers of a new static pod may wait to be created. Their images are on the node.
	startGrace = 30 * time.Second
)

// settling is how the installer controller sees static pods. On a node that is being installed, the static pod is Ready
// only after its container has been Ready for settlePeriod by the operator's clock; library-go's minReadyDuration
// compares that clock with the node's. Other pods are unchanged: the controller starts a rollout with a node that is
// not Ready, and the leader is not Ready for a moment after a restart of its container.
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
	if err != nil || controlplane.StatusOf(status, pod.Spec.NodeName).TargetRevision == 0 {
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

// isSettled reports whether the operand's container of a pod has been Ready for settlePeriod.
func (s *settling) isSettled(pod *corev1.Pod) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	container := controlplane.ContainerStatus(pod)
	if !container.Ready {
		delete(s.ready, pod.Name)
		return false
	}
	return s.Clock.Since(s.ready.See(pod.Name, container.ContainerID, s.Clock.Now())) >= settlePeriod
}

// remaining returns the time until another pod counts as Ready, 0 for never.
func (s *settling) remaining() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	least := time.Duration(0)
	for _, container := range s.ready {
		least = patience.Sooner(least, settlePeriod-s.Clock.Since(container.At()))
	}
	return least
}

// rolling is how library-go's static-pod-state controller sees static pods: without those that a rollout or a move ends
// on purpose, or whose containers are being created. It would report each as StaticPodsDegraded.
type rolling struct{ dependencies.Deps }

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
	// The installer causes no back-off, and may wait for an image, or its kubelet, before it replaces the pod.
	isReplaced := target != 0 && !controlplane.HasRevision(pod, target) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, controlplane.IsInBackOff)
	switch {
	case isEnded || isReplaced:
		return nil, notFound(pod.Name)
	case target == 0 && !hasMoved:
		return pod, nil
	case r.Clock.Since(pod.CreationTimestamp.Time).Abs() < startGrace: // the API server's clock may be ahead
		return withoutCreation(pod), nil
	}
	return pod, nil
}

// withoutCreation shows containers that are being created as initializing, which is no failure.
func withoutCreation(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && waiting.Reason == "ContainerCreating" {
			waiting.Reason = "PodInitializing"
		}
	}
	return pod
}
