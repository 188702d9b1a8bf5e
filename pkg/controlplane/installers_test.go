package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

func TestInstallerPodsAreKnownByTheirNames(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  string
		want bool
	}{
		"the first pod":                      {controlplane.InstallerName(7, "m0"), true},
		"a retry":                            {"installer-7-retry-1-m0", true},
		"another revision":                   {"installer-77-m0", false},
		"another pod of the operator":        {"pruner-7-m0", false},
		"a name without a revision":          {"installer-sa-m0", false},
		"a revision that no status may have": {"installer-99999999999-m0", false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: tc.pod}, Spec: corev1.PodSpec{NodeName: "m0"}}
			require.Equal(t, tc.want, controlplane.Installs(pod, "m0", 7))
			require.False(t, controlplane.Installs(pod, "m1", 7))
		})
	}
}

// A worker's kubelet may make mirror pods with any name and label. One of a move would hold up each rollout.
func TestAMirrorPodIsNoPodOfTheOperator(t *testing.T) {
	pod := func(name, app, node, mirror string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}
		pod.Spec.NodeName = node
		if mirror != "" {
			pod.Annotations = map[string]string{"kubernetes.io/config.mirror": mirror}
		}
		return pod
	}
	move, installer := pod("handover-leave-m0", "handover", "m0", ""), pod("installer-7-m0", "installer", "m0", "")
	static := pod("cloud-controller-manager-m0", "cloud-controller-manager", "m0", "1")
	view := controlplane.NewView(controlplane.State{Pods: []*corev1.Pod{
		move, pod("handover-leave-m1", "handover", "w0", "1"),
		installer, pod("installer-7-m1", "installer", "w0", "1"), static,
	}})
	require.Equal(t, []*corev1.Pod{move}, view.Moves())
	require.Equal(t, []*corev1.Pod{installer}, view.Installers())
	require.Equal(t, []*corev1.Pod{static}, view.StaticPods())
}
