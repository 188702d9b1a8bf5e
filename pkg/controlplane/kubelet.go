package controlplane

import (
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
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		switch condition.Status {
		case corev1.ConditionTrue:
			return KubeletReady
		case corev1.ConditionUnknown:
			return KubeletSilent
		case corev1.ConditionFalse:
		}
	}
	// The Node was registered a moment ago, or its kubelet says so.
	return KubeletNotReady
}
