package removal

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The pod has to run on a node without a pod network, and to be admitted like the installer pods.
func TestTheRemovalPod(t *testing.T) {
	server, err := url.Parse("https://api-int.example.com:6443")
	require.NoError(t, err)
	pod := newPod("master-0", "operator", 4, server)
	require.Equal(t, "removal-master-0", pod.Name)
	require.Equal(t, "master-0", pod.Spec.NodeName)
	require.Equal(t, "privileged", pod.Annotations["openshift.io/required-scc"])
	require.JSONEq(t, `{"effect": "PreferredDuringScheduling"}`, pod.Annotations["target.workload.openshift.io/management"])
	require.Equal(t, "system-node-critical", pod.Spec.PriorityClassName)
	require.Equal(t, "installer-sa", pod.Spec.ServiceAccountName)
	require.False(t, *pod.Spec.AutomountServiceAccountToken)
	require.True(t, pod.Spec.HostNetwork)
	require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
	require.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, pod.Spec.Tolerations)

	require.Len(t, pod.Spec.Containers, 1)
	container := pod.Spec.Containers[0]
	require.Equal(t, "operator", container.Image)
	require.Equal(t, []string{"/usr/bin/cluster-cloud-controller-manager-operator", "remove"}, container.Command)
	require.Equal(t, []string{
		"-v=4", "--resource-dir=/etc/kubernetes/static-pod-resources",
		"--cert-dir=/etc/kubernetes/static-pod-resources/cloud-controller-manager-certs", "--pod-manifest-dir=/etc/kubernetes/manifests",
	}, container.Args)
	require.Contains(t, container.Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: "api-int.example.com"})
	require.Contains(t, container.Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: "6443"})
	require.Empty(t, container.Resources.Limits)
	require.Contains(t, container.Resources.Requests, corev1.ResourceCPU)
	require.Contains(t, container.Resources.Requests, corev1.ResourceMemory)
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, container.TerminationMessagePolicy)
	for _, volume := range pod.Spec.Volumes {
		require.Nil(t, volume.Secret, "it reads no Secret")
	}
}

func TestWhyARemovalPodFailed(t *testing.T) {
	ended := []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "no space left"}}}}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"its container said why": {corev1.PodStatus{ContainerStatuses: ended, Message: "evicted"}, "no space left"},
		"the kubelet ended it":   {corev1.PodStatus{Message: "evicted"}, "evicted"},
		"nobody says why":        {corev1.PodStatus{}, "read its log"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, failureOf(&corev1.Pod{Status: tc.status})) })
	}
}

func TestWhatAKubeletWritesAboutAPodIsShort(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
	pod := &corev1.Pod{Status: corev1.PodStatus{Message: huge, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: huge}},
	}}}}
	require.Less(t, len(failureOf(pod)), 400)
	require.Less(t, len(startFailureOf(pod)), 400)
}
