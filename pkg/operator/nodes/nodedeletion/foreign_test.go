package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// leaderSilence is two retry periods and the time to see a renewal.
const leaderSilence = 54 * time.Second

// identify sets the provider ID of a Node.
func (c *cluster) identify(name, providerID string) {
	node := c.node(name)
	node.Spec.ProviderID = providerID
	c.put(node)
}

// The cloud never finds the machines of bare metal or of another cloud, although they live.
func TestAMachineOfAnotherCloudIsNotAskedFor(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	for _, name := range []string{"worker-0", "master-2"} {
		c.identify(name, "baremetalhost:///"+name)
		c.unknown[name] = true
	}
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	c.run(time.Minute)
	require.Equal(t, []string{"worker-1 after 25s"}, c.deleted)
	require.Empty(t, reasonOf(c))
}

// What a cloud-controller-manager never initialized it may not delete, for example a metal worker that reboots.
func TestANodeWithoutProviderIDIsNeverConfirmed(t *testing.T) {
	c := newCluster(t, "vsphere", five...)
	c.identify("worker-1", "")
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	c.run(time.Hour)
	require.Empty(t, c.deleted)
	require.Empty(t, c.marks())
	require.Empty(t, reasonOf(c))
}

// The lease of a single control-plane node is renewed once a minute.
func TestALeaderThatRenewsAsTheLeaseAsksIsAlive(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.duration, c.period = 270, 60
	c.lead("master-0_1")
	c.run(time.Minute)
	for range 300 {
		record := c.controller.Lease.Record()
		require.NotEmpty(t, record.Term(c.clock.Now()), "at %s", c.clock.Now())
		c.run(time.Second)
	}
}
