package loadbalancers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// maxEvents limits a read. client-go's recorder makes about 40 Events an hour of an object at most.
const maxEvents = 100

// quote is what the cloud-controller-manager said about a Service.
type quote struct {
	need need
	// text is empty if it reported no error.
	text   string
	readAt time.Time
}

// readQuotes reads what the cloud-controller-manager said about the services, each at most once per eventInterval, and
// forgets the others. A text that differs from the former one only by an ID or a duration does not replace it.
func (c *controller) readQuotes(
	ctx context.Context, services []types.NamespacedName, needs map[types.NamespacedName]need,
) error {
	former := c.quotes
	c.quotes = map[types.NamespacedName]quote{}
	for _, service := range services {
		last := former[service]
		if last.need != needs[service] {
			last = quote{need: needs[service]}
		}
		c.quotes[service] = last
		if !last.readAt.IsZero() && c.Clock.Since(last.readAt) < eventInterval {
			continue
		}
		last.readAt = c.Clock.Now()
		message, err := c.lastWarning(ctx, service, needs[service].uid)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Not known why a Service waits", "service", service, "err", err)
		}
		masked, err := c.Mask(message)
		if err != nil {
			return err
		}
		if text := terminationmessage.Summary(masked); text != "" && !terminationmessage.Alike(text, last.text) {
			last.text = text
		}
		c.quotes[service] = last
	}
	return nil
}

// lastWarning returns the last Warning of the service controller about a Service, empty if there is none.
func (c *controller) lastWarning(ctx context.Context, service types.NamespacedName, uid types.UID) (string, error) {
	list, err := c.Events.Events(service.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{
			"involvedObject.kind": "Service", "involvedObject.name": service.Name, "involvedObject.uid": string(uid),
			"source": loadbalancer.EventSource, "type": corev1.EventTypeWarning,
		}.String(),
		Limit: maxEvents,
	})
	if err != nil {
		return "", fmt.Errorf("listing the events in %s: %w", service.Namespace, err)
	}
	listed := make([]*corev1.Event, len(list.Items))
	for i := range list.Items {
		listed[i] = &list.Items[i]
	}
	last := loadbalancer.LastWarning(listed, service.Name, uid)
	if last == nil {
		return "", nil
	}
	return last.Reason + ": " + last.Message, nil
}
