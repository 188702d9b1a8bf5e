package controlplane

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Kubelet is what a Node says about its kubelet.
type Kubelet int

const (
	// KubeletSilent is a kubelet that has not reported for kube-controller-manager's grace period (40 seconds in
	// OpenShift), or whose Node does not exist. Its machine may be dead. If only the kubelet hangs, the containers run on.
	KubeletSilent Kubelet = iota
	// KubeletNotReady is a kubelet that reports that not everything on its node works: the container runtime, or only the
	// pod network, without which static pods run nevertheless.
	KubeletNotReady
	// KubeletReady is a kubelet that reports that its node works.
	KubeletReady
)

// KubeletOf returns the state of a Node's kubelet. node is nil if the Node does not exist.
func KubeletOf(node *corev1.Node) Kubelet {
	if node == nil {
		return KubeletSilent
	}
	for _, condition := range ReadyConditions(node) {
		switch condition.Status {
		case corev1.ConditionTrue:
			return KubeletReady
		case corev1.ConditionUnknown:
			return KubeletSilent
		case corev1.ConditionFalse:
		}
	}
	// The Node was registered a moment ago, or its kubelet reports NotReady.
	return KubeletNotReady
}

// ReadyConditions returns the condition in which a Node's kubelet reports, none if it has not.
func ReadyConditions(node *corev1.Node) []corev1.NodeCondition {
	return slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool {
		return c.Type != corev1.NodeReady
	})
}

// UninitializedTaint is k8s.io/cloud-provider/api.TaintExternalCloudProvider.
const UninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// IsUninitialized reports whether a Node waits for its initialization: from its registration until the CCM, or a
// cloud-node-manager, has removed the taint. By a taint that repels no pod the operator asks the CCM about initialized
// Nodes.
func IsUninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == UninitializedTaint && t.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// IsCordoned reports whether a Node takes no more pods, as before a drain. The node controller adds the taint moments
// after the field; an administrator may set it alone.
func IsCordoned(node *corev1.Node) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnschedulable
	})
}
