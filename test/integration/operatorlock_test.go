package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A killed operator cannot release its lock, which lasts for 137 seconds. The next container of its pod takes it at
// once. While the former one runs, an operator in another pod does not.
func TestTheNextContainerOfAKilledOperatorLeadsAtOnce(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	pod, err := c.kube.CoreV1().Pods(operatorNamespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "operator-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "localhost/operator"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	inPod := []string{"POD_NAME=" + pod.Name, "POD_UID=" + string(pod.UID)}

	first := c.startOperator(t, inPod...)
	c.awaitRevision(t, 1)
	holder := c.operatorsLock(t)
	require.Contains(t, holder, "_"+pod.Name+"_"+string(pod.UID)+"_")
	other := c.startOperator(t, "POD_NAME=operator-1", "POD_UID=1111")
	other.awaitLog(t, "Attempting to acquire leader lease")

	first.kill(t)
	killed := time.Now()
	second := c.startOperator(t, inPod...)
	second.awaitLog(t, "Starting the static-pod controllers")
	took := time.Since(killed)
	t.Logf("a killed operator's successor works after %s", took.Round(100*time.Millisecond))
	require.Less(t, took, 20*time.Second)
	require.NotEqual(t, holder, c.operatorsLock(t))
	require.Contains(t, second.log.String(), "it was a former container of this pod")
	cloudConfigText(useOtherSetting)(t, c)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.False(t, other.log.contains("Starting the static-pod controllers"), "an operator in another pod acts beside it")
	require.False(t, other.log.contains("Taking the lock of a process that has ended"))
}

// TestTheLockOfAPodWhoseContainerHasTerminatedIsTaken kills an operator in a pod that is not restarted.
func TestTheLockOfAPodWhoseContainerHasTerminatedIsTaken(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	pods := c.kube.CoreV1().Pods(operatorNamespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "operator-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "localhost/operator"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	first := c.startOperator(t, "POD_NAME="+pod.Name, "POD_UID="+string(pod.UID))
	c.awaitRevision(t, 1)
	first.kill(t)
	ended := time.Now().Add(time.Second)
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "operator", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(ended),
		}},
	}}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)

	second := c.startOperator(t, "POD_NAME=operator-1", "POD_UID=1111")
	second.awaitLog(t, "Starting the static-pod controllers")
	require.Contains(t, second.log.String(), "its container has terminated")
	c.noRequestDenied(t)
}

// operatorsLock returns the holder of the operator's own lock.
func (c *cluster) operatorsLock(t *testing.T) string {
	t.Helper()
	var holder string
	await(t, "the operator's lock to be held", func(ctx context.Context) error {
		lease, err := c.kube.CoordinationV1().Leases(electionNS).Get(ctx, election, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || !strings.Contains(*lease.Spec.HolderIdentity, "_") {
			return fmt.Errorf("its holder is %v", lease.Spec.HolderIdentity)
		}
		holder = *lease.Spec.HolderIdentity
		return nil
	})
	return holder
}
