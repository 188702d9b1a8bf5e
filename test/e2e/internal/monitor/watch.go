package monitor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	toolswatch "k8s.io/client-go/tools/watch"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

const (
	targetNamespace = "openshift-cloud-controller-manager"
	operand         = "cloud-controller-manager"

	relistInterval = time.Second
	catchUpLimit   = 30 * time.Second
)

// source is one watch: its objects and its observer.
type source struct {
	name    string
	client  dynamic.ResourceInterface
	options metav1.ListOptions
	observe func(object *unstructured.Unstructured, exists bool) error

	mutex sync.Mutex
	// seen are the resource versions of the objects that exist, by name.
	seen map[string]string
}

// Watches feed a Monitor. The owner cancels their context and then calls Wait.
type Watches struct {
	monitor *Monitor
	sources []*source
	group   sync.WaitGroup
}

// Watch feeds the monitor from the API server until ctx ends. It waits for resources that are not served yet.
func (m *Monitor) Watch(ctx context.Context, client dynamic.Interface) *Watches {
	return m.follow(ctx, m.sources(client))
}

func (m *Monitor) follow(ctx context.Context, sources []*source) *Watches {
	w := &Watches{monitor: m, sources: sources}
	for _, s := range w.sources {
		s.seen = map[string]string{}
		w.group.Go(func() { w.follow(ctx, s) })
	}
	return w
}

// Record passes everything to see that test/transitions looks at, until ctx ends. The content is nil once an object is
// gone.
func Record(
	ctx context.Context, client dynamic.Interface, see func(resource, name string, content map[string]any),
) *Watches {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	sources := []*source{
		{name: "clusteroperators", client: client.Resource(configv1.GroupVersion.WithResource("clusteroperators"))},
		{name: "leases", client: client.Resource(leases)},
		{name: "pods", client: client.Resource(core("pods")).Namespace(targetNamespace)},
		{name: "nodes", client: client.Resource(core("nodes"))},
		{name: ccmv1.Resource.Resource, client: client.Resource(ccmv1.Resource)},
	}
	for _, s := range sources {
		s.observe = func(object *unstructured.Unstructured, exists bool) error {
			content := object.Object
			if !exists {
				content = nil
			}
			see(s.name, object.GetName(), content)
			return nil
		}
	}
	return New(time.Now).follow(ctx, sources)
}

// Wait returns when every watch has ended.
func (w *Watches) Wait() { w.group.Wait() }

func (m *Monitor) sources(client dynamic.Interface) []*source {
	named := func(name string) metav1.ListOptions {
		return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	}
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	return []*source{
		{
			name: "clusteroperators", options: named(operand),
			client:  client.Resource(configv1.GroupVersion.WithResource("clusteroperators")),
			observe: observing(func(o *configv1.ClusterOperator, exists bool) { m.ClusterOperator(orNil(o, exists)) }),
		},
		{
			name: "leases", client: client.Resource(leases).Namespace(targetNamespace), options: named(operand),
			observe: observing(func(l *coordinationv1.Lease, exists bool) { m.Lease(orNil(l, exists)) }),
		},
		{
			name: "pods", client: client.Resource(core("pods")).Namespace(targetNamespace),
			options: metav1.ListOptions{LabelSelector: labels.Set{"app": operand}.String()}, observe: observing(m.Pod),
		},
		{name: "nodes", client: client.Resource(core("nodes")), observe: observing(m.Node)},
		{
			name: ccmv1.Resource.Resource, client: client.Resource(ccmv1.Resource), options: named(ccmv1.InstanceName),
			observe: observing(func(r *ccmv1.CloudControllerManager, exists bool) {
				if exists {
					m.Resource(r)
				}
			}),
		},
	}
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

func orNil[T any](object *T, exists bool) *T {
	if !exists {
		return nil
	}
	return object
}

// observing converts the objects of a dynamic client.
func observing[T any](observe func(*T, bool)) func(*unstructured.Unstructured, bool) error {
	return func(object *unstructured.Unstructured, exists bool) error {
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		observe(typed, exists)
		return nil
	}
}

// follow lists and watches. A watch that ends resumes at its last version, even after an outage of the API server. If
// the server no longer has that version, follow lists again and reports to the monitor that events may be lost.
func (w *Watches) follow(ctx context.Context, s *source) {
	_ = wait.PollUntilContextCancel(ctx, relistInterval, true, func(ctx context.Context) (bool, error) {
		version, err := s.list(ctx)
		if err != nil {
			// The resource is not served yet, or the API server is down; no events are lost.
			return false, nil //nolint:nilerr // It is tried again.
		}
		if err := s.watch(ctx, version); err != nil && ctx.Err() == nil {
			w.monitor.Lost(s.name, err)
		}
		return false, nil
	})
}

// list observes the existing objects and the deletion of others.
func (s *source) list(ctx context.Context) (version string, err error) {
	list, err := s.client.List(ctx, s.options)
	if err != nil {
		return "", err
	}
	s.mutex.Lock()
	gone := maps.Clone(s.seen)
	s.mutex.Unlock()
	for i := range list.Items {
		delete(gone, list.Items[i].GetName())
		if err := s.see(&list.Items[i], true); err != nil {
			return "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetName(name)
		if err := s.see(object, false); err != nil {
			return "", err
		}
	}
	return list.GetResourceVersion(), nil
}

func (s *source) see(object *unstructured.Unstructured, exists bool) error {
	if err := s.observe(object, exists); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.seen, object.GetName())
	if exists {
		s.seen[object.GetName()] = object.GetResourceVersion()
	}
	return nil
}

// watch observes events until ctx ends or the watch cannot resume.
func (s *source) watch(ctx context.Context, version string) error {
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, version, watchFunc(
		func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = s.options.LabelSelector, s.options.FieldSelector
			return s.client.Watch(ctx, options)
		}))
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !ok {
			return apierrors.FromObject(event.Object)
		}
		if err := s.see(object, event.Type != watch.Deleted); err != nil {
			return err
		}
	}
	return nil
}

type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (f watchFunc) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

// CatchUp waits until the monitor has seen the API server's current state. What it does not see in time is a
// violation.
func (w *Watches) CatchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	for _, s := range w.sources {
		var behind []metav1.Object
		var listed error
		err := wait.PollUntilContextCancel(ctx, relistInterval/4, true, func(ctx context.Context) (bool, error) {
			list, err := s.client.List(ctx, s.options)
			if apierrors.IsNotFound(err) {
				return true, nil // The kind is not served yet.
			}
			if listed = err; err == nil {
				behind = s.behind(list)
			}
			return err == nil && len(behind) == 0, nil
		})
		switch {
		case listed != nil:
			return fmt.Errorf("listing %s: %w", s.name, listed)
		case err != nil:
			w.monitor.Missed(s.name, behind)
		}
	}
	return nil
}

// behind returns the listed objects that were seen only in an older version, and the seen objects that no longer
// exist. Resource versions of one resource grow.
func (s *source) behind(list *unstructured.UnstructuredList) []metav1.Object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var behind []metav1.Object
	listed := map[string]bool{}
	for i := range list.Items {
		object := &list.Items[i]
		listed[object.GetName()] = true
		if older(s.seen[object.GetName()], object.GetResourceVersion()) {
			behind = append(behind, object)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.seen)) {
		if !listed[name] {
			behind = append(behind, &metav1.ObjectMeta{Name: name, ResourceVersion: "of its deletion"})
		}
	}
	return behind
}

// older compares two resource versions, which are decimal numbers.
func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
