package customccm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ReloadedAnnotation on the pod ConfigMap contains the comma-separated keys of Secrets.Reloaded, or is empty. The pod
// may still read them from the Secret cloud-tokens after spec.custom no longer names them.
const ReloadedAnnotation = "cloud-controller-manager.openshift.io/reloaded-secrets"

// AnnotationOf returns the value of ReloadedAnnotation.
func AnnotationOf(reloaded map[string][]byte) string {
	return strings.Join(slices.Sorted(maps.Keys(reloaded)), ",")
}

// ReloadedBy returns the keys in ReloadedAnnotation of a pod ConfigMap.
func ReloadedBy(podConfigMap *corev1.ConfigMap) []string {
	return strings.FieldsFunc(podConfigMap.Annotations[ReloadedAnnotation], func(r rune) bool { return r == ',' })
}

// ReloadedByPods returns the reloaded keys of every pod that may run: of the candidate's pod, and of the pods of the
// revisions that are, or are being, installed on a node. configMaps are those of the operand's namespace; candidate is
// the name of the pod ConfigMap.
func ReloadedByPods(candidate string, configMaps []*corev1.ConfigMap, nodes []operatorv1.NodeStatus) []string {
	byName := map[string]*corev1.ConfigMap{}
	for _, configMap := range configMaps {
		byName[configMap.Name] = configMap
	}
	current, keys := byName[candidate], sets.New[string]()
	if current != nil {
		keys.Insert(ReloadedBy(current)...)
	}
	for _, node := range nodes {
		for _, revision := range []int32{node.CurrentRevision, node.TargetRevision} {
			copied := byName[fmt.Sprintf("%s-%d", candidate, revision)]
			if copied != nil && (current == nil || !maps.Equal(copied.Data, current.Data)) {
				keys.Insert(ReloadedBy(copied)...)
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
