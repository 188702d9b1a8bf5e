package operator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
)

// withoutHeartbeats is an informer of Nodes that drops the updates in which nothing changes that a controller reads.
// A kubelet writes its Node's status every five minutes at the latest, some every ten seconds, and each write would
// call every controller that reads Nodes. The cache has each version. The informer's resync gets through.
//
// A controller that decides by time needs a timer of its own: no Node is its clock.
type withoutHeartbeats struct{ cache.SharedIndexInformer }

// AddEventHandler implements cache.SharedInformer. It is the only method by which library-go's factory, and the
// operator, add a handler.
func (i withoutHeartbeats) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(changeHandler{handler})
}

type changeHandler struct{ cache.ResourceEventHandler }

// OnUpdate implements cache.ResourceEventHandler.
func (h changeHandler) OnUpdate(oldObj, newObj any) {
	before, wasNode := oldObj.(*corev1.Node)
	after, isNode := newObj.(*corev1.Node)
	if wasNode && isNode && isHeartbeat(before, after) {
		return
	}
	h.ResourceEventHandler.OnUpdate(oldObj, newObj)
}

// isHeartbeat reports whether two versions of a Node, as stripNode returns them, differ in nothing but their version.
func isHeartbeat(before, after *corev1.Node) bool {
	if before.ResourceVersion == after.ResourceVersion {
		return false // a resync
	}
	unchanged := *before
	unchanged.ResourceVersion = after.ResourceVersion
	return equality.Semantic.DeepEqual(&unchanged, after)
}
