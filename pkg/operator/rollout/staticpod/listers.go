package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
)

// sortedNodes returns the informers with Nodes in the order of their names. library-go's node controller composes a
// condition and an event from the Nodes in the cache's order, which differs from call to call.
func sortedNodes(o informers.SharedInformerFactory) informers.SharedInformerFactory {
	v1 := o.Core().V1()
	return withCore{o, withListers{Interface: v1, nodes: nodeInformer{v1.Nodes()}}}
}

// currentInstallers returns the informers without the installer pods whose Node has vanished, or has registered again
// since they ended: the static pod of the former Node cannot appear. library-go's missing-static-pod controller reports
// it nevertheless, and names a time that the Node has not existed for.
func currentInstallers(
	o informers.SharedInformerFactory, nodes corev1listers.NodeLister,
) informers.SharedInformerFactory {
	v1 := o.Core().V1()
	return withCore{o, withListers{Interface: v1, pods: podInformer{PodInformer: v1.Pods(), nodes: nodes}}}
}

// withCore, withListers and the informers below are informers with other listers.
type withCore struct {
	informers.SharedInformerFactory
	v1 corev1informers.Interface
}

func (w withCore) Core() core.Interface          { return w }
func (w withCore) V1() corev1informers.Interface { return w.v1 }

type withListers struct {
	corev1informers.Interface
	nodes corev1informers.NodeInformer
	pods  corev1informers.PodInformer
}

func (w withListers) Nodes() corev1informers.NodeInformer {
	return cmp.Or(w.nodes, w.Interface.Nodes())
}
func (w withListers) Pods() corev1informers.PodInformer { return cmp.Or(w.pods, w.Interface.Pods()) }

type nodeInformer struct{ corev1informers.NodeInformer }

func (i nodeInformer) Lister() corev1listers.NodeLister { return nodeLister{i.NodeInformer.Lister()} }

type nodeLister struct{ corev1listers.NodeLister }

func (l nodeLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	nodes, err := l.NodeLister.List(selector)
	return slices.SortedFunc(slices.Values(nodes), func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) }), err
}

type podInformer struct {
	corev1informers.PodInformer
	nodes corev1listers.NodeLister
}

func (i podInformer) Lister() corev1listers.PodLister {
	return podLister{PodLister: i.PodInformer.Lister(), nodes: i.nodes}
}

type podLister struct {
	corev1listers.PodLister
	nodes corev1listers.NodeLister
}

func (l podLister) Pods(namespace string) corev1listers.PodNamespaceLister {
	return podNamespaceLister{PodNamespaceLister: l.PodLister.Pods(namespace), nodes: l.nodes}
}

type podNamespaceLister struct {
	corev1listers.PodNamespaceLister
	nodes corev1listers.NodeLister
}

func (l podNamespaceLister) List(selector labels.Selector) ([]*corev1.Pod, error) {
	pods, err := l.PodNamespaceLister.List(selector)
	if err != nil {
		return nil, err
	}
	var current []*corev1.Pod
	for _, pod := range pods {
		node, err := l.nodes.Get(pod.Spec.NodeName)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading node/%s: %w", pod.Spec.NodeName, err)
		}
		if err == nil && !node.CreationTimestamp.After(pod.CreationTimestamp.Time) {
			current = append(current, pod)
		}
	}
	return current, nil
}

// sortedLines sorts the lines of conditions. library-go's missing-static-pod controller composes one from a map.
type sortedLines struct {
	v1helpers.StaticPodOperatorClient
}

func (c sortedLines) ApplyOperatorStatus(
	ctx context.Context, fieldManager string, status *applyoperatorv1.OperatorStatusApplyConfiguration,
) error {
	for i := range status.Conditions {
		if message := status.Conditions[i].Message; message != nil {
			lines := strings.Split(*message, "\n")
			slices.Sort(lines)
			status.Conditions[i].WithMessage(strings.Join(lines, "\n"))
		}
	}
	return c.StaticPodOperatorClient.ApplyOperatorStatus(ctx, fieldManager, status)
}
