package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// withoutProbes are platforms without probes.
var withoutProbes = map[string]func(c *cluster){
	"azure":        func(*cluster) {},
	"alibabacloud": func(c *cluster) { c.silent, c.pass = true, 300 },
}

func TestWhereTheCCMIsNotAskedALieCostsOneSilentNodeInTenMinutes(t *testing.T) {
	for platform, prepare := range withoutProbes {
		t.Run(platform, func(t *testing.T) {
			names, _ := fleet()
			c := newCluster(t, platform, names...)
			prepare(c)
			for _, name := range names[30:] {
				c.report(name, corev1.ConditionUnknown)
			}
			c.run(2 * time.Hour) // The network of these nodes is away, and the cloud knows their machines.
			require.Empty(t, c.deleted)
			c.forgetMachines()
			for turns := 1; turns <= 6; turns++ {
				c.run(turnPeriod)
				require.LessOrEqual(t, len(c.deleted), turns+1)
			}
			reason, message := c.condition()
			require.Equal(t, "OneAtATime", reason)
			require.Contains(t, message, "on this platform nothing shows whether its cloud still knows living machines, so it may "+
				"delete one Node in 10m0s: check that the credentials and the cloud configuration are those of this cluster's "+
				"project and region; if the machines are gone for certain, allow all of them for an hour: ")
		})
	}
}

func TestWhereTheCCMIsNotAskedEveryNodeOfADeadMachineGoesInItsTurn(t *testing.T) {
	for platform, prepare := range withoutProbes {
		t.Run(platform, func(t *testing.T) {
			names, _ := fleet()
			c := newCluster(t, platform, names...)
			prepare(c)
			dead := names[38:]
			for _, name := range names[33:] {
				c.report(name, corev1.ConditionUnknown)
			}
			for _, name := range dead {
				c.unknown[name] = true
			}
			for c.clock.Now().Sub(start) < 2*time.Hour && len(c.deleted) < len(dead) {
				c.run(time.Minute)
			}
			require.Len(t, c.deleted, len(dead), "%v", c.deleted)
		})
	}
}

// One lost machine goes at once, and a second one waits for ten minutes without an alarm.
func TestATurnIsNotReportedBeforeItIsOver(t *testing.T) {
	c := newCluster(t, "azure", five...)
	c.silence("worker-0", "worker-1")
	for range 11 * 60 {
		require.Empty(t, reasonOf(c), c.clock.Now().Sub(start))
		c.run(time.Second)
	}
	require.Equal(t, []string{"worker-0 after 25s", "worker-1 after 10m5s"}, c.deleted)
	require.Empty(t, c.marks())
}

// A rollout ends the permission. It is the same deletion.
func TestAnotherLeaderDelaysNoDeletionByATurn(t *testing.T) {
	c := newCluster(t, "azure", five...)
	c.silence("worker-1")
	c.run(22 * time.Second)
	require.Equal(t, Confirmed, c.node("worker-1").Annotations[Annotation])
	c.lead("master-1_2")
	c.run(time.Minute)
	require.Len(t, c.deleted, 1)
}

func TestWhereTheCCMIsNotAskedANodeThatReportsHoldsTheOthers(t *testing.T) {
	c := newCluster(t, "azure", five...)
	c.report("worker-0", corev1.ConditionFalse)
	c.run(time.Minute)
	c.forgetMachines()
	c.report("worker-1", corev1.ConditionUnknown)
	c.run(time.Hour)
	require.Empty(t, c.deleted)
	reason, message := c.condition()
	require.Equal(t, "LivingNodesUnknown", reason)
	require.Equal(t, "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the machine, "+
		"but it wants to delete node/worker-0 too, whose kubelet reports its state: check that the credentials and the cloud "+
		"configuration are those of this cluster's project and region", message)
	clear(c.unknown)
	c.unknown["worker-1"] = true
	c.run(15 * time.Minute)
	require.Len(t, c.deleted, 1, "the lie has ended")
	require.Empty(t, reasonOf(c))
}
