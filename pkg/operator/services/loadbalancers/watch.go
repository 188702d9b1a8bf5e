package loadbalancers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/filteredwatch"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// limit is how many Services are recorded. Every tenant can create some.
const limit = 1000

// selector makes the API server filter the Services: the operator decodes no others.
var selector = fields.OneTermEqualSelector("spec.type", string(corev1.ServiceTypeLoadBalancer)).String()

type need struct {
	loadbalancer.Need
	uid   types.UID
	since time.Time
	// handover is the annotation by which some cloud's cloud-controller-manager leaves the Service to another controller.
	handover string
}

// handsOver are the annotations that a need may have.
var handsOver, keeps = platform.Handovers()

// Watch is a cache.ReflectorStore of the Services that need something from a cloud-controller-manager.
type Watch struct {
	services corev1client.ServicesGetter
	clock    clock.PassiveClock
	started  sync.Once

	lock sync.Mutex
	// changed is called after the set of recorded Services has changed.
	changed func()
	synced  bool
	needs   map[types.NamespacedName]need
	// more reports that some Services beyond limit are not recorded. relist starts a new list, which finds them.
	more   bool
	relist context.CancelFunc
}

var _ cache.ReflectorStore = &Watch{}

// NewWatch returns a watch that has not started.
func NewWatch(services corev1client.ServicesGetter, clock clock.PassiveClock) *Watch {
	return &Watch{
		services: services, clock: clock, needs: map[types.NamespacedName]need{}, changed: func() {}, relist: func() {},
	}
}

// Start implements ondemand.Informers.
func (w *Watch) Start(stop <-chan struct{}) {
	w.started.Do(func() { go w.run(wait.ContextForChannel(stop)) })
}

func (w *Watch) run(ctx context.Context) {
	services := w.services.Services(metav1.NamespaceAll)
	for ctx.Err() == nil {
		round, end := context.WithCancel(ctx)
		w.lock.Lock()
		w.relist = end
		w.lock.Unlock()
		filteredwatch.NewReflector(filteredwatch.Source[*corev1.Service, *corev1.ServiceList]{
			Name:          "load-balancer-services",
			List:          services.List,
			Watch:         services.Watch,
			FieldSelector: selector,
			IsRelevant:    func(s *corev1.Service) bool { return loadbalancer.NeedOf(s) != loadbalancer.Nothing },
			Strip:         stripped,
		}, services, w).RunWithContext(round)
		end()
	}
}

func stripped(service *corev1.Service) *corev1.Service {
	kept := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         service.Namespace,
			Name:              service.Name,
			UID:               service.UID,
			ResourceVersion:   service.ResourceVersion,
			CreationTimestamp: service.CreationTimestamp,
			DeletionTimestamp: service.DeletionTimestamp,
		},
		Spec: corev1.ServiceSpec{Type: service.Spec.Type, LoadBalancerClass: service.Spec.LoadBalancerClass},
	}
	if loadbalancer.NeedsCleanup(service) {
		kept.Finalizers = []string{loadbalancer.Finalizer}
	}
	if name, value, found := strings.Cut(loadbalancer.HandedOver(service, handsOver, keeps), "="); found {
		kept.Annotations = map[string]string{name: value}
	}
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		kept.Status.LoadBalancer.Ingress = make([]corev1.LoadBalancerIngress, 1)
	}
	return kept
}

// Add implements cache.ReflectorStore. A Service that became one of type LoadBalancer is added too, at any age.
func (w *Watch) Add(obj any) error { return w.Update(obj) }

// Update implements cache.ReflectorStore. A need that appears during the watch starts now.
func (w *Watch) Update(obj any) error {
	if service, ok := obj.(*corev1.Service); ok {
		w.change(func() bool { return w.set(service, loadbalancer.NeedOf(service), w.clock.Now()) })
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (w *Watch) Delete(obj any) error {
	if service, ok := obj.(*corev1.Service); ok {
		w.change(func() bool { return w.set(service, loadbalancer.Nothing, time.Time{}) })
	}
	return nil
}

// Replace implements cache.ReflectorStore. In the first list, and beyond limit, a need dates from the Service, so that
// a restart of the operator starts no new wait. Of too many, recorded ones and the oldest are kept.
func (w *Watch) Replace(objs []any, _ string) error {
	w.change(func() bool {
		services := map[types.NamespacedName]*corev1.Service{}
		for _, obj := range objs {
			if service, ok := obj.(*corev1.Service); ok && loadbalancer.NeedOf(service) != loadbalancer.Nothing {
				services[nameOf(service)] = service
			}
		}
		fromService := !w.synced || w.more
		w.synced, w.more = true, false
		maps.DeleteFunc(w.needs, func(name types.NamespacedName, _ need) bool { return services[name] == nil })
		oldestFirst := func(a, b *corev1.Service) int {
			return loadbalancer.NeedOf(a).Since(a).Compare(loadbalancer.NeedOf(b).Since(b))
		}
		for _, service := range slices.SortedFunc(maps.Values(services), oldestFirst) {
			needs, since := loadbalancer.NeedOf(service), w.clock.Now()
			if earliest := needs.Since(service); fromService && earliest.Before(since) {
				since = earliest
			}
			w.set(service, needs, since)
		}
		return true
	})
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (w *Watch) Resync() error { return nil }

func (w *Watch) change(do func() bool) {
	w.lock.Lock()
	changed, notify := do(), w.changed
	if w.more && len(w.needs) <= limit/2 {
		w.relist()
	}
	w.lock.Unlock()
	if changed {
		notify()
	}
}

// set records a Service, and reports whether that changed something. since is when a new need started.
func (w *Watch) set(service *corev1.Service, needs loadbalancer.Need, since time.Time) bool {
	name, handover := nameOf(service), loadbalancer.HandedOver(service, handsOver, keeps)
	former, known := w.needs[name]
	switch {
	case needs == loadbalancer.Nothing:
		delete(w.needs, name)
		return known
	case known && former == need{needs, service.UID, former.since, handover}:
		return false
	case !known && len(w.needs) >= limit:
		changed := !w.more
		w.more = true
		return changed
	default:
		w.needs[name] = need{needs, service.UID, since, handover}
		return true
	}
}

func nameOf(service *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
}

func (w *Watch) snapshot() (needs map[types.NamespacedName]need, more, synced bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return maps.Clone(w.needs), w.more, w.synced
}

func (w *Watch) onChange(changed func()) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.changed = changed
}
