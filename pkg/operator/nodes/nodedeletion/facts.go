package nodedeletion

import (
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// Facts are what the controller reads of a Node. The cache has them instead of Nodes: a Node without most of its fields
// is still a kilobyte and a half, and a cluster may have many thousands.
type Facts struct {
	name, version string
	uid           types.UID
	// scheme is the part of the provider ID before "://". permission is the value of the annotation.
	scheme, zone, permission unique.Handle[string]
	taints                   []corev1.Taint
	kubelet                  controlplane.Kubelet
	// transition is in seconds, as the API has it.
	transition int64
}

var _ metav1.ObjectMetaAccessor = &Facts{}

// GetObjectMeta returns what an informer reads of its objects.
func (f *Facts) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: f.name, UID: f.uid, ResourceVersion: f.version}
}

// StripNode returns the Facts of a Node. It is a cache.TransformFunc.
func StripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	scheme, _, _ := strings.Cut(node.Spec.ProviderID, "://")
	facts := &Facts{
		name: node.Name, version: node.ResourceVersion, uid: node.UID, taints: node.Spec.Taints,
		scheme: unique.Make(scheme), zone: unique.Make(node.Labels[corev1.LabelTopologyZone]),
		permission: unique.Make(node.Annotations[Annotation]), kubelet: controlplane.KubeletOf(node),
	}
	for _, ready := range controlplane.ReadyConditions(node) {
		facts.transition = ready.LastTransitionTime.Unix()
	}
	return facts, nil
}
