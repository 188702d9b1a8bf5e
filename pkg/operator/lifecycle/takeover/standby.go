package takeover

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// missing returns what has to be there before the predecessor may stop, as the end of a sentence, or "".
//
// Every control-plane node must have a static pod that is Ready, except for the last one, for which the images must be
// there. Its process starts seconds after the predecessor has ended, and asks for the lease at once. A process that
// stands by may ask up to 57 s later.
//
// A node where a pod of the predecessor occupies the port cannot have one. If that is so on every node, as on a single
// node, the images must be there: the kubelet has pulled them before an installer runs.
func (s *snapshot) missing() string {
	if len(s.status.NodeStatuses) == 0 {
		return ": no control-plane node is known yet"
	}
	var absent []string
	free := 0
	for _, node := range s.status.NodeStatuses {
		if s.occupied(node.NodeName) {
			continue
		}
		free++
		if node.CurrentRevision == 0 || !s.standsBy(node.NodeName) {
			absent = append(absent, "node/"+node.NodeName)
		}
	}
	switch {
	case len(absent) == 1 && free > 1 && s.installsOn(absent[0]):
		return ""
	case len(absent) > 0:
		return ": waiting for " + strings.Join(absent, ", ")
	case free == 0 && !slices.ContainsFunc(s.pods, s.installs):
		return ": waiting for an installer pod that has pulled the images; the port 10258 is occupied on every node"
	}
	return ""
}

// installsOn reports whether the images are there for the static pod of a node.
func (s *snapshot) installsOn(node string) bool {
	return slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		return "node/"+pod.Spec.NodeName == node && s.installs(pod)
	})
}

// occupied reports whether a pod of the predecessor listens on the static pod's port on a node.
func (s *snapshot) occupied(node string) bool {
	return slices.ContainsFunc(s.Predecessors(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node && predecessor.ListensOn10258(&pod.Spec)
	})
}

func (s *snapshot) standsBy(node string) bool {
	pod := s.StaticPod(node)
	return pod != nil && controlplane.IsReady(pod)
}

// installs reports whether a pod is an installer of the latest revision for which the kubelet has pulled the images of
// the static pod.
func (s *snapshot) installs(pod *corev1.Pod) bool {
	return controlplane.Installs(pod, pod.Spec.NodeName, s.status.LatestAvailableRevision) &&
		pod.DeletionTimestamp == nil &&
		len(pod.Status.InitContainerStatuses) > 0 &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated == nil || c.State.Terminated.ExitCode != 0
		})
}
