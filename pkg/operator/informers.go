package operator

import (
	"time"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/staticresources"
)

const (
	// resync is how often informers hand out again what they know; it makes no request.
	resync = 10 * time.Minute

	// minWatch is how long a watch lasts at least, and at most twice that. client-go's own 5 minutes would make most of
	// the requests of an idle operator.
	minWatch = 30 * time.Minute

	masterLabel = "node-role.kubernetes.io/master="
)

// informerSet is every informer factory of the operator, each limited to what is needed.
type informerSet struct {
	target        informers.SharedInformerFactory
	namespace     informers.SharedInformerFactory
	operator      informers.SharedInformerFactory
	userConfig    informers.SharedInformerFactory
	managedConfig informers.SharedInformerFactory
	kubeSystem    informers.SharedInformerFactory
	nodes         informers.SharedInformerFactory
	bindings      informers.SharedInformerFactory

	// These run only where the platform needs them.
	policies    informers.SharedInformerFactory
	nodeManager informers.SharedInformerFactory

	config          configinformers.SharedInformerFactory
	clusterOperator configinformers.SharedInformerFactory
}

func newInformerSet(kube kubernetes.Interface, config configclient.Interface) informerSet {
	return informerSet{
		target: targetInformers(kube),
		namespace: informers.NewSharedInformerFactoryWithOptions(kube, resync,
			informers.WithTweakListOptions(named(operatorclient.TargetNamespace)), informers.WithTransform(stripManagedFields)),
		operator:      namespaced(kube, operatorclient.OperatorNamespace, named(servingcert.SignerSecret)),
		userConfig:    namespaced(kube, operatorclient.UserConfigNamespace, longWatch),
		managedConfig: namespaced(kube, operatorclient.ManagedConfigNamespace, named(operatorclient.ManagedCloudConfig)),
		kubeSystem:    namespaced(kube, operatorclient.KubeSystemNamespace, named(operatorclient.APIServerAuthentication)),
		nodes: informers.NewSharedInformerFactoryWithOptions(kube, resync,
			informers.WithTweakListOptions(labelled(masterLabel)), informers.WithTransform(stripNode)),
		bindings:    staticresources.NewInformers(kube, longWatch),
		policies:    staticresources.NewInformers(kube, longWatch),
		nodeManager: namespaced(kube, operatorclient.TargetNamespace, named(operand.NodeManager)),
		config: configinformers.NewSharedInformerFactoryWithOptions(config, resync,
			configinformers.WithTweakListOptions(longWatch), configinformers.WithTransform(stripManagedFields)),
		clusterOperator: configinformers.NewSharedInformerFactoryWithOptions(config, resync,
			configinformers.WithTweakListOptions(named(operatorclient.ClusterOperator)), configinformers.WithTransform(stripManagedFields)),
	}
}

// targetInformers are those of the operand's namespace. Its Pods are without the cloud-node-managers, of which every Linux node
// has one: memory and the wake-ups of the controllers that watch Pods would grow with the number of workers.
func targetInformers(kube kubernetes.Interface) informers.SharedInformerFactory {
	target := namespaced(kube, operatorclient.TargetNamespace, longWatch)
	// The factory keeps the informer that it has first; Core().V1().Pods() returns this one from now on.
	target.InformerFor(&corev1.Pod{}, func(kube kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return corev1informers.NewFilteredPodInformer(kube, operatorclient.TargetNamespace, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, labelled("k8s-app!="+operand.NodeManager))
	})
	return target
}

func namespaced(kube kubernetes.Interface, namespace string, tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, resync, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(tweak), informers.WithTransform(stripManagedFields))
}

// byNamespace are the informers that library-go's cached getters read. The constructor is called a fake, but its type is
// the real one; the others leave no room for options.
func (i informerSet) byNamespace() v1helpers.KubeInformersForNamespaces {
	return v1helpers.NewFakeKubeInformersForNamespaces(map[string]informers.SharedInformerFactory{
		operatorclient.TargetNamespace: i.target,
	})
}

// start starts every informer that somebody has asked for.
func (i informerSet) start(stop <-chan struct{}) {
	for _, factory := range []interface{ Start(<-chan struct{}) }{
		i.target, i.namespace, i.operator, i.userConfig, i.managedConfig, i.kubeSystem, i.nodes, i.bindings, i.config, i.clusterOperator,
	} {
		factory.Start(stop)
	}
}

// longWatch makes a watch last between minWatch and twice that. The spread keeps watches from ending together.
func longWatch(options *metav1.ListOptions) {
	if options.TimeoutSeconds != nil {
		seconds := int64(minWatch / time.Second)
		options.TimeoutSeconds = ptr.To(seconds + rand.Int63nRange(0, seconds))
	}
}

// named limits a list or watch to one object.
func named(name string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		longWatch(options)
	}
}

func labelled(selector string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) {
		options.LabelSelector = selector
		longWatch(options)
	}
}

// stripManagedFields drops what no controller reads and the API server does not take back.
func stripManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// stripNode keeps of a Node what the static-pod controllers and availability read: its name, its labels, its conditions and
// whether it is cordoned.
func stripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:            node.Name,
			UID:             node.UID,
			ResourceVersion: node.ResourceVersion,
			Labels:          node.Labels,
		},
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status: corev1.NodeStatus{Conditions: node.Status.Conditions},
	}, nil
}
