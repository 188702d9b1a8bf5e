package operator

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
)

func TestAnOperatorGoesOnWithWhatTheFormerContainerSawOfTheLease(t *testing.T) {
	now := time.Now()
	lease := &coordinationv1.Lease{ObjectMeta: target("cloud-controller-manager"), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("m0_a"), LeaseDurationSeconds: ptr.To(int32(137)),
		AcquireTime: &metav1.MicroTime{Time: now.Add(-time.Minute)}, RenewTime: &metav1.MicroTime{Time: now},
	}}
	var former controlplane.Lease
	before := lease.DeepCopy()
	before.Spec.RenewTime = before.Spec.AcquireTime
	former.See(before, now.Add(-time.Minute))
	former.See(lease, now)
	started := metav1.NewTime(now.Add(-2 * time.Minute))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cloud-controller-manager"}},
		Spec:       corev1.PodSpec{NodeName: "m0"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name:  "cloud-controller-manager",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		}}},
	}
	former.ObserveHolder(controlplane.NewView(controlplane.State{
		Now: now, Record: former.Record(), Pods: []*corev1.Pod{pod},
	}), true)
	data, err := former.Remember()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "leader.json")
	require.NoError(t, nodefiles.ReplaceFile(file, data))

	options, cc := assemble(t, apitest.Start(t, addToScheme))
	options.LeaderMemory = leadership.NewMemory(file)
	w, err := newWiring(options, cc)
	require.NoError(t, err)
	w.lease.See(lease, now.Add(time.Second))
	require.Equal(t, "m0_a", w.lease.Record().Process.Identity)
	require.Equal(t, "m0", w.lease.Record().Process.Node)
	require.True(t, w.lease.Record().Observed)
}
