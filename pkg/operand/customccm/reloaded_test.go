package customccm_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand/customccm"
)

func TestWhichReloadedKeysAPodMayStillRead(t *testing.T) {
	pod := func(suffix, data, keys string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:        "cloud-controller-manager-pod" + suffix,
				Annotations: map[string]string{customccm.ReloadedAnnotation: keys},
			},
			Data: map[string]string{"pod.yaml": data},
		}
	}
	at := func(current, target int32) operatorv1.NodeStatus {
		return operatorv1.NodeStatus{CurrentRevision: current, TargetRevision: target}
	}
	for name, tc := range map[string]struct {
		configMaps []*corev1.ConfigMap
		nodes      []operatorv1.NodeStatus
		want       []string
	}{
		"the candidate's": {configMaps: []*corev1.ConfigMap{pod("", "new", "b,a")}, want: []string{"a", "b"}},
		"none":            {configMaps: []*corev1.ConfigMap{pod("", "new", "")}},
		"those of a revision that a node runs": {
			configMaps: []*corev1.ConfigMap{pod("", "new", ""), pod("-1", "old", "a")},
			nodes:      []operatorv1.NodeStatus{at(2, 0), at(1, 2)},
			want:       []string{"a"},
		},
		"those of a revision that a node is about to run": {
			configMaps: []*corev1.ConfigMap{pod("", "new", ""), pod("-2", "old", "a")},
			nodes:      []operatorv1.NodeStatus{at(1, 2)},
			want:       []string{"a"},
		},
		"not those of a revision that no node runs": {
			configMaps: []*corev1.ConfigMap{pod("", "new", ""), pod("-1", "old", "a")},
			nodes:      []operatorv1.NodeStatus{at(2, 0)},
		},
		"not those that the candidate has given up without another pod": {
			configMaps: []*corev1.ConfigMap{pod("", "same", "b"), pod("-1", "same", "a")},
			nodes:      []operatorv1.NodeStatus{at(1, 0)},
			want:       []string{"b"},
		},
		"those that run while there is no candidate": {
			configMaps: []*corev1.ConfigMap{pod("-1", "old", "a")},
			nodes:      []operatorv1.NodeStatus{at(1, 0)},
			want:       []string{"a"},
		},
		"not those of another ConfigMap": {
			configMaps: []*corev1.ConfigMap{pod("", "new", ""), pod("s", "new", "a")},
			nodes:      []operatorv1.NodeStatus{at(1, 0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, customccm.ReloadedByPods("cloud-controller-manager-pod", tc.configMaps, tc.nodes))
		})
	}
}
