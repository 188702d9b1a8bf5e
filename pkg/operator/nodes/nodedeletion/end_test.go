package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each situation holds the deletion of a Node whose machine is gone, and lasts. The cloud tells the truth.
func TestNoHoldIsWithoutAnEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		do     func(c *cluster, dead string)
		within time.Duration
		// turns is what the turns of the other silent Nodes take where there is no probe.
		turns time.Duration
	}{
		"nothing else": {do: func(*cluster, string) {}, within: time.Minute},
		"a rollout is stuck on a living node": {
			do: func(c *cluster, _ string) { c.rollOut(5, 4); c.installing("master-0") }, within: 7 * time.Minute,
		},
		"nodes wait for a rollout that does not begin": {
			do: func(c *cluster, _ string) { c.rollOut(5, 4) }, within: 7 * time.Minute,
		},
		"most kubelets are silent": {
			do: func(c *cluster, _ string) {
				for _, name := range []string{"master-1", "master-2", "worker-0"} {
					c.report(name, "Unknown")
				}
			}, within: 15 * time.Minute, turns: 40 * time.Minute,
		},
		"most kubelets are silent, and a rollout is stuck": {
			do: func(c *cluster, _ string) {
				c.rollOut(5, 4)
				c.installing("master-0")
				for _, name := range []string{"master-1", "master-2", "worker-0"} {
					c.report(name, "Unknown")
				}
			}, within: 15 * time.Minute, turns: 40 * time.Minute,
		},
		"no other node is of the same cloud": {
			do: func(c *cluster, dead string) { c.identify(dead, "another:///"+dead) }, within: 12 * time.Minute,
		},
		"the leader changes every three minutes in a rollout": {
			do: func(c *cluster, _ string) {
				c.rollOut(5, 4)
				c.each(3*time.Minute, func() { c.lead("master-1_" + c.clock.Now().String()) })
			}, within: 12 * time.Minute,
		},
		"the cloud answers after four minutes": {
			do: func(c *cluster, _ string) {
				c.fails = true
				c.each(4*time.Minute, func() { c.fails = false })
			}, within: 8 * time.Minute,
		},
	} {
		for _, platform := range []string{"openstack", "azure", "alibabacloud"} {
			t.Run(name+" "+platform, func(t *testing.T) {
				c := newCluster(t, platform, five...)
				if platform == "alibabacloud" {
					c.silent = true
				}
				tc.do(c, "worker-1")
				c.silence("worker-1")
				for len(c.deleted) == 0 {
					c.run(10 * time.Second)
					limit := tc.within
					if platform != "openstack" {
						limit += tc.turns
					}
					require.LessOrEqual(t, c.clock.Now().Sub(start), limit, reasonOf(c))
				}
				c.every = nil
				require.Contains(t, c.deleted[0], "worker-1")
			})
		}
	}
}

// A cluster without a ready kubelet has nothing that could take over the pods of a Node.
func TestWhileNoKubeletIsReadyNoNodeGoes(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.silence(five...)
	c.run(time.Hour)
	require.Empty(t, c.deleted)
	clear(c.unknown)
	c.unknown["worker-1"] = true
	c.report("worker-0", "True")
	c.run(time.Minute)
	require.Len(t, c.deleted, 1, "it ends with the first kubelet that is ready")
}

// A fleet of spot instances is taken away on a platform without probes.
func TestALostFleetGoesWithinMinutesWhereTheCCMIsNotAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		do     func(c *cluster)
		within time.Duration
	}{
		"without anything else to see": {do: func(*cluster) {}, within: 20 * time.Minute},
		"another machine is off, which the cloud knows": {
			do: func(c *cluster) { c.report("worker-00", "Unknown"); c.run(15 * time.Minute) }, within: 10 * time.Minute,
		},
		"and the operator restarts every twelve minutes": {
			do: func(c *cluster) { c.each(12*time.Minute, c.restart) }, within: 25 * time.Minute,
		},
	} {
		for platform, prepare := range withoutProbes {
			t.Run(name+" "+platform, func(t *testing.T) {
				names, fleet := sixty()
				c := newCluster(t, platform, names...)
				prepare(c)
				c.run(time.Second)
				tc.do(c)
				c.silence(fleet...)
				lost := c.clock.Now()
				for len(c.deleted) < len(fleet) {
					c.run(time.Minute)
					require.LessOrEqual(t, c.clock.Now().Sub(lost), tc.within, "%d are gone: %s", len(c.deleted), reasonOf(c))
				}
				t.Logf("20 of 60 Nodes are gone after %s", c.clock.Now().Sub(lost))
				c.every = nil
				c.run(12 * time.Minute)
				require.Len(t, c.deleted, len(fleet), "no living Node goes")
			})
		}
	}
}

// sixty are the nodes of a cluster, and a third of them.
func sixty() (names, fleet []string) {
	names, _ = workers(57)
	return names, names[40:]
}

// A restart forgets what was confirmed, and may not let more Nodes go for it.
func TestARestartOfTheOperatorLetsNoMoreNodesGo(t *testing.T) {
	names, fleet := sixty()
	c := newCluster(t, "azure", names...)
	c.run(time.Second)
	c.silence(fleet...)
	c.each(time.Minute, c.restart)
	c.run(9 * time.Minute)
	require.Len(t, c.deleted, 1)
}

// The watch of the Nodes is behind that of the Events, as when it begins anew.
func TestADenialThatArrivesBeforeTheSilenceIsNotRefuted(t *testing.T) {
	c := newCluster(t, "azure", five...)
	c.lag = 3 * time.Second
	c.silence("worker-1")
	c.run(time.Minute)
	require.Zero(t, c.controller.memory.refuted)
	require.Len(t, c.deleted, 1)
}

// The network of these nodes comes back: the cloud has denied machines that exist.
func TestAKubeletThatComesBackAfterADenialSlowsDownTheOthers(t *testing.T) {
	names, fleet := sixty()
	c := newCluster(t, "azure", names...)
	c.run(time.Second)
	c.silence(fleet...)
	c.run(9 * time.Minute)
	require.Len(t, c.deleted, 1)
	c.report(fleet[19], "True")
	c.run(50 * time.Minute)
	require.LessOrEqual(t, len(c.deleted), 6, "one in ten minutes")
}
