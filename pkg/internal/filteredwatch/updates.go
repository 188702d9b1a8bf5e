package filteredwatch

import "k8s.io/client-go/tools/cache"

// Updates is an informer whose handlers do not get the updates that matter to none of them. The cache has each version,
// and the informer's resync gets through.
type Updates struct {
	cache.SharedIndexInformer
	// Matters reports whether the handlers get an update.
	Matters func(before, after any) bool
}

// AddEventHandler implements cache.SharedInformer. It is the only method by which library-go's factory, and the
// operator, add a handler.
func (u *Updates) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return u.SharedIndexInformer.AddEventHandler(updateHandler{handler, u.Matters})
}

type updateHandler struct {
	cache.ResourceEventHandler
	matters func(before, after any) bool
}

// OnUpdate implements cache.ResourceEventHandler.
func (h updateHandler) OnUpdate(before, after any) {
	if h.matters(before, after) {
		h.ResourceEventHandler.OnUpdate(before, after)
	}
}
