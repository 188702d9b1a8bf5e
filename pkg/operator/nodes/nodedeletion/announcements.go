package nodedeletion

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/filteredwatch"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/listing"
)

const (
	// maxAnnouncements limits the stored Events. The CCM writes one for each Node that it wants to delete, and a client
	// with its identity any number. An Event exists for three hours.
	maxAnnouncements = 10000

	// maxUID is the length of a UID: the API server makes UUIDs.
	maxUID = 36

	// maxEvent is the size of an Event, in bytes, beyond which it is not read. Those of the CCM have about a kilobyte.
	maxEvent = 32 << 10
)

// announced is an Event in which the CCM announces the deletion of a Node.
type announced struct {
	node        types.UID
	first, last metav1.Time
}

// Announcements watches the Events in which the CCM announces the deletion of a Node. It implements
// cache.ReflectorStore. An Event beyond maxAnnouncements is stored when others have expired and the CCM repeats it.
type Announcements struct {
	client  corev1client.CoreV1Interface
	started sync.Once

	lock sync.Mutex
	// changed is called after an Event has arrived or changed.
	changed func()
	synced  bool
	byName  map[string]announced
}

var _ cache.ReflectorStore = &Announcements{}

// NewAnnouncements returns a watch that has not started.
func NewAnnouncements(client corev1client.CoreV1Interface) *Announcements {
	return &Announcements{client: client, byName: map[string]announced{}, changed: func() {}}
}

// Start implements ondemand.Informers.
func (a *Announcements) Start(stop <-chan struct{}) {
	a.started.Do(func() {
		events := a.client.Events(EventNamespace)
		go filteredwatch.NewReflector(filteredwatch.Source[*corev1.Event, *corev1.EventList]{
			Name: "node-deletion-events",
			List: events.List,
			Watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				path := "/api/v1/namespaces/" + EventNamespace + "/events"
				return listing.Watch(ctx, a.client.RESTClient(), path, options, maxEvent, &corev1.Event{})
			},
			FieldSelector: fields.Set{"source": EventSource, "reason": eventReason}.String(),
			IsRelevant:    isAnnouncement,
			Strip:         stripEvent,
		}, events, a).RunWithContext(wait.ContextForChannel(stop))
	})
}

func isAnnouncement(event *corev1.Event) bool { return len(event.InvolvedObject.UID) <= maxUID }

func stripEvent(event *corev1.Event) *corev1.Event {
	kept := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: event.Namespace, Name: event.Name, ResourceVersion: event.ResourceVersion,
		},
		FirstTimestamp: event.FirstTimestamp, LastTimestamp: event.LastTimestamp,
	}
	if isAnnouncement(event) {
		kept.InvolvedObject.UID = event.InvolvedObject.UID
	}
	return kept
}

// HasSynced reports whether the first list is complete.
func (a *Announcements) HasSynced() bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.synced
}

// Add implements cache.ReflectorStore.
func (a *Announcements) Add(obj any) error { return a.Update(obj) }

// Update implements cache.ReflectorStore.
func (a *Announcements) Update(obj any) error {
	a.change(func() bool { return a.set(obj) })
	return nil
}

// Delete implements cache.ReflectorStore. The expiry of an Event changes no decision.
func (a *Announcements) Delete(obj any) error {
	a.change(func() bool {
		if event, ok := obj.(*corev1.Event); ok {
			delete(a.byName, event.Name)
		}
		return false
	})
	return nil
}

// Replace implements cache.ReflectorStore.
func (a *Announcements) Replace(objs []any, _ string) error {
	a.change(func() bool {
		a.synced, a.byName = true, map[string]announced{}
		for _, obj := range objs {
			a.set(obj)
		}
		return len(a.byName) > 0
	})
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (a *Announcements) Resync() error { return nil }

// change calls do with the lock held, and then changed without it if do returns true.
func (a *Announcements) change(do func() bool) {
	a.lock.Lock()
	changed, tell := do(), a.changed
	a.lock.Unlock()
	if changed {
		tell()
	}
}

func (a *Announcements) set(obj any) bool {
	event, ok := obj.(*corev1.Event)
	if !ok || event.InvolvedObject.UID == "" {
		return false
	}
	if _, known := a.byName[event.Name]; !known && len(a.byName) >= maxAnnouncements {
		return false
	}
	a.byName[event.Name] = announced{event.InvolvedObject.UID, event.FirstTimestamp, event.LastTimestamp}
	return true
}

func (a *Announcements) snapshot() map[string]announced {
	a.lock.Lock()
	defer a.lock.Unlock()
	return maps.Clone(a.byName)
}

func (a *Announcements) onChange(changed func()) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.changed = changed
}
