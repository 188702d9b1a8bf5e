package operator

import (
	"time"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/informers"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/filteredwatch"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/ondemand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/admissionpolicies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/resources/staticresources"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/rollout/maskedpods"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// A resync sends no request.
	resync = 10 * time.Minute

	// minWatch is the minimum duration of a watch; the maximum is twice that. With client-go's 5 minutes, renewed watches
	// would be most of an idle operator's requests.
	minWatch = 30 * time.Minute
)

// informerSet has every informer factory of the operator, each limited to the objects that the operator reads.
type informerSet struct {
	target        *maskedpods.Informers
	lease         informers.SharedInformerFactory
	preflight     informers.SharedInformerFactory
	namespace     informers.SharedInformerFactory
	operator      informers.SharedInformerFactory
	userConfig    *ondemand.ConfigMaps
	managedConfig informers.SharedInformerFactory
	kubeSystem    informers.SharedInformerFactory
	nodes         informers.SharedInformerFactory
	bindings      informers.SharedInformerFactory

	// The on-demand informers run only on platforms that need them, pki only with its feature gate.
	policies           informers.SharedInformerFactory
	kubeSystemBindings informers.SharedInformerFactory
	nodeManager        informers.SharedInformerFactory
	allNodes           informers.SharedInformerFactory
	pki                configinformers.SharedInformerFactory

	config          configinformers.SharedInformerFactory
	clusterOperator configinformers.SharedInformerFactory
}

func newInformerSet(kube kubernetes.Interface, config configclient.Interface) informerSet {
	return informerSet{
		target:    targetInformers(kube),
		lease:     namespaced(kube, operand.Namespace, named(operand.Lease)),
		preflight: namespaced(kube, operand.Namespace, named(operand.PreflightName)),
		namespace: clusterScoped(kube, named(operand.Namespace)),
		operator:  namespaced(kube, operatorclient.OperatorNamespace, named(servingcert.SignerSecret)),
		userConfig: ondemand.NewConfigMaps(func(name string) cache.SharedIndexInformer {
			return namespaced(kube, operatorclient.UserConfigNamespace, named(name)).Core().V1().ConfigMaps().Informer()
		}),
		managedConfig: namespaced(
			kube, operatorclient.ManagedConfigNamespace, named(operatorclient.ManagedCloudConfig)),
		kubeSystem: namespaced(
			kube, operatorclient.KubeSystemNamespace, named(operatorclient.APIServerAuthentication)),
		nodes:    controlPlaneNodes(kube),
		bindings: clusterScoped(kube, labelled(staticresources.Selector)),
		policies: clusterScoped(kube, labelled(admissionpolicies.Selector)),
		kubeSystemBindings: namespaced(
			kube, operatorclient.KubeSystemNamespace, labelled(staticresources.Selector)),
		nodeManager: namespaced(kube, operand.Namespace, named(operand.NodeManager)),
		allNodes: informers.NewSharedInformerFactoryWithOptions(
			kube, resync, informers.WithTransform(nodedeletion.StripNode)),
		pki:             ofConfig(config, operatorclient.Instance),
		config:          ofConfig(config, operatorclient.Instance),
		clusterOperator: ofConfig(config, operatorclient.ClusterOperator),
	}
}

func ofConfig(config configclient.Interface, name string) configinformers.SharedInformerFactory {
	return configinformers.NewSharedInformerFactoryWithOptions(config, resync,
		configinformers.WithTweakListOptions(named(name)), configinformers.WithTransform(stripManagedFields))
}

// controlPlaneNodes returns the informers of the control-plane Nodes, whose handlers get no heartbeats.
func controlPlaneNodes(kube kubernetes.Interface) informers.SharedInformerFactory {
	nodes := informers.NewSharedInformerFactoryWithOptions(kube, resync, informers.WithTransform(stripNode))
	// The factory keeps its first informer of a type; Core().V1().Nodes() returns this one from now on.
	nodes.InformerFor(&corev1.Node{}, func(kube kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return &filteredwatch.Updates{Matters: isChange, SharedIndexInformer: corev1informers.NewFilteredNodeInformer(
			kube, resync, cache.Indexers{}, labelled(operatorclient.MasterLabel+"="))}
	})
	return nodes
}

// everyNode returns the informer of allNodes without an index by namespace, which only costs memory for Nodes.
func (i informerSet) everyNode() cache.SharedIndexInformer {
	unindexed := func(kube kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return corev1informers.NewFilteredNodeInformer(kube, resync, cache.Indexers{}, longWatch)
	}
	return i.allNodes.InformerFor(&corev1.Node{}, unindexed)
}

// targetInformers returns the informers of the operand's namespace. Its Pods exclude the cloud-node-managers, which run
// on every Linux node: memory and the events of controllers that watch Pods would grow with the number of workers.
func targetInformers(kube kubernetes.Interface) *maskedpods.Informers {
	return maskedpods.NewInformers(informers.NewSharedInformerFactoryWithOptions(kube, resync,
		informers.WithNamespace(operand.Namespace), informers.WithTweakListOptions(longWatch),
		informers.WithTransform(stripTarget)), labelled("k8s-app!="+operand.NodeManager))
}

func clusterScoped(kube kubernetes.Interface, tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
	return namespaced(kube, metav1.NamespaceAll, tweak)
}

func namespaced(
	kube kubernetes.Interface, namespace string, tweak func(*metav1.ListOptions),
) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(kube, resync, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(tweak), informers.WithTransform(stripManagedFields))
}

func (i informerSet) start(stop <-chan struct{}) {
	for _, factory := range []interface{ Start(<-chan struct{}) }{
		i.target, i.lease, i.preflight, i.namespace, i.operator, i.userConfig, i.managedConfig, i.kubeSystem, i.nodes,
		i.bindings, i.config, i.clusterOperator,
	} {
		factory.Start(stop)
	}
}

// longWatch randomizes the duration, so that watches do not end together.
func longWatch(options *metav1.ListOptions) {
	if options.TimeoutSeconds != nil {
		seconds := int64(minWatch / time.Second)
		options.TimeoutSeconds = ptr.To(seconds + rand.Int63nRange(0, seconds))
	}
}

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

func stripManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// maxPod, in bytes, far exceeds any Pod of the operator, the operand or the predecessor. A larger one is a mirror pod:
// a kubelet may create them in any namespace. What stripTarget keeps of it matches no selector.
const maxPod = 256 << 10

func stripTarget(obj any) (any, error) {
	stripped, err := stripManagedFields(obj)
	if pod, ok := stripped.(*corev1.Pod); ok && pod.Size() > maxPod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		}}, nil
	}
	return stripped, err
}

// stripNode keeps the fields of a control-plane Node that a controller reads: a kubelet and a CCM can add any number of
// labels, annotations and conditions. Only kube-controller-manager needs LastHeartbeatTime.
func stripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	ready := controlplane.ReadyConditions(node)
	for i := range ready {
		ready[i].LastHeartbeatTime = metav1.Time{}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              node.Name,
			UID:               node.UID,
			ResourceVersion:   node.ResourceVersion,
			CreationTimestamp: node.CreationTimestamp,
			Labels:            only(node.Labels, operatorclient.MasterLabel),
			Annotations:       only(node.Annotations, operatorclient.NodeDeletionAnnotation),
		},
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints},
		Status: corev1.NodeStatus{Conditions: ready},
	}, nil
}

func only(entries map[string]string, key string) map[string]string {
	value, found := entries[key]
	if !found {
		return nil
	}
	return map[string]string{key: value}
}

// isChange reports whether two versions of a Node, as stripNode returns them, differ in a field that a controller
// reads. Otherwise, every heartbeat would call every controller that reads Nodes: one each five minutes, from some
// kubelets each ten seconds. A controller that decides by time needs its own timer.
func isChange(oldObj, newObj any) bool {
	before, wasNode := oldObj.(*corev1.Node)
	after, isNode := newObj.(*corev1.Node)
	if !wasNode || !isNode || before.ResourceVersion == after.ResourceVersion { // a resync
		return true
	}
	unchanged := *before
	unchanged.ResourceVersion = after.ResourceVersion
	return !equality.Semantic.DeepEqual(&unchanged, after)
}
