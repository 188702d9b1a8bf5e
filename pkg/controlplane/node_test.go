package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

func TestANodeSaysWhetherItsKubeletWorks(t *testing.T) {
	node := func(conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: conditions}}
	}
	for name, tc := range map[string]struct {
		node *corev1.Node
		want controlplane.Kubelet
	}{
		"there is no Node":        {want: controlplane.KubeletSilent},
		"it has not reported yet": {node: node(), want: controlplane.KubeletNotReady},
		"it is ready": {
			node: node(corev1.NodeCondition{Type: "Ready", Status: "True"}), want: controlplane.KubeletReady,
		},
		"it is not ready": {
			node: node(corev1.NodeCondition{Type: "Ready", Status: "False"}), want: controlplane.KubeletNotReady,
		},
		"it does not report": {
			node: node(corev1.NodeCondition{Type: "Ready", Status: "Unknown"}), want: controlplane.KubeletSilent,
		},
		"only its disk is known": {
			node: node(corev1.NodeCondition{Type: "DiskPressure", Status: "Unknown"}), want: controlplane.KubeletNotReady,
		},
		"another condition is unknown": {
			node: node(
				corev1.NodeCondition{Type: "DiskPressure", Status: "Unknown"}, corev1.NodeCondition{Type: "Ready", Status: "True"},
			), want: controlplane.KubeletReady,
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, controlplane.KubeletOf(tc.node)) })
	}
}

func TestACordonedNode(t *testing.T) {
	for name, tc := range map[string]struct {
		spec corev1.NodeSpec
		want bool
	}{
		"takes no more pods":                        {corev1.NodeSpec{Unschedulable: true}, true},
		"has the taint of the node controller":      {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.kubernetes.io/unschedulable"}}}, true},
		"has not another taint, such as a master's": {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/master"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, controlplane.IsCordoned(&corev1.Node{Spec: tc.spec}))
		})
	}
}
