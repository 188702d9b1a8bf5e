package staticpod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// kubelets is the informer of Nodes with the events that tell of another state of a kubelet. A kubelet writes its
// Node's status again and again, and library-go's installer controller reads the operator's resource from the API
// server in each sync.
type kubelets struct{ cache.SharedIndexInformer }

// AddEventHandler implements factory.Informer.
func (k kubelets) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return k.SharedIndexInformer.AddEventHandler(kubeletHandler{handler})
}

type kubeletHandler struct{ cache.ResourceEventHandler }

// OnUpdate drops an update with which the kubelet remains as it was.
func (h kubeletHandler) OnUpdate(oldObj, newObj any) {
	before, wasNode := oldObj.(*corev1.Node)
	after, isNode := newObj.(*corev1.Node)
	if wasNode && isNode && before.UID == after.UID && controlplane.KubeletOf(before) == controlplane.KubeletOf(after) {
		return
	}
	h.ResourceEventHandler.OnUpdate(oldObj, newObj)
}
