package loadbalancers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listing"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// The limits of a read, because every tenant can write Events about its Services. client-go's recorder makes about 40
// an hour of an object at most, and each quotes an error of a cloud, which is not longer.
const (
	eventsPage    = 10
	maxEvents     = 100
	maxEventBytes = 32 << 10
	maxReadBytes  = 4 << 20
	readTimeout   = 10 * time.Second
)

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
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
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
		masked, err := c.mask(message)
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

func (c *controller) lastWarning(ctx context.Context, service types.NamespacedName, uid types.UID) (string, error) {
	options := metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": "Service", "involvedObject.name": service.Name, "involvedObject.uid": string(uid),
		"source": loadbalancer.EventSource, "type": corev1.EventTypeWarning,
	}.String()}
	var last []*corev1.Event
	err := c.events(ctx, service.Namespace, options, func(event *corev1.Event) {
		if later := loadbalancer.LastWarning(append(last, event), service.Name, uid); later != nil {
			last = []*corev1.Event{later}
		}
	})
	if err != nil {
		return "", fmt.Errorf("listing the events in %s: %w", service.Namespace, err)
	}
	if len(last) == 0 {
		return "", nil
	}
	return last[0].Reason + ": " + last[0].Message, nil
}

// Events calls item with the Events of a namespace that the options select.
type Events func(ctx context.Context, namespace string, options metav1.ListOptions, item func(*corev1.Event)) error

// ReadEvents reads Events from the API server, within the limits.
func ReadEvents(client rest.Interface) Events {
	return func(ctx context.Context, namespace string, options metav1.ListOptions, item func(*corev1.Event)) error {
		path := "/api/v1/namespaces/" + namespace + "/events"
		options.Limit = eventsPage
		count, size := 0, 0
		return listing.Each(ctx, client, path, options, func(raw []byte) (more bool, err error) {
			count++
			size += len(raw)
			if len(raw) <= maxEventBytes {
				event := &corev1.Event{}
				if err := json.Unmarshal(raw, event); err != nil {
					return false, fmt.Errorf("decoding an event: %w", err)
				}
				item(event)
			}
			return count < maxEvents && size < maxReadBytes, nil
		})
	}
}
