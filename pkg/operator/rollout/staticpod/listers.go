package staticpod

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	applyoperatorv1 "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listerview"
)

// sortedNodes returns a factory with only the informer of Nodes, whose lister sorts them by name. library-go's node
// controller composes a condition and an event from the Nodes in the cache's order, which differs from call to call.
func sortedNodes(nodes corev1informers.NodeInformer) informers.SharedInformerFactory {
	return having(&corev1.Node{}, &listerview.Informer[*corev1.Node]{
		SharedIndexInformer: nodes.Informer(),
		View: func(nodes []*corev1.Node) []*corev1.Node {
			slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
			return nodes
		},
	})
}

// currentInstallers returns a factory with only the informers of ConfigMaps and of Pods, without the installer pods
// whose static pod may be missing: the Node is gone, or has registered again since they ended, or a move of the lead
// removes the manifest for a moment. library-go's missing-static-pod controller would report it, with a wrong time.
func currentInstallers(d dependencies.Deps) informers.SharedInformerFactory {
	pods, nodes := d.Target.Core().V1().Pods().Informer(), d.Nodes.Lister()
	withoutOld := func(pods []*corev1.Pod) []*corev1.Pod {
		moving := map[string]bool{}
		for _, pod := range pods {
			isMove := pod.Labels["app"] == controlplane.HandoverApp
			if isMove && d.Clock.Since(pod.CreationTimestamp.Time) < controlplane.MoveTimeout {
				moving[pod.Spec.NodeName] = true
			}
		}
		return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
			node, err := nodes.Get(pod.Spec.NodeName)
			return err != nil || node.CreationTimestamp.After(pod.CreationTimestamp.Time) || moving[pod.Spec.NodeName]
		})
	}
	current := having(&corev1.Pod{}, &listerview.Informer[*corev1.Pod]{
		SharedIndexInformer: pods, View: withoutOld, Synced: d.Nodes.Informer().HasSynced,
	})
	configMaps := d.Target.Core().V1().ConfigMaps().Informer()
	current.InformerFor(&corev1.ConfigMap{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return configMaps
	})
	return current
}

// having returns a factory that has an informer of an object's kind. Another factory runs it.
func having(object runtime.Object, informer cache.SharedIndexInformer) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(nil, 0)
	factory.InformerFor(object, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer })
	return factory
}

// sortedLines sorts the lines of conditions: library-go's missing-static-pod controller composes one from a map.
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

// noEvents is what library-go's installer-state controller gets when it looks for pods without a network: installer
// pods are on the host's, and the cloud-controller-manager may write large Events.
type noEvents struct{ corev1client.EventInterface }

func (noEvents) Events(string) corev1client.EventInterface { return noEvents{} }

func (noEvents) List(context.Context, metav1.ListOptions) (*corev1.EventList, error) {
	return &corev1.EventList{}, nil
}
