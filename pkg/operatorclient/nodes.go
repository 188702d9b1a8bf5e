package operatorclient

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// MasterLabel is the label of control-plane Nodes; its value is empty. library-go's node controller selects by it, and
// so does the informer of control-plane Nodes.
const MasterLabel = "node-role.kubernetes.io/master"

// NodesWithoutRole returns the Nodes that exist without MasterLabel and have one of these pods. known are the Nodes of
// the informer, which has only those with the label. It sends a request only for a pod on another Node. A pod without a
// Node is deleted within about a minute.
func NodesWithoutRole(
	ctx context.Context, client corev1client.NodesGetter, pods []*corev1.Pod, known []*corev1.Node,
) ([]*corev1.Node, error) {
	var found []*corev1.Node
	asked := map[string]bool{"": true}
	for _, node := range known {
		asked[node.Name] = true
	}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if asked[name] {
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
		// With the label, the informer is about to show the Node.
		if _, labelled := node.Labels[MasterLabel]; !labelled {
			found = append(found, node)
		}
	}
	return found, nil
}

// ReadNode reads a Node from the API, nil if it does not exist; with resource version "0", from the API server's cache.
// The operator may list Nodes, and needs no right to get one.
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
