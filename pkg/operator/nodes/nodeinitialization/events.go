package nodeinitialization

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

const (
	// eventReason is the reason of an Event about a node that waits.
	eventReason = "NodeNotInitialized"

	// eventSource is the component that Events about nodes name.
	eventSource = "cloud-controller-manager-operator"

	// eventLimit is how many Events a sync writes. The other nodes have their turn when the log is read again.
	eventLimit = 10

	// eventTimeout is how long a sync writes Events.
	eventTimeout = 10 * time.Second
)

type cause struct {
	node  string
	class nodecause.Class
}

// emitEvents writes an Event about each node with a cause that has none in its wait. A cause that comes back gets no
// other one. An Event that cannot be written is tried again with the next sync: the conditions have the same text.
func (c *controller) emitEvents(ctx context.Context, nodes []string, waiting map[string]wait, by initializer) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	maps.DeleteFunc(c.reported, func(of cause, _ bool) bool { _, waits := waiting[of.node]; return !waits })
	written := 0
	for _, node := range nodes {
		now := cause{node, c.investigation.findings[node].class}
		if now.class == nodecause.Unknown || c.reported[now] || written == eventLimit {
			continue
		}
		written++
		message := fmt.Sprintf("not initialized by the %s%s", by.name, c.investigation.explain([]string{node}, waiting, by))
		if err := c.record(ctx, node, message); err != nil {
			klog.FromContext(ctx).V(2).Info("No Event about a node that waits", "node", node, "err", err)
			continue
		}
		c.reported[now] = true
	}
}

// record writes an Event about a node, like those of its kubelet: kubectl describe node shows Events whose object has
// the node's name for a UID.
func (c *controller) record(ctx context.Context, node, message string) error {
	now := c.Clock.Now()
	_, err := c.Kube.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", node, now.UnixNano())},
		InvolvedObject:      corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)},
		Source:              corev1.EventSource{Component: eventSource},
		ReportingController: eventSource,
		Type:                corev1.EventTypeWarning, Reason: eventReason, Message: operatorclient.Bounded(message), Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("writing an event about node/%s: %w", node, err)
	}
	return nil
}
