package takeover

import (
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// isPredecessors reports whether the predecessor's last leader holds the lease. No two CCMs lead if that is released:
//   - The predecessor's Deployments and pods are gone from the API. Their kubelets have reported that the containers
//     ended. A pod may also vanish because its Node does not report; then the lease expires by itself.
//   - The holder is none of ours, which also stand by: it acquired the lease before the first run of the static pod's
//     container on its node that the kubelet reports. The times are from that node's clock. A static pod of which
//     nothing is reported yet may lead already.
func (v *view) isPredecessors(holder controlplane.Holder) bool {
	return v.Record().Exists && holder.Identity != "" && holder.State != controlplane.Expired && !v.mayBeOurs(holder)
}

// mayBeOurs reports whether the holder is, or was, a container of a static pod. Leader election releases the lease of
// one that has ended.
func (v *view) mayBeOurs(holder controlplane.Holder) bool {
	if holder.State.Runs() {
		return true
	}
	pod := v.StaticPod(holder.Node)
	if pod == nil {
		return slices.ContainsFunc(v.Status().NodeStatuses, func(n operatorv1.NodeStatus) bool {
			return (n.CurrentRevision > 0 || n.TargetRevision > 0) &&
				leaseholder.NodeOf(holder.Identity, []string{n.NodeName}) != ""
		})
	}
	container := controlplane.ContainerStatus(pod)
	if last := controlplane.Terminated(container); last != nil {
		return !holder.Acquired.Before(last.StartedAt.Time)
	}
	return container.State.Running == nil || !holder.Acquired.Before(container.State.Running.StartedAt.Time)
}

// missing returns what has to be there before the predecessor may stop, as the end of a sentence, or "".
//
// Every control-plane node must have a static pod that is Ready, except for the last one, for which the images must be
// there. Its process starts seconds after the predecessor has ended, and asks for the lease at once. A process that
// stands by may ask up to 57 s later.
//
// A node where a pod of the predecessor occupies the port cannot have one. If that is so on every node, as on a single
// node, the images must be there: the kubelet has pulled them before an installer runs.
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

// installs reports whether a pod is an installer of the latest revision for which the kubelet has pulled the images of
// the static pod.
func (v *view) installs(pod *corev1.Pod) bool {
	return controlplane.Installs(pod, pod.Spec.NodeName, v.Status().LatestAvailableRevision) &&
		pod.DeletionTimestamp == nil &&
		len(pod.Status.InitContainerStatuses) > 0 &&
		!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Terminated == nil || c.State.Terminated.ExitCode != 0
		})
}
