package staticpod

import (
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

const (
	imagePuller = "/usr/bin/image-puller"

	// imagePullerVolume has the program's copy, which the init containers run in other images.
	imagePullerVolume = "image-puller"
	imagePullerMount  = "/image-puller"
	imagePullerCopy   = imagePullerMount + "/image-puller"
)

// pullImages returns a mutation that adds init containers to an installer pod, one for each image of the static pod
// other than the operator's. So the installer starts after the kubelet has pulled all of them: with a wrong image, or a
// registry that does not answer, the former static pod keeps running.
func pullImages(
	configMaps corelisters.ConfigMapNamespaceLister, operatorImage string,
) installer.InstallerPodMutationFunc {
	return func(pod *corev1.Pod, _ string, _ *operatorv1.StaticPodOperatorSpec, revision int32) error {
		name := operand.NameIn(operand.PodConfigMap, revision)
		configMap, err := configMaps.Get(name)
		if err != nil {
			return fmt.Errorf("reading configmap/%s in %s: %w", name, operand.Namespace, err)
		}
		staticPod, err := operand.StaticPodOf(configMap)
		if err != nil {
			return err
		}
		pulls := imagePulls(staticPod, operatorImage)
		if len(pulls) == 0 {
			return nil
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name:         imagePullerVolume,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		})
		copies := newImagePuller("copy-image-puller", operatorImage, corev1.PullIfNotPresent,
			[]string{imagePuller, imagePullerCopy}, false)
		pod.Spec.InitContainers = append(append(pod.Spec.InitContainers, copies), pulls...)
		return nil
	}
}

func imagePulls(staticPod *corev1.Pod, operatorImage string) []corev1.Container {
	seen := map[string]bool{operatorImage: true}
	var pulls []corev1.Container
	for _, container := range slices.Concat(staticPod.Spec.InitContainers, staticPod.Spec.Containers) {
		if seen[container.Image] {
			continue
		}
		seen[container.Image] = true
		pulls = append(pulls, newImagePuller("pull-"+container.Name, container.Image, container.ImagePullPolicy,
			[]string{imagePullerCopy}, true))
	}
	return pulls
}

// newImagePuller returns an init container that runs the image-puller, with the user and the capabilities of the static
// pod's containers: root, as the pod says, and none. So it can start in each image in which they can, whatever the
// owners and modes of the image's files. As root it may also write to the volume.
func newImagePuller(name, image string, policy corev1.PullPolicy, command []string, readOnly bool) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           image,
		ImagePullPolicy: policy,
		Command:         command,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("20Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			ReadOnlyRootFilesystem:   ptr.To(true),
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			{Name: imagePullerVolume, MountPath: imagePullerMount, ReadOnly: readOnly},
		},
	}
}

// nameHolder returns a mutation that passes the leader's identity, if it is one of ours, to the installer pod of its
// node. The installer ends that process, so its lease can be released before the next one starts.
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
