// Package loadbalancers reports Services of type LoadBalancer that a cloud-controller-manager leaves waiting. The
// process may be healthy and lead meanwhile.
package loadbalancers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listing"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/terminationmessage"
)

// NoticesCondition is the condition of this package.
const NoticesCondition = "LoadBalancerNotices"

const (
	// noticeAfter is how long a Service may wait: a cloud makes a load balancer within a minute or two.
	noticeAfter = 2 * time.Minute

	// explainAfter is how long a Service waits before its Events are read, and errors in them are reported.
	explainAfter = 30 * time.Second

	// eventInterval is the time between two reads of a Service's Events.
	eventInterval = 30 * time.Second

	// quietPeriod limits how often tenants who create and delete Services can make the operator look.
	quietPeriod = 5 * time.Second

	named = 3

	name = "LoadBalancerController"
)

type controller struct {
	dependencies.Deps
	services *Watch
	events   Events
	mask     func(string) (string, error)
	// quotes are the errors that the cloud-controller-manager reported about the Services that the message names.
	quotes map[types.NamespacedName]quote
}

// Needed reports whether the cloud-controller-manager of a platform makes load balancers.
func Needed(p platform.Platform) bool { return p.Managed() && !p.WithoutLoadBalancers }

// New returns the controller that sets LoadBalancerNotices while a Service of the cloud-controller-manager has waited
// for two minutes for its address, or for the deletion of its load balancer, or for half a minute if the
// cloud-controller-manager has reported an error. It reads the Events of at most three Services, and only while they
// wait. The Watch runs on the platforms that Needed selects, and mask removes the values of the operand's Secrets from
// a text.
func New(
	d dependencies.Deps, services *Watch, events Events, mask func(string) (string, error),
) factory.Controller {
	dependencies.Require(d, services, events, mask)
	syncCtx := factory.NewSyncContext(name, d.Recorder)
	services.onChange(func() { syncCtx.Queue().AddAfter(factory.DefaultQueueKey, quietPeriod) })
	c := &controller{Deps: d, services: services, events: events, mask: mask}
	return reconciler.From(factory.New().WithSyncContext(syncCtx), name, d.Operator, d.Recorder, c.sync)
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	observed, known, err := observedplatform.Get(c.Operator)
	if err != nil || !known || !Needed(observed) {
		return err
	}
	needs, more, synced := c.services.snapshot()
	if !synced {
		return nil
	}
	maps.DeleteFunc(needs, func(_ types.NamespacedName, n need) bool {
		return n.Need == loadbalancer.Address && slices.Contains(observed.HandsOver, n.handover)
	})
	candidates, next := c.candidates(needs)
	if err := c.readQuotes(ctx, candidates[:min(named, len(candidates))], needs); err != nil {
		return err
	}
	late := slices.DeleteFunc(candidates, func(service types.NamespacedName) bool {
		return c.quotes[service].text == "" && c.Clock.Since(needs[service].since) < noticeAfter
	})
	reconciler.After(syncCtx, next)
	return operatorclient.ApplyConditions(ctx, c.Operator, name, c.condition(late, needs, more))
}

// candidates returns Services that have waited for explainAfter, longest first, and when to look again, 0 for never.
func (c *controller) candidates(
	needs map[types.NamespacedName]need,
) (candidates []types.NamespacedName, next time.Duration) {
	longestFirst := func(a, b types.NamespacedName) int {
		return cmp.Or(needs[a].since.Compare(needs[b].since), strings.Compare(a.String(), b.String()))
	}
	for _, service := range slices.SortedFunc(maps.Keys(needs), longestFirst) {
		age := c.Clock.Since(needs[service].since)
		if age < explainAfter {
			next = patience.Sooner(next, explainAfter-age)
			continue
		}
		candidates = append(candidates, service)
		next = patience.Sooner(patience.Sooner(next, eventInterval), noticeAfter-age)
	}
	return candidates, next
}

func (c *controller) condition(
	late []types.NamespacedName, needs map[types.NamespacedName]need, more bool,
) *operatorclient.Condition {
	if len(late) == 0 {
		return operatorclient.AsExpected(NoticesCondition)
	}
	var labels []string
	for _, service := range late[:min(named, len(late))] {
		label := fmt.Sprintf("service/%s in %s (%s since %s", service.Name, service.Namespace, texts[needs[service].Need],
			needs[service].since.UTC().Format(time.RFC3339))
		if said := c.quotes[service].text; said != "" {
			label += fmt.Sprintf("; %q", said)
		}
		labels = append(labels, label+")")
	}
	count := fmt.Sprint(len(late))
	if more {
		count = "at least " + count
	}
	message := fmt.Sprintf("Services of type LoadBalancer that wait for the cloud-controller-manager: %s: %s", count,
		strings.Join(labels, ", "))
	if len(late) > named {
		message += ", and others"
	}
	return operatorclient.NewCondition(NoticesCondition, operatorv1.ConditionTrue, "ServicesWaiting", message+
		"; the quotes are Events, which tenants can write, too: compare them with the leader's log, and correct what they "+
		"name; where there is none, check that a cloud-controller-manager leads, and that the cloud configuration enables "+
		"load balancers")
}

var texts = map[loadbalancer.Need]string{
	loadbalancer.Address:  "without an address",
	loadbalancer.Deletion: "its load balancer not deleted",
}

// The limits of a read, because every tenant can write Events about its Services. client-go's recorder makes at most
// about 40 an hour for an object, and none is longer than an error of a cloud.
const (
	eventsPage    = 10
	maxEvents     = 100
	maxEventBytes = 32 << 10
	maxReadBytes  = 4 << 20
	readTimeout   = 10 * time.Second
)

type quote struct {
	need   need
	text   string
	readAt time.Time
}

// readQuotes reads the errors about the services, each at most once per eventInterval, and forgets others. A text that
// differs from the former one only by an ID or a duration does not replace it.
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
		message, err := c.lastWarning(ctx, service, needs[service])
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Not known why a Service waits", "service", service, "err", err)
		}
		masked, err := c.mask(message)
		if err != nil {
			return err
		}
		text := terminationmessage.Summary(loadbalancer.Quotable(masked))
		if text != "" && !terminationmessage.Alike(text, last.text) {
			last.text = text
		}
		c.quotes[service] = last
	}
	return nil
}

// lastWarning returns the last Warning since the Service has the need: a deletion did not fail for an earlier reason.
func (c *controller) lastWarning(ctx context.Context, service types.NamespacedName, n need) (string, error) {
	options := metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": "Service", "involvedObject.name": service.Name, "involvedObject.uid": string(n.uid),
		"source": loadbalancer.EventSource, "type": corev1.EventTypeWarning,
	}.String()}
	var last []*corev1.Event
	err := c.events(ctx, service.Namespace, options, func(event *corev1.Event) {
		if later := loadbalancer.LastWarning(append(last, event), service.Name, n.uid, n.since); later != nil {
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
