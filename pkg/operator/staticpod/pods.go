package staticpod

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/terminationmessage"
)

// nodePods are the pods of one namespace as library-go's static-pod controllers get to see and to make them.
//
// It reads from a lister: the controllers look at each node's pod at least once a minute, and an idle operator is to make
// no requests. Only installer pods are read live, because the installer controller takes one that it has just made and does
// not find for one that has failed.
//
// It adapts the pods that they create, see adapt, and shortens what containers left behind, see summarized.
type nodePods struct {
	corev1client.PodsGetter
	lister corelisters.PodLister
	server func() (*url.URL, error)
	// image is this operator's, from which these pods run. library-go reads it from its environment.
	image string
}

// Pods implements corev1client.PodsGetter.
func (p nodePods) Pods(namespace string) corev1client.PodInterface {
	return namespacedNodePods{PodInterface: p.PodsGetter.Pods(namespace), lister: p.lister.Pods(namespace), server: p.server, image: p.image}
}

type namespacedNodePods struct {
	corev1client.PodInterface
	lister corelisters.PodNamespaceLister
	server func() (*url.URL, error)
	image  string
}

func (p namespacedNodePods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	if strings.HasPrefix(name, "installer-") {
		return p.PodInterface.Get(ctx, name, options)
	}
	pod, err := p.lister.Get(name)
	if err != nil {
		return nil, err
	}
	return summarized(pod), nil
}

// summarized returns a copy of the pod in which each termination message is its one line that matters. library-go
// copies messages into conditions: the tail of a log is mostly noise and may quote secrets. A container that waits for
// the end of a back-off reports why it exited, instead of how long it waits.
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
	waiting := status.State.Waiting
	if waiting != nil && waiting.Reason == "CrashLoopBackOff" && last != nil && last.Message != "" {
		waiting.Message = last.Message
	}
}

func (p namespacedNodePods) List(_ context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
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

func (p namespacedNodePods) Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error) {
	server, err := p.server()
	if err != nil {
		return nil, err
	}
	adapted := pod.DeepCopy()
	adapt(adapted, server, p.image)
	return p.PodInterface.Create(ctx, adapted, options)
}

// adapt makes an installer or pruner pod fit for a node that no cloud-controller-manager has initialised yet: such a node
// has no pod network and no service network, so the pod uses the node's own and asks the API server where the control
// plane asks it. Besides it claims its share of the processors for management, requests without limits, and names the
// security context constraints that its ServiceAccount may use.
func adapt(pod *corev1.Pod, server *url.URL, image string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["openshift.io/required-scc"] = "privileged"
	pod.Annotations["target.workload.openshift.io/management"] = `{"effect": "PreferredDuringScheduling"}`
	pod.Spec.HostNetwork = true
	pod.Spec.DNSPolicy = corev1.DNSDefault
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		container.Image = image
		container.Resources.Limits = nil
		container.Env = append(container.Env, operand.APIServerEnv(server)...)
	}
}
