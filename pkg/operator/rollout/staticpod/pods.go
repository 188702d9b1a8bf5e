package staticpod

import (
	"context"
	"fmt"
	"maps"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// nodePods is the pod client of library-go's static-pod controllers.
//
// It reads from a lister: the controllers read each node's pod at least once a minute, and an idle operator must send
// no requests. It reads only installer pods live. The installer controller warns with an event about a pod that it has
// just created and does not find.
//
// It adapts the pods that the controllers create, see adapt, and shortens termination messages, see summarized.
type nodePods struct {
	corev1client.PodInterface
	lister corelisters.PodNamespaceLister
	server func() (*url.URL, error)
	// image is this operator's, which these pods run. library-go would read it from its environment.
	image string
	// view returns a static pod as the controller is to see it. It is nil if that is as it is.
	view func(pod *corev1.Pod) (*corev1.Pod, error)
}

func nodePodsOf(o options, server func() (*url.URL, error)) nodePods {
	return nodePods{
		PodInterface: o.Kube.CoreV1().Pods(operand.Namespace),
		lister:       o.Target.Core().V1().Pods().Lister().Pods(operand.Namespace),
		server:       server,
		image:        o.image,
	}
}

func (p nodePods) seenAs(view func(pod *corev1.Pod) (*corev1.Pod, error)) nodePods {
	p.view = view
	return p
}

// Pods implements corev1client.PodsGetter. The controllers use the operand's namespace only.
func (p nodePods) Pods(string) corev1client.PodInterface { return p }

func (p nodePods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	if _, isInstaller := controlplane.InstallerRevision(name); isInstaller {
		pod, err := p.PodInterface.Get(ctx, name, options)
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

// withInitFailures returns the pod with its failed init containers among its containers if it has failed. library-go
// quotes the termination messages of containers only.
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

// summarized returns a copy of the pod with each termination message reduced to its relevant line. library-go copies
// messages into conditions: the tail of a log is mostly noise and may quote secrets. A container in back-off reports
// why it exited instead of the delay.
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
			terminated.Message = terminationmessage.Summary(terminated.Message)
		}
	}
	if controlplane.IsInBackOff(*status) && last != nil && last.Message != "" {
		status.State.Waiting.Message = last.Message
	}
}

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
		list.Items = append(list.Items, *summarized(pod))
	}
	return list, nil
}

func (p nodePods) Create(
	ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions,
) (*corev1.Pod, error) {
	server, err := p.server()
	if err != nil {
		return nil, err
	}
	adapted := pod.DeepCopy()
	adapt(adapted, server, p.image)
	return p.PodInterface.Create(ctx, adapted, options)
}

// adapt prepares an installer or pruner pod for an uninitialized node. Such a node has neither a pod network nor a
// service network, so the pod uses the host network and the control plane's URL of the API server. adapt also sets
// the workload partitioning annotation, removes resource limits, and selects the security context constraints that
// the ServiceAccount may use. It leaves the init containers alone: pullImages sets their images, and they do not use
// the API server.
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
