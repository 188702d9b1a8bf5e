package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A CCM looks up one silent node after the other, and comes back to a Node only after all of them.
func TestAPassOfTheCCMMayTakeLong(t *testing.T) {
	for _, pass := range []time.Duration{90 * time.Second, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 15 * time.Minute} {
		t.Run(pass.String(), func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.pass = int64(pass.Seconds())
			c.report("worker-1", corev1.ConditionUnknown)
			c.unknown["worker-1"] = true
			c.run(3 * pass)
			require.Len(t, c.deleted, 1)
			require.Empty(t, reasonOf(c))
			require.Empty(t, c.marks())
		})
	}
}

// A machine that the cloud finds is not gone.
func TestAConfirmationEndsWhenTheCloudFindsTheMachine(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.pass = 300
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	c.run(time.Minute)
	require.Equal(t, []string{"worker-1 Confirmed"}, c.marks())
	clear(c.unknown)
	c.run(2 * time.Minute)
	require.Empty(t, c.marks())
	c.run(10 * time.Minute)
	require.Empty(t, c.deleted)
	require.Empty(t, c.marks())
}

// Otherwise the Node of a dead machine would stay, and nothing would report it.
func TestAConfirmationThatSomebodyRemovesIsWrittenAgain(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.pass = 300
	c.report("worker-1", corev1.ConditionUnknown)
	c.lag = 3 * time.Second
	c.unknown["worker-1"] = true
	c.run(time.Minute)
	require.Contains(t, c.marks(), "worker-1 Confirmed")
	require.Len(t, c.recorder.Events(), 1, "once, although the cache was behind")
	for range 2 {
		node := c.node("worker-1")
		delete(node.Annotations, Annotation)
		c.put(node)
		require.NotContains(t, c.marks(), "worker-1 Confirmed")
		c.run(10 * time.Second)
		require.Contains(t, c.marks(), "worker-1 Confirmed")
	}
	require.Len(t, c.recorder.Events(), 3)
	c.run(5 * time.Minute)
	require.Len(t, c.deleted, 1)
}
