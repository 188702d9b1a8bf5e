package nodedeletion

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// fleet are three control-plane nodes and workers, of which more than half are spot instances.
func fleet() (names, spot []string) { return workers(40) }

// workers are three control-plane nodes and workers, and those but the first five.
func workers(count int) (names, spot []string) {
	for i := range 3 {
		names = append(names, fmt.Sprintf("master-%d", i))
	}
	for i := range count {
		names = append(names, fmt.Sprintf("worker-%02d", i))
	}
	return names, names[8:]
}

// A zone fails, or a fleet of spot instances is taken away.
func TestMoreThanHalfOfTheMachinesMayGoAtAPace(t *testing.T) {
	names, spot := fleet()
	c := newCluster(t, "openstack", names...)
	c.silence(spot...)
	c.run(10*time.Minute - time.Second)
	require.Empty(t, c.deleted)
	reason, message := c.condition()
	require.Equal(t, "TooManyNodes", reason)
	require.Contains(t, message, "; from 2026-11-21T09:10:00Z on, the operator lets at most 2 of these Nodes go in a minute "+
		"while the cloud finds the machines of living nodes; ")
	for minute := 1; len(c.deleted) < 20; minute++ {
		c.run(time.Minute)
		require.LessOrEqual(t, len(c.deleted), 2*(minute+1))
		require.Less(t, minute, 20)
	}
	c.run(15 * time.Minute) // Fewer than half are silent.
	require.Len(t, c.deleted, len(spot))
	require.Empty(t, reasonOf(c))
	require.Empty(t, c.marks())
}

func TestMoreThanHalfOfTheKubeletsMayBeSilentAndTheMachinesExist(t *testing.T) {
	for name, tc := range map[string]struct {
		do         func(c *cluster)
		wantReason string
	}{
		"the network fails, and the cloud knows every machine": {do: func(*cluster) {}},
		"the cloud forgets every machine":                      {do: (*cluster).forgetMachines, wantReason: "LivingNodesUnknown"},
		"the cloud forgets every machine after ten minutes": {do: func(c *cluster) {
			c.silence("worker-39")
			c.run(9 * time.Minute)
			require.Equal(c.t, "TooManyNodes", reasonOf(c))
			c.forgetMachines()
		}, wantReason: "LivingNodesUnknown"},
		"no kubelet reports": {do: func(c *cluster) {
			c.silence(c.nodes.ListKeys()...)
		}, wantReason: "TooManyNodes"},
	} {
		t.Run(name, func(t *testing.T) {
			names, spot := fleet()
			c := newCluster(t, "openstack", names...)
			for _, name := range spot {
				c.report(name, corev1.ConditionUnknown)
			}
			tc.do(c)
			former := c.clock.Now()
			for c.clock.Now().Sub(former) < 30*time.Minute {
				c.run(time.Minute)
				require.NotContains(t, strings.Join(c.marks(), " "), Confirmed)
			}
			require.Empty(t, c.deleted)
			if tc.wantReason != "TooManyNodes" {
				require.Equal(t, tc.wantReason, reasonOf(c))
			}
		})
	}
}

func TestAnAdministratorMayAllowManyDeletionsUntilATime(t *testing.T) {
	for name, tc := range map[string]struct {
		platform, until string
		forgets         bool
		want            int
	}{
		"for an hour":                             {until: "2026-11-21T10:00:00Z", want: 24},
		"where the CCM is not asked":              {platform: "azure", until: "2026-11-21T10:00:00Z", want: 24},
		"which has passed":                        {until: "2026-11-21T08:00:00Z"},
		"for longer than a day":                   {until: "2026-11-23T08:00:00Z"},
		"that is none":                            {until: "true"},
		"not while it does not know living nodes": {until: "2026-11-21T10:00:00Z", forgets: true},
		"where the CCM is not asked, not":         {platform: "azure"},
		"where it announces nothing":              {platform: "external", until: "2026-11-21T10:00:00Z", want: 24},
		"where it announces nothing, never":       {platform: "external"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.platform == "" {
				tc.platform = "openstack"
			}
			names, spot := fleet()
			c := newCluster(t, tc.platform, names...)
			c.silence(spot...)
			if tc.forgets {
				c.forgetMachines()
			}
			c.operator.annotations = map[string]string{
				"cloudcontrollermanager.operator.openshift.io/node-deletions-allowed-until": tc.until,
			}
			c.run(9 * time.Minute)
			require.GreaterOrEqual(t, len(c.deleted), tc.want)
			if tc.want == 0 {
				require.Empty(t, c.deleted)
			}
		})
	}
}

// Exactly half is not more than half.
func TestHalfOfTheKubeletsMayBeSilent(t *testing.T) {
	c := newCluster(t, "openstack", "master-0", "master-1", "worker-0", "worker-1")
	c.silence("worker-0", "worker-1")
	c.run(30 * time.Second)
	require.Equal(t, []string{"worker-0 after 25s"}, c.deleted)
}

// 1,000 dead machines of 10,000 are gone within 15 minutes, if a look-up takes 0.2 seconds.
func TestThePaceOfALargeCluster(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = "worker-" + strconv.Itoa(i)
	}
	c := newCluster(t, "openstack", names...)
	c.lookup, c.pass = 200*time.Millisecond, 60
	c.silence(names[9_000:]...)
	for len(c.deleted) < 1_000 {
		c.run(time.Minute)
		require.LessOrEqual(t, c.clock.Now().Sub(start), 15*time.Minute, "%d are gone", len(c.deleted))
	}
	t.Logf("1,000 of 10,000 Nodes are gone after %s", c.clock.Now().Sub(start))
	require.Empty(t, reasonOf(c))
}
