package staticpod

import (
	"errors"
	"net/url"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
)

const target = "openshift-cloud-controller-manager"

func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: name, Labels: labels}}
}

func newNodePods(t *testing.T, kube *fake.Clientset, cached ...*corev1.Pod) nodePods {
	t.Helper()
	caches := informers.NewSharedInformerFactory(kube, 0)
	for _, p := range cached {
		require.NoError(t, caches.Core().V1().Pods().Informer().GetStore().Add(p))
	}
	return nodePodsOf(options{Deps: dependencies.Deps{Kube: kube, Target: caches}, image: "registry/operator@sha256:2"},
		func() (*url.URL, error) { return url.Parse("https://[fd00::1]:6443") })
}

func TestOnlyInstallerPodsAreReadLive(t *testing.T) {
	kube := fake.NewClientset(pod("installer-1-master-0", nil))
	pods := newNodePods(t, kube, pod("cloud-controller-manager-master-0", map[string]string{"app": "cloud-controller-manager"}),
		pod("installer-0-master-0", map[string]string{"app": "installer"})).Pods(target)

	found, err := pods.Get(t.Context(), "cloud-controller-manager-master-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "cloud-controller-manager-master-0", found.Name)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=installer"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "installer-0-master-0", list.Items[0].Name)
	require.Empty(t, kube.Actions())

	_, err = pods.Get(t.Context(), "installer-1-master-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, kube.Actions(), 1)
}

// NodeRestriction lets any kubelet create a mirror pod of any name on its own node.
func TestAMirrorPodIsNoInstaller(t *testing.T) {
	mirror := pod("installer-1-master-0", map[string]string{"app": "installer"})
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	mirror.Spec.NodeName, mirror.Status.Phase = "worker-0", corev1.PodSucceeded
	kube := fake.NewClientset(mirror)
	pods := newNodePods(t, kube, mirror).Pods(target)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=installer"})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	_, err = pods.Get(t.Context(), "installer-1-master-0", metav1.GetOptions{})
	require.EqualError(t, err, `pods "installer-1-master-0" not found`)
	_, err = pods.Create(t.Context(), pod("installer-1-master-0", nil), metav1.CreateOptions{})
	require.NoError(t, err, "the name is free")
}

func TestOfATerminationMessageTheLineThatMattersIsLeft(t *testing.T) {
	const message = "I1121 09:00:00.000001       1 flags.go:64] FLAG: --vmodule=\"\"\n" +
		"F1121 09:00:01.123457       1 main.go:72] Post \"https://ccm:hunter2@keystone/v3\": connection refused\n"
	const forged = "F1121 08:00:00.000000       1 main.go:72] Authentication failed\n" // in a value, hours ago
	const summary = `Post "https://<redacted>@keystone/v3": connection refused`
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	crashing := pod("cloud-controller-manager-master-0", nil)
	crashing.Status.ContainerStatuses = []corev1.ContainerStatus{
		{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
		},
		{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Message: message + forged, StartedAt: metav1.NewTime(begin), FinishedAt: metav1.NewTime(begin.Add(time.Second)),
		}}},
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}},
	}
	pods := newNodePods(t, fake.NewClientset(), crashing).Pods(target)
	found, err := pods.Get(t.Context(), crashing.Name, metav1.GetOptions{})
	require.NoError(t, err)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, statuses := range [][]corev1.ContainerStatus{found.Status.ContainerStatuses, list.Items[0].Status.ContainerStatuses} {
		require.Equal(t, summary, statuses[0].State.Waiting.Message)
		require.Equal(t, summary, statuses[0].LastTerminationState.Terminated.Message)
		require.Equal(t, summary, statuses[1].State.Terminated.Message)
		require.Equal(t, "no such image", statuses[2].State.Waiting.Message)
	}
	require.Equal(t, "back-off 5m0s", crashing.Status.ContainerStatuses[0].State.Waiting.Message, "the cache is not touched")
}

// library-go would only say that there is no termination message.
func TestAnInstallerPodThatFailedInAnInitContainerReportsItsMessage(t *testing.T) {
	failed := pod("installer-1-master-0", nil)
	failed.Status = corev1.PodStatus{
		Phase: corev1.PodFailed,
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "copy-image-puller", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "copied"}}},
			{Name: "pull-cloud-controller-manager", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Message: "exec: permission denied, password=hunter2\n",
			}}},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "installer", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"},
		}}},
	}
	for phase, want := range map[corev1.PodPhase]map[string]string{
		corev1.PodFailed:  {"installer": "", "pull-cloud-controller-manager": "exec: permission denied, password=<redacted>"},
		corev1.PodPending: {"installer": ""},
	} {
		failed.Status.Phase = phase
		found, err := newNodePods(t, fake.NewClientset(failed.DeepCopy())).Pods(target).Get(t.Context(), failed.Name, metav1.GetOptions{})
		require.NoError(t, err)
		messages := map[string]string{}
		for _, status := range found.Status.ContainerStatuses {
			messages[status.Name] = ""
			if status.State.Terminated != nil {
				messages[status.Name] = status.State.Terminated.Message
			}
		}
		require.Equal(t, want, messages, phase)
	}
	_, err := newNodePods(t, fake.NewClientset()).Pods(target).Get(t.Context(), failed.Name, metav1.GetOptions{})
	require.EqualError(t, err, `pods "installer-1-master-0" not found`)
}

func TestPodsOnNodesAreFitForUninitializedNodes(t *testing.T) {
	kube := fake.NewClientset()
	limited := pod("installer-1-master-0", nil)
	limited.Spec.Containers = []corev1.Container{{
		Name: "installer",
		Env:  []corev1.EnvVar{{Name: "NODE_NAME", Value: "master-0"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("150m")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("150m")},
		},
	}}
	created, err := newNodePods(t, kube).Pods(target).Create(t.Context(), limited, metav1.CreateOptions{})
	require.NoError(t, err)

	require.True(t, created.Spec.HostNetwork)
	require.Equal(t, corev1.DNSDefault, created.Spec.DNSPolicy)
	require.Equal(t, map[string]string{
		"openshift.io/required-scc":               "privileged",
		"target.workload.openshift.io/management": `{"effect": "PreferredDuringScheduling"}`,
	}, created.Annotations)
	container := created.Spec.Containers[0]
	require.Equal(t, "registry/operator@sha256:2", container.Image)
	require.Nil(t, container.Resources.Limits)
	require.Equal(t, "150m", container.Resources.Requests.Cpu().String())
	require.Equal(t, []corev1.EnvVar{
		{Name: "NODE_NAME", Value: "master-0"},
		{Name: "KUBERNETES_SERVICE_HOST", Value: "fd00::1"},
		{Name: "KUBERNETES_SERVICE_PORT", Value: "6443"},
	}, container.Env)
	require.False(t, limited.Spec.HostNetwork, "what is given is not changed")
}

func TestNoPodIsMadeWithoutAnAddress(t *testing.T) {
	kube := fake.NewClientset()
	pods := newNodePods(t, kube)
	pods.server = func() (*url.URL, error) { return nil, errors.New("no address") }
	_, err := pods.Pods(target).Create(t.Context(), pod("installer-1-master-0", nil), metav1.CreateOptions{})
	require.EqualError(t, err, "no address")
	require.Empty(t, kube.Actions())
}

func TestWhereTheAPIServerIs(t *testing.T) {
	for name, tc := range map[string]struct{ observed, wantHost, wantErr string }{
		"as it was observed": {observed: `{"apiServerInternalURI": "https://api-int.example.com:6443"}`, wantHost: "api-int.example.com:6443"},
		"not observed": {
			wantErr: `status.apiServerInternalURI of infrastructure.config.openshift.io/cluster is "", ` +
				`which names no host; restore it from the cluster's installation`,
		},
		"no URL": {
			observed: `{"apiServerInternalURI": "api-int"}`,
			wantErr: `status.apiServerInternalURI of infrastructure.config.openshift.io/cluster is "api-int", ` +
				`which names no host; restore it from the cluster's installation`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := apiServer(v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{
				ObservedConfig: runtime.RawExtension{Raw: []byte(tc.observed)},
			}, &operatorv1.OperatorStatus{}, nil))
			if tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.wantHost, server.Host)
		})
	}
}
