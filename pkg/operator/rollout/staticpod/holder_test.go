package staticpod

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

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
