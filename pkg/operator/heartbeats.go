package operator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// isChange reports whether two versions of a Node, as stripNode returns them, differ in something that a controller
// reads. A kubelet writes its Node's status every five minutes at the latest, some every ten seconds, and each write
// would call every controller that reads Nodes.
//
// A controller that decides by time needs a timer of its own: no Node is its clock.
func isChange(oldObj, newObj any) bool {
	before, wasNode := oldObj.(*corev1.Node)
	after, isNode := newObj.(*corev1.Node)
	if !wasNode || !isNode || before.ResourceVersion == after.ResourceVersion { // a resync
		return true
	}
	unchanged := *before
	unchanged.ResourceVersion = after.ResourceVersion
	return !equality.Semantic.DeepEqual(&unchanged, after)
}
