// Package listerview changes what the listers of an informer return.
package listerview

import (
	"k8s.io/client-go/tools/cache"
)

// Informer is an informer whose listers return View of the objects in its cache. Its event handlers get the objects
// themselves. If InformerFor puts it into a factory, it is the factory's informer of T.
type Informer[T any] struct {
	cache.SharedIndexInformer
	// View returns what the listers return for some objects of the cache. It must not change the objects.
	View func([]T) []T
	// Synced reports whether what View reads has synced. It is nil if View reads nothing else.
	Synced func() bool
}

// HasSynced reports whether the informer has synced, and what View reads.
func (i *Informer[T]) HasSynced() bool {
	return i.SharedIndexInformer.HasSynced() && (i.Synced == nil || i.Synced())
}

// GetIndexer returns the indexer that listers read.
func (i *Informer[T]) GetIndexer() cache.Indexer {
	return indexer[T]{i.SharedIndexInformer.GetIndexer(), i.View}
}

// indexer overrides the methods that the listers of client-go call.
type indexer[T any] struct {
	cache.Indexer
	view func([]T) []T
}

func (i indexer[T]) List() []any { return i.viewed(i.Indexer.List()) }

func (i indexer[T]) Index(name string, object any) ([]any, error) {
	found, err := i.Indexer.Index(name, object)
	return i.viewed(found), err
}

func (i indexer[T]) GetByKey(key string) (object any, exists bool, err error) {
	object, exists, err = i.Indexer.GetByKey(key)
	if found := i.viewed([]any{object}); exists && len(found) == 1 {
		return found[0], true, err
	}
	return nil, false, err
}

func (i indexer[T]) viewed(objects []any) []any {
	typed := make([]T, 0, len(objects))
	for _, object := range objects {
		if t, ok := object.(T); ok {
			typed = append(typed, t)
		}
	}
	var viewed []any
	for _, object := range i.view(typed) {
		viewed = append(viewed, object)
	}
	return viewed
}
