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

// ReloadedAnnotation on the pod ConfigMap holds the keys of Secrets.Reloaded, separated by commas. The pod may still
// read them from the Secret cloud-tokens after spec.custom no longer names them. It is empty if there are none.
const ReloadedAnnotation = "cloud-controller-manager.openshift.io/reloaded-secrets"

// AnnotationOf returns the value of ReloadedAnnotation for the reloaded keys of a candidate.
func AnnotationOf(reloaded map[string][]byte) string {
	return strings.Join(slices.Sorted(maps.Keys(reloaded)), ",")
}

// ReloadedBy returns the keys in ReloadedAnnotation of a pod ConfigMap.
func ReloadedBy(podConfigMap *corev1.ConfigMap) []string {
	return strings.FieldsFunc(podConfigMap.Annotations[ReloadedAnnotation], func(r rune) bool { return r == ',' })
}

// ReloadedByPods returns the reloaded keys of every pod that may run: the candidate's, and that of each revision that
// is on a node or being installed and has another pod. configMaps are those of the operand's namespace, of which the
// one named candidate and its copies are read.
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
