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
