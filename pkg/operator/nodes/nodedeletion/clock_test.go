package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// kube-controller-manager writes the times of a condition, by its own clock.
func TestAWrongClockOfKubeControllerManagerChangesNothing(t *testing.T) {
	for name, skew := range map[string]time.Duration{
		"five minutes ahead": 5 * time.Minute, "two hours ahead": 2 * time.Hour, "two hours behind": -2 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.monitorSkew = skew
			c.run(time.Minute)
			c.silence("worker-1")
			c.run(19 * time.Second)
			require.NotContains(t, c.marks(), "worker-1 Confirmed", "the kubelet may come back")
			c.run(41 * time.Second)
			require.Equal(t, []string{"worker-1 after 1m25s"}, c.deleted)
		})
	}
}

// Both reports are between two looks of the controller.
func TestAKubeletThatReportedForAMomentIsSilentAnew(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.pass = 300
	c.silence("worker-1")
	c.run(30 * time.Second)
	require.Equal(t, []string{"worker-1 Confirmed"}, c.marks())
	c.report("worker-1", corev1.ConditionTrue)
	c.report("worker-1", corev1.ConditionUnknown)
	c.run(time.Second)
	require.Empty(t, c.marks())
	c.run(18 * time.Second)
	require.Empty(t, c.marks())
}

// What the CCM announced before does not count when the kubelet falls silent later.
func TestAReadyKubeletEndsWhatTheCCMAnnounced(t *testing.T) {
	c := newCluster(t, "azure", five...)
	c.report("worker-1", corev1.ConditionFalse)
	c.unknown["worker-1"] = true
	c.run(10 * time.Second)
	clear(c.unknown)
	c.report("worker-1", corev1.ConditionTrue)
	c.run(10 * time.Second)
	c.report("worker-1", corev1.ConditionUnknown)
	for range 120 {
		c.run(time.Second)
		require.Empty(t, c.marks())
	}
}
