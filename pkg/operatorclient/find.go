package operatorclient

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Find returns an object from a lister, nil if it does not exist. Errors name it. namespace is "" if cluster-scoped.
func Find[T any](lister interface{ Get(name string) (*T, error) }, kind, namespace, name string) (*T, error) {
	object, err := lister.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ObjectName(kind, namespace, name), err)
	}
	return object, nil
}

// ObjectName returns the name of an object in messages.
func ObjectName(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + name + " in " + namespace
}

// All returns all objects of a lister. objects describes them in errors.
func All[T any](from interface {
	List(selector labels.Selector) ([]*T, error)
}, objects string) ([]*T, error) {
	all, err := from.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", objects, err)
	}
	return all, nil
}

// Objects returns the ConfigMaps and Secrets of the operand's namespace.
func Objects(
	configMaps corelisters.ConfigMapNamespaceLister, secrets corelisters.SecretNamespaceLister,
) (o operand.Objects, err error) {
	if o.ConfigMaps, err = All(configMaps, "configmaps in "+operand.Namespace); err != nil {
		return o, err
	}
	o.Secrets, err = All(secrets, "secrets in "+operand.Namespace)
	return o, err
}

// Delete deletes an object if it exists and the preconditions hold. If they do not, the object was replaced or has
// changed, and the caller decides again once its cache shows that. Errors name the object.
func Delete(
	ctx context.Context, remove func(context.Context, string, metav1.DeleteOptions) error, kind, namespace, name string,
	options metav1.DeleteOptions,
) error {
	err := remove(ctx, name, options)
	if err == nil || apierrors.IsNotFound(err) || options.Preconditions != nil && apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", ObjectName(kind, namespace, name), err)
}

// Held returns an error for an object that is being deleted and only exists because of its finalizers.
func Held(object metav1.Object) error {
	if object.GetDeletionTimestamp() == nil {
		return nil
	}
	return fmt.Errorf("its finalizers keep it, remove them if nothing else does: %s", object.GetFinalizers())
}

// GetFunc is a typed client's Get.
type GetFunc[T any] func(ctx context.Context, name string, options metav1.GetOptions) (T, error)

// Cached returns a Get that reads from a lister, and otherwise from the API: the lister's cache may be behind, may not
// run, or may contain only some of the objects.
func Cached[T any](fromLister func(name string) (T, error), live GetFunc[T]) GetFunc[T] {
	return func(ctx context.Context, name string, options metav1.GetOptions) (T, error) {
		if object, err := fromLister(name); err == nil {
			return object, nil
		}
		return live(ctx, name, options)
	}
}

// MasterLabel is the label of control-plane Nodes, with an empty value. library-go's node controller and the informer
// of control-plane Nodes select by it.
const MasterLabel = "node-role.kubernetes.io/master"

// NodesWithoutRole returns the Nodes without MasterLabel that run one of these pods. known are the Nodes of the
// informer, all with the label. It sends a request only for a pod on another Node. It ignores pods whose Node does not
// exist, because they are deleted within about a minute.
//
// reports are those of the file-syncers by node, nil if there are none. The kubelet of a worker may create mirror pods
// on its node that look like these, but only a control-plane node has the token that writes a report.
func NodesWithoutRole(
	ctx context.Context, client corev1client.NodesGetter, pods []*corev1.Pod, known []*corev1.Node,
	reports *corev1.ConfigMap,
) ([]*corev1.Node, error) {
	var found []*corev1.Node
	asked := map[string]bool{"": true}
	for _, node := range known {
		asked[node.Name] = true
	}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if asked[name] || reports == nil || reports.Data[name] == "" {
			continue
		}
		asked[name] = true
		node, err := ReadNode(ctx, client.Nodes(), name, "")
		if err != nil {
			return nil, err
		}
		if node == nil {
			continue
		}
		// If the Node has the label, the informer will show it soon.
		if _, labelled := node.Labels[MasterLabel]; !labelled {
			found = append(found, node)
		}
	}
	return found, nil
}

// ReadNode reads a Node from the API, nil if it does not exist. With resource version "0" it reads from the API
// server's cache. It lists, because the operator may list Nodes but has no right to get one.
func ReadNode(
	ctx context.Context, client corev1client.NodeInterface, name, resourceVersion string,
) (*corev1.Node, error) {
	list, err := client.List(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
		ResourceVersion: resourceVersion,
	})
	if err != nil {
		return nil, fmt.Errorf("reading node/%s: %w", name, err)
	}
	if i := slices.IndexFunc(list.Items, func(node corev1.Node) bool { return node.Name == name }); i >= 0 {
		return &list.Items[i], nil
	}
	return nil, nil
}
