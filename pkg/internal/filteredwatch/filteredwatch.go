// Package filteredwatch watches objects of which only a few matter, and drops the others before they are stored.
// Updates is for objects that all matter, and drops irrelevant updates before a handler gets them.
package filteredwatch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// listPage is the page size of a list if the API server does not support streaming lists. Each page is decoded before
	// it is reduced, and an object has up to 1.5 MiB.
	listPage = 10

	// watchTimeout is long because every renewed watch is a request. HTTP/2 pings detect a dead connection.
	watchTimeout = time.Hour
)

// Source describes the objects. T is their type, and L the type of their list.
type Source[T, L runtime.Object] struct {
	Name          string
	List          func(context.Context, metav1.ListOptions) (L, error)
	Watch         func(context.Context, metav1.ListOptions) (watch.Interface, error)
	FieldSelector string
	// IsRelevant reports whether the store needs the object. It is called for each listed or changed object.
	IsRelevant func(T) bool
	// Strip returns a copy of the object with only the fields that the store's readers need.
	Strip func(T) T
}

// NewReflector returns the reflector that fills the store with the relevant objects, stripped. It passes on every
// change during the watch, because a change may end an object's relevance. client determines whether lists are
// streamed.
func NewReflector[T, L runtime.Object](s Source[T, L], client any, store cache.ReflectorStore) *cache.Reflector {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			// The watch cache ignores a limit at resource version 0.
			options.ResourceVersion, options.ResourceVersionMatch = "", ""
			options.FieldSelector = s.FieldSelector
			list, err := s.List(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, s.reduce(list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = s.FieldSelector
			events, err := s.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, s.dropIrrelevant), nil
		},
	}
	var example T
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, client), example, store,
		cache.ReflectorOptions{Name: s.Name, MinWatchTimeout: watchTimeout})
	reflector.WatchListPageSize = listPage
	return reflector
}

func (s Source[T, L]) reduce(list L) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("reading the items of the list of %s: %w", s.Name, err)
	}
	var kept []runtime.Object
	for _, item := range items {
		if object, ok := item.(T); ok && s.IsRelevant(object) {
			kept = append(kept, s.Strip(object))
		}
	}
	if err := meta.SetList(list, kept); err != nil {
		return fmt.Errorf("replacing the items of the list of %s: %w", s.Name, err)
	}
	return nil
}

// dropIrrelevant drops irrelevant objects while the API server streams the initial list.
func (s Source[T, L]) dropIrrelevant(event watch.Event) (watch.Event, bool) {
	object, ok := event.Object.(T)
	if !ok || event.Type == watch.Bookmark {
		return event, true
	}
	if isRelevant := s.IsRelevant(object); event.Type == watch.Added && !isRelevant {
		return event, false
	}
	event.Object = s.Strip(object)
	return event, true
}

// Updates is an informer that drops updates which matter to none of its handlers. The cache has each version, and
// resyncs reach the handlers.
type Updates struct {
	cache.SharedIndexInformer
	// Matters reports whether the handlers get an update.
	Matters func(before, after any) bool
}

// AddEventHandler implements cache.SharedInformer. library-go's factory and the operator use no similar method.
func (u *Updates) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return u.SharedIndexInformer.AddEventHandler(updateHandler{handler, u.Matters})
}

type updateHandler struct {
	cache.ResourceEventHandler
	matters func(before, after any) bool
}

func (h updateHandler) OnUpdate(before, after any) {
	if h.matters(before, after) {
		h.ResourceEventHandler.OnUpdate(before, after)
	}
}
