package staticpod

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

// puller is an init container that runs the image-puller.
func puller(name, image string, readOnly bool, command ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: command,
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
		VolumeMounts:             []corev1.VolumeMount{{Name: "image-puller", MountPath: "/image-puller", ReadOnly: readOnly}},
	}
}

func copies() corev1.Container {
	return puller("copy-image-puller", "operator", false, "/usr/bin/image-puller", "/image-puller/image-puller")
}

// pulls is an init container that makes the kubelet pull an image.
func pulls(container, image string) corev1.Container {
	return puller("pull-"+container, image, true, "/image-puller/image-puller")
}

func TestTheKubeletPullsTheImagesOfTheStaticPodBeforeTheInstallerStarts(t *testing.T) {
	always := pulls("sidecar", "registry/sidecar:1")
	always.ImagePullPolicy = corev1.PullAlways
	for name, tc := range map[string]struct {
		staticPod string
		want      []corev1.Container
	}{
		"each image once, and not the operator's": {
			staticPod: `{"spec": {
				"initContainers": [
					{"name": "env", "image": "operator", "imagePullPolicy": "IfNotPresent"},
					{"name": "prepare", "image": "registry/prepare:1", "imagePullPolicy": "IfNotPresent"}
				],
				"containers": [
					{"name": "cloud-controller-manager", "image": "registry/ccm:1", "imagePullPolicy": "IfNotPresent"},
					{"name": "second", "image": "registry/ccm:1", "imagePullPolicy": "IfNotPresent"},
					{"name": "file-syncer", "image": "operator", "imagePullPolicy": "IfNotPresent"},
					{"name": "sidecar", "image": "registry/sidecar:1", "imagePullPolicy": "Always"}
				]
			}}`,
			want: []corev1.Container{copies(), pulls("prepare", "registry/prepare:1"),
				pulls("cloud-controller-manager", "registry/ccm:1"), always},
		},
		"the operator's image of the release that rendered the revision": {
			staticPod: `{"spec": {"containers": [
				{"name": "file-syncer", "image": "former-operator", "imagePullPolicy": "IfNotPresent"}
			]}}`,
			want: []corev1.Container{copies(), pulls("file-syncer", "former-operator")},
		},
		"the operator's image is on the node when the installer starts": {
			staticPod: `{"spec": {"containers": [{"name": "file-syncer", "image": "operator"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			configMaps := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().ConfigMaps()
			require.NoError(t, configMaps.Informer().GetStore().Add(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager-pod-7"},
				Data:       map[string]string{"pod.yaml": tc.staticPod},
			}))
			installer := pod("installer-7-master-0", nil)
			installer.Spec = corev1.PodSpec{
				Volumes:    []corev1.Volume{{Name: "kubelet-dir"}},
				Containers: []corev1.Container{{Name: "installer"}},
			}
			before := installer.DeepCopy()
			mutate := pullImages(configMaps.Lister().ConfigMaps(target), "operator")
			require.NoError(t, mutate(installer, "master-0", &operatorv1.StaticPodOperatorSpec{}, 7))

			require.Equal(t, tc.want, installer.Spec.InitContainers)
			if tc.want != nil {
				before.Spec.Volumes = append(before.Spec.Volumes, corev1.Volume{
					Name: "image-puller", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
				})
			}
			installer.Spec.InitContainers = nil
			require.Equal(t, before, installer, "nothing else changes")
		})
	}
}

func TestWithoutItsStaticPodARevisionIsNotInstalled(t *testing.T) {
	configMaps := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().ConfigMaps()
	mutate := pullImages(configMaps.Lister().ConfigMaps(target), "operator")
	require.EqualError(t, mutate(pod("installer-7-master-0", nil), "master-0", nil, 7),
		"reading configmap/cloud-controller-manager-pod-7 in openshift-cloud-controller-manager: "+
			`configmap "cloud-controller-manager-pod-7" not found`)
	require.NoError(t, configMaps.Informer().GetStore().Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "cloud-controller-manager-pod-7"},
		Data:       map[string]string{"pod.yaml": "spec: 1"},
	}))
	require.EqualError(t, mutate(pod("installer-7-master-0", nil), "master-0", nil, 7),
		"decoding configmap/cloud-controller-manager-pod-7 in openshift-cloud-controller-manager, key pod.yaml: "+
			"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field "+
			"Pod.spec of type v1.PodSpec")
}

// Without the mutation the installer would replace the manifest first. A single-node cluster would then have no
// cloud-controller-manager while the image cannot be pulled.
func TestAnInstallerWaitsForTheImageOfItsStaticPod(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	controller, _, kube := newInstaller(t, clock, &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 2},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1, TargetRevision: 2}},
	}, staticPod("1", true))
	require.NoError(t, controller.Sync(t.Context(),
		controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock))))
	installing, err := kube.CoreV1().Pods(target).Get(t.Context(), "installer-2-master-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []corev1.Container{copies(), pulls("cloud-controller-manager", "openstack")},
		installing.Spec.InitContainers)
	require.Equal(t, "operator", installing.Spec.Containers[0].Image)
}

func TestARevisionWithAnotherImageReplacesAnInstallerThatWaits(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	waiting := pod("installer-2-master-0", map[string]string{"app": "installer"})
	waiting.Spec.NodeName = "master-0"
	waiting.Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
		Name:  "pull-cloud-controller-manager",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
	controller, operator, kube := newInstaller(t, clock, &operatorv1.StaticPodOperatorStatus{
		OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 3},
		NodeStatuses:   []operatorv1.NodeStatus{{NodeName: "master-0", CurrentRevision: 1, TargetRevision: 2}},
	}, waiting, staticPod("1", true))
	sync := func() operatorv1.NodeStatus {
		_, err := controllertest.NewTimer(clock, events.NewInMemoryRecorder("test", clock)).
			Run(t.Context(), controller.Sync, settlePeriod)
		require.NoError(t, err)
		_, status, _, err := operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		return status.NodeStatuses[0]
	}
	next := operatorv1.NodeStatus{NodeName: "master-0", CurrentRevision: 1, TargetRevision: 3}
	require.Equal(t, next, sync())
	_, err := kube.CoreV1().Pods(target).Get(t.Context(), waiting.Name, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	require.Equal(t, next, sync())
	installing, err := kube.CoreV1().Pods(target).Get(t.Context(), "installer-3-master-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []corev1.Container{copies(), pulls("cloud-controller-manager", "openstack")},
		installing.Spec.InitContainers)
}

func TestAnInstallerKnowsTheProcessOfItsNodeThatLeads(t *testing.T) {
	for name, tc := range map[string]struct {
		node   string
		change func(lease *controlplane.Lease, c *controlplanetest.Cluster)
		want   []string
	}{
		"it leads":           {node: "m0", want: []string{"-v=2", "--holder=m0_first"}},
		"another node leads": {node: "m1", want: []string{"-v=2"}},
		"another process took the lease since": {
			node: "m0", want: []string{"-v=2"}, change: func(lease *controlplane.Lease, c *controlplanetest.Cluster) {
				c.Acquire("m1", "b", 2)
				lease.See(c.Lease, controlplanetest.At(3))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lease, c := &controlplane.Lease{}, controlplanetest.New("m0", "m1")
			c.Renew(0)
			lease.See(c.Lease, controlplanetest.At(1))
			lease.ObserveHolder(c.ViewOf(lease.Record(), controlplanetest.At(1)), true)
			if tc.change != nil {
				tc.change(lease, c)
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"-v=2"}}}}}
			require.NoError(t, nameHolder(lease)(pod, tc.node, &operatorv1.StaticPodOperatorSpec{}, 7))
			require.Equal(t, tc.want, pod.Spec.Containers[0].Args)
		})
	}
}

func TestAnInstallerKnowsNoHolderBeforeALeaseWasSeen(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	require.NoError(t, nameHolder(&controlplane.Lease{})(pod, "m0", &operatorv1.StaticPodOperatorSpec{}, 7))
	require.Empty(t, pod.Spec.Containers[0].Args)
}
