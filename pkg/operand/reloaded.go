package operand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
)

// ReloadedByPods returns the keys of the Secret cloud-tokens that Secrets of spec.custom deliver to a pod that may
// run: the candidate's, and those of each revision that a node runs or is about to run. For a revision that has the
// candidate's pod the candidate speaks, so a Secret that spec.custom no longer names leaves the nodes also if nothing
// else changed. configMaps are those of Namespace; others than the candidate and its copies are ignored.
func ReloadedByPods(configMaps []*corev1.ConfigMap, nodes []operatorv1.NodeStatus) []string {
	byName := map[string]*corev1.ConfigMap{}
	for _, configMap := range configMaps {
		byName[configMap.Name] = configMap
	}
	candidate := byName[PodConfigMap]
	keys := map[string]bool{}
	add := func(podConfigMap *corev1.ConfigMap) {
		if podConfigMap == nil {
			return
		}
		for key := range strings.SplitSeq(podConfigMap.Annotations[ReloadedAnnotation], ",") {
			keys[key] = true
		}
	}
	add(candidate)
	for _, node := range nodes {
		for _, revision := range []int32{node.CurrentRevision, node.TargetRevision} {
			copied := byName[fmt.Sprintf("%s-%d", PodConfigMap, revision)]
			if candidate == nil || copied == nil || !maps.Equal(copied.Data, candidate.Data) {
				add(copied)
			}
		}
	}
	delete(keys, "")
	return slices.Sorted(maps.Keys(keys))
}
