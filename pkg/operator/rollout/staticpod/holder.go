package staticpod

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// nameHolder returns a mutation that tells an installer pod the identity of the process of its node that leads. The
// installer ends that process, so it can release its lease before the next one starts. Leader election records a
// process only if it is one of ours.
func nameHolder(lease *controlplane.Lease) installer.InstallerPodMutationFunc {
	return func(pod *corev1.Pod, node string, _ *operatorv1.StaticPodOperatorSpec, _ int32) error {
		record := lease.Record()
		process := record.Process
		if process.Node != node || record.Lease == nil || process.Identity != leaseholder.Identity(record.Lease) {
			return nil
		}
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].Args = append(pod.Spec.Containers[i].Args, "--holder="+process.Identity)
		}
		return nil
	}
}
