package takeover

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// missing returns what must exist before the predecessor may stop, as the end of a sentence, or "".
//
// Every control-plane node must have a Ready static pod, except for the last one, which needs only the images: its
// process starts seconds after the predecessor has ended, and asks for the lease at once, a standby up to 57 s later.
//
// A node where a pod of the predecessor occupies the port cannot have a static pod. If that is so on every node, as on
// a single node, the images must be there: the kubelet pulls them before an installer runs.
func (v *view) missing() string {
	if len(v.Status().NodeStatuses) == 0 {
		return ": no control-plane node is known yet"
	}
	var absent []string
	free := 0
	for _, node := range v.Status().NodeStatuses {
		if v.occupied(node.NodeName) {
			continue
		}
		free++
		if node.CurrentRevision == 0 || !controlplane.IsReady(v.StaticPod(node.NodeName)) {
			absent = append(absent, "node/"+node.NodeName)
		}
	}
	switch {
	case len(absent) == 1 && free > 1 && v.installsOn(absent[0]):
		return ""
	case len(absent) > 0:
		return ": waiting for " + strings.Join(absent, ", ")
	case free == 0 && !slices.ContainsFunc(v.Pods(), v.installs):
		return ": waiting for an installer pod that has pulled the images; the port 10258 is occupied on every node"
	}
	return ""
}

func (v *view) installsOn(node string) bool {
	return slices.ContainsFunc(v.Pods(), func(pod *corev1.Pod) bool {
		return "node/"+pod.Spec.NodeName == node && v.installs(pod)
	})
}

func (v *view) occupied(node string) bool {
	return slices.ContainsFunc(v.Predecessors(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && predecessor.ListensOn10258(&pod.Spec)
	})
}

// installs reports whether a pod is an installer of the latest revision, and the static pod's images are pulled.
func (v *view) installs(pod *corev1.Pod) bool {
	return controlplane.Installs(pod, pod.Spec.NodeName, v.Status().LatestAvailableRevision) &&
		pod.DeletionTimestamp == nil &&
		len(pod.Status.InitContainerStatuses) > 0 &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated == nil || c.State.Terminated.ExitCode != 0
		})
}
