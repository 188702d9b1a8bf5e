package availability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// The predecessor's pod uses the same host name. It leads until the administrator stops it.
func TestAForeignLeaderOfTheSameHostIsNotOurs(t *testing.T) {
	start := func() *cluster {
		c := newCluster("m0", "m1", "m2")
		c.Status.Conditions = nil
		c.Renew(-10)
		for _, node := range []string{"m0", "m1", "m2"} {
			c.Start(node, -5)
		}
		return c
	}
	events := timeline{}
	events.renews(16, 300)
	// The predecessor stops; its last renewal was in second 276.
	events.at(420, func(c *cluster, second int) { c.Acquire("m1", "ours", second) })
	events.renews(446, 700)
	require.Equal(t, []string{
		"16s CloudControllerManagerAvailable=False ForeignLeader",
		"413s CloudControllerManagerAvailable=False LeaseExpired",
		"420s CloudControllerManagerAvailable=False LeaderStarting",
		"450s CloudControllerManagerAvailable=True AsExpected",
	}, of(events.run(t, start, 700), AvailableCondition))
}

// The clock of the leader's node may be wrong: its times are compared with each other only.
func TestAWrongClockOfTheLeadersNodeIsNoOutage(t *testing.T) {
	for name, tc := range map[string]struct {
		offset int
		want   []string
	}{
		"an hour ahead": {offset: 3600, want: []string{}},
		// A lease that goes back could be that of a restored etcd, until it is renewed.
		"an hour behind": {offset: -3600, want: []string{
			"10s CloudControllerManagerAvailable=True LeaseExpired",
			"36s CloudControllerManagerAvailable=True AsExpected",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			events := timeline{}
			for second := 10; second < 700; second += 26 {
				events.at(second, func(c *cluster, second int) { c.Renew(second + tc.offset) })
			}
			// The clock is corrected.
			events.renews(710, 1400)
			require.Equal(t, tc.want, of(events.run(t, threeMasters, 1400), AvailableCondition))
		})
	}
}

// A process that starts while its node's clock is wrong has held the lease since the future when the clock is right.
func TestALeaderThatAcquiredTheLeaseByAWrongClockLeads(t *testing.T) {
	const ahead = 3600
	events := timeline{}
	events.at(10, func(c *cluster, second int) {
		c.Start("m1", second-5+ahead)
		c.Acquire("m1", "another", second+ahead)
	})
	events.at(36, func(c *cluster, second int) { c.Renew(second + ahead) })
	events.renews(62, 1000)
	require.Equal(t, []string{
		"10s CloudControllerManagerAvailable=True LeaderStarting",
		"40s CloudControllerManagerAvailable=True AsExpected",
	}, of(events.run(t, threeMasters, 1000), AvailableCondition))
}

// The take-over is no outage: the predecessor works, then a standby of ours acquires the released lease.
func TestATakeOverIsNoOutage(t *testing.T) {
	start := func() *cluster {
		c := newCluster("m0", "m1", "m2")
		c.Status.Conditions = nil
		c.Renew(-10)
		for _, node := range []string{"m0", "m1", "m2"} {
			c.Start(node, -5)
		}
		c.Predecessor("m0")
		return c
	}
	events := timeline{}
	events.renews(16, 100)
	events.at(110, func(c *cluster, _ int) { c.Predecessors, *c.Lease.Spec.HolderIdentity = nil, "" })
	events.at(130, func(c *cluster, second int) { c.Acquire("m1", "ours", second) })
	events.renews(156, 300)
	require.Equal(t, []string{
		"110s CloudControllerManagerAvailable=True NoLeader",
		"130s CloudControllerManagerAvailable=True LeaderStarting",
		"160s CloudControllerManagerAvailable=True AsExpected",
	}, of(events.run(t, start, 300), AvailableCondition))
}

func TestAForeignLeaderThatTakesOverIsAnOutageAfterTheLeaseOfOurs(t *testing.T) {
	events := timeline{}
	events.at(10, func(c *cluster, second int) { c.Acquire("laptop", "x", second) })
	events.renews(36, 500)
	require.Equal(t, []string{
		"10s CloudControllerManagerAvailable=True ForeignLeader",
		// 137 s of our lease and an equal grace period, after our renewal in second 0.
		"274s CloudControllerManagerAvailable=False ForeignLeader",
	}, of(events.run(t, threeMasters, 500), AvailableCondition))
}

// The patience is that of a lease of ours: a person, or a broken client, may write any duration into the lease.
func TestANameThatAPersonWroteIntoTheLeaseIsAnOutageAfterTheLeaseOfOurs(t *testing.T) {
	for name, tc := range map[string]struct {
		start func() *cluster
		want  []string
	}{
		"three nodes": {start: threeMasters, want: []string{
			"10s CloudControllerManagerAvailable=True ForeignLeader",
			"147s CloudControllerManagerAvailable=True LeaseExpired",
			// 137 s of our lease and an equal grace period, after our renewal in second 0.
			"274s CloudControllerManagerAvailable=False LeaseExpired",
		}},
		"a single node": {start: func() *cluster { return newCluster("m0") }, want: []string{
			"10s CloudControllerManagerAvailable=True ForeignLeader",
			"280s CloudControllerManagerAvailable=True LeaseExpired",
			"540s CloudControllerManagerAvailable=False LeaseExpired",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *cluster {
				c := tc.start()
				c.Lease.Spec.LeaseDurationSeconds = ptr.To(int32(leaseholder.Default(c.Topology).Seconds()))
				return c
			}
			events := timeline{}
			events.at(10, func(c *cluster, _ int) { c.Edit("intruder", 3600) })
			require.Equal(t, tc.want, of(events.run(t, start, 1000), AvailableCondition))
		})
	}
}

// An operator that starts meanwhile does not know since when nobody leads.
func TestANameThatAPersonWroteIsAnOutageForTheNextOperatorToo(t *testing.T) {
	start := func() *cluster { c := threeMasters(); c.Edit("intruder", 3600); return c }
	require.Equal(t, []string{
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"274s CloudControllerManagerAvailable=False LeaseExpired",
	}, of(timeline{}.run(t, start, 1000), AvailableCondition))
}

// A deletion changes nothing about when one of ours led last.
func TestALeaseThatIsDeletedAndCreatedAgainDelaysNoOutage(t *testing.T) {
	events := timeline{}
	events.at(100, func(c *cluster, _ int) { c.Lease = nil })
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		"100s CloudControllerManagerAvailable=True NoLeader",
		"274s CloudControllerManagerAvailable=False NoLeader",
	}, of(events.run(t, threeMasters, 600), AvailableCondition))
}

func TestAnOperandThatWasNeverInstalledIsNotDegraded(t *testing.T) {
	start := func() *cluster {
		c := threeMasters()
		c.Status.Conditions, c.Lease = nil, nil
		clear(c.Pods)
		for i := range c.Status.NodeStatuses {
			c.Status.NodeStatuses[i].CurrentRevision = 0
		}
		return c
	}
	events := timeline{}
	for node := range 3 {
		events.at(1000, func(c *cluster, _ int) { c.Status.NodeStatuses[node].CurrentRevision = 1 })
	}
	require.Equal(t, []string{
		"1000s CloudControllerManagerDegraded=True NoReadyPod",
	}, of(events.run(t, start, 1200), DegradedCondition))
}

func threeMasters() *cluster { return newCluster("m0", "m1", "m2") }

// A standby sees a renewal up to 57 s late, counts the lease's duration from then, and retries every 26 to 57 s.
const (
	firstTakeover = 137
	lastTakeover  = 137 + 57 + 57
)

func TestTheDeathOfTheLeadersNodeIsNoOutage(t *testing.T) {
	for _, takeover := range []int{firstTakeover, 163, 194, 220, lastTakeover} {
		for _, death := range []int{1, 25} {
			// The mirror pod and the Node are deleted never, soon, around the expiry, or late.
			for _, vanishes := range []int{0, 30, 60, 120, 136, 137, 138, 180, 250} {
				t.Run(
					fmt.Sprintf("takeover after %d s, death after %d s, vanishes after %d s", takeover, death, vanishes),
					func(t *testing.T) {
						series := nodeDeath(death, vanishes, takeover).run(t, threeMasters, 450)
						for _, change := range of(series, AvailableCondition) {
							require.NotContains(t, change, "=False", "%v", series)
						}
					},
				)
			}
		}
	}
}

// nodeDeath is the death of m0, whose last renewal was in second 0; m1 takes over.
func nodeDeath(death, vanishes, takeover int) timeline {
	events := timeline{}
	events.at(death+45, func(c *cluster, _ int) {
		// The node controller finds the Node NotReady.
		if c.Pods["m0"] != nil {
			c.Ready("m0", false)
		}
	})
	if vanishes > 0 {
		events.at(vanishes, func(c *cluster, _ int) { c.Leave("m0") })
		events.at(vanishes+20, func(c *cluster, _ int) { delete(c.Pods, "m0") })
	}
	events.at(takeover, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
	events.renews(takeover+26, 600)
	return events
}

func TestTheDeathOfANodeFromSecondToSecond(t *testing.T) {
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		// The process may still run: only its Node is gone.
		"60s CloudControllerManagerAvailable=True LeaderCutOff",
		"60s ControlPlaneNodesDegraded=True NodesVanished",
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"251s CloudControllerManagerAvailable=True LeaderStarting",
		"281s CloudControllerManagerAvailable=True AsExpected",
	}, nodeDeath(1, 60, lastTakeover).run(t, threeMasters, 600))
}

func TestALeaseThatNobodyTakesIsAnOutage(t *testing.T) {
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"274s CloudControllerManagerAvailable=False LeaseExpired",
		"394s CloudControllerManagerDegraded=True LeaseExpired",
	}, timeline{}.run(t, threeMasters, 600))
}

// A person or another program may have written a short duration. A new leader takes its time nevertheless.
func TestAShortLeaseIsNoOutageSooner(t *testing.T) {
	short := func() *cluster {
		c := threeMasters()
		c.Lease.Spec.LeaseDurationSeconds = ptr.To[int32](15)
		return c
	}
	require.Equal(t, []string{
		"8s CloudControllerManagerAvailable=True LeaderSilent",
		"15s CloudControllerManagerAvailable=True LeaseExpired",
		"135s CloudControllerManagerAvailable=False LeaseExpired",
		"255s CloudControllerManagerDegraded=True LeaseExpired",
	}, timeline{}.run(t, short, 400))
}

// A process that renews after its Node and its mirror pod are gone is not under our control.
func TestALeaderWhoseNodeVanishedButRenewsIsAnOutageInTheEnd(t *testing.T) {
	events := timeline{}
	events.renews(26, 600)
	events.at(60, func(c *cluster, _ int) { c.Leave("m0"); delete(c.Pods, "m0") })
	require.Equal(t, []string{
		"60s CloudControllerManagerAvailable=True LeaderCutOff",
		"60s ControlPlaneNodesDegraded=True NodesVanished",
		// The last renewal before that was in second 52.
		"326s CloudControllerManagerAvailable=False LeaderCutOff",
		"446s CloudControllerManagerDegraded=True LeaderCutOff",
	}, events.run(t, threeMasters, 600))
}

// While the cloud is down, each new holder acquires the lease, skips its controllers and exits. The lease names a
// dead process for its whole duration, again and again.
func TestLeadersThatDieInStartUpAreOneOutage(t *testing.T) {
	events := timeline{}
	events.at(5, func(c *cluster, second int) { c.Exit("m0", second, "") })
	events.at(6, func(c *cluster, second int) { c.Start("m0", second) })
	for i, acquires := range []int{160, 320, 480, 640, 800} {
		node := fmt.Sprintf("m%d", (i+1)%3)
		events.at(acquires, func(c *cluster, second int) { c.Acquire(node, fmt.Sprint(second), second) })
		events.at(acquires+5, func(c *cluster, second int) { c.Exit(node, second, "") })
		events.at(acquires+20, func(c *cluster, second int) { c.Start(node, second) })
	}
	series := of(events.run(t, threeMasters, 1000), AvailableCondition)
	require.Equal(t, []string{
		"5s CloudControllerManagerAvailable=True LeaderEnded",
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"160s CloudControllerManagerAvailable=True LeaderStarting",
		"165s CloudControllerManagerAvailable=True LeaderEnded",
		"274s CloudControllerManagerAvailable=False LeaderEnded",
	}, series[:5])
	for _, change := range series[5:] {
		require.Contains(t, change, "=False", "%v", series)
	}
}

// The kubelet restarts the holder immediately: the pod exists and is Ready, but its lease is the dead process's.
func TestALeaderThatRestartedDoesNotLead(t *testing.T) {
	events := timeline{}
	events.at(49, (*cluster).Renew)
	events.at(50, func(c *cluster, second int) { c.Exit("m0", second, "") })
	events.at(51, func(c *cluster, second int) { c.Start("m0", second) })
	require.Equal(t, []string{
		"50s CloudControllerManagerAvailable=True LeaderEnded",
		"186s CloudControllerManagerAvailable=True LeaseExpired",
		"323s CloudControllerManagerAvailable=False LeaseExpired",
	}, of(events.run(t, threeMasters, 400), AvailableCondition))
}

// The kubelet reports a second later that the container that acquired the lease has ended, and that the next one runs.
func TestALeaderThatRestartedWithinTheSecondOfItsAcquisitionDoesNotLead(t *testing.T) {
	events := timeline{}
	events.renews(26, 200)
	events.at(200, func(c *cluster, second int) { c.AcquireWithin("m1", "second", second) })
	events.at(201, func(c *cluster, _ int) { c.Restart("m1", 200) })
	require.Equal(t, []string{
		"200s CloudControllerManagerAvailable=True LeaderStarting",
		"201s CloudControllerManagerAvailable=True LeaderEnded",
		"337s CloudControllerManagerAvailable=True LeaseExpired",
		// 137 s of the lease that m0 renewed in second 182, and an equal grace period.
		"456s CloudControllerManagerAvailable=False LeaseExpired",
	}, of(events.run(t, threeMasters, 500), AvailableCondition))
}

// A process that is frozen, or cannot reach the API server, runs and keeps its lease until it expires.
func TestALeaderThatDoesNotRenewDoesNotLead(t *testing.T) {
	for name, tc := range map[string]struct {
		start    func() *cluster
		duration int32
		want     []string
	}{
		"three nodes": {start: threeMasters, duration: 137, want: []string{
			"54s CloudControllerManagerAvailable=True LeaderSilent",
			"100s CloudControllerManagerAvailable=True AsExpected",
			"154s CloudControllerManagerAvailable=True LeaderSilent",
			"237s CloudControllerManagerAvailable=True LeaseExpired",
		}},
		"a single node, which renews every 60 s": {
			start: func() *cluster { return newCluster("m0") }, duration: 270, want: []string{
				"222s CloudControllerManagerAvailable=True LeaderSilent",
				"370s CloudControllerManagerAvailable=True LeaseExpired",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *cluster {
				c := tc.start()
				c.Lease.Spec.LeaseDurationSeconds = &tc.duration
				return c
			}
			events := timeline{}
			events.at(100, (*cluster).Renew)
			require.Equal(t, tc.want, of(events.run(t, start, 372), AvailableCondition))
		})
	}
}

func TestAHolderThatSettlesAtTheLastMomentIsNoOutage(t *testing.T) {
	events := timeline{}
	events.at(273, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
	events.renews(299, 500)
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"273s CloudControllerManagerAvailable=True LeaderStarting",
		"303s CloudControllerManagerAvailable=True AsExpected",
	}, of(events.run(t, threeMasters, 500), AvailableCondition))
}

func TestAHolderThatFailsAtTheLastMomentIsAnOutageAtOnce(t *testing.T) {
	events := timeline{}
	events.at(270, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
	events.at(280, func(c *cluster, second int) { c.Exit("m1", second, "") })
	// The next holder gets no extra time.
	events.at(290, func(c *cluster, second int) { c.Acquire("m2", "third", second) })
	events.renews(316, 500)
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		"137s CloudControllerManagerAvailable=True LeaseExpired",
		"270s CloudControllerManagerAvailable=True LeaderStarting",
		"280s CloudControllerManagerAvailable=False LeaderEnded",
		"290s CloudControllerManagerAvailable=False LeaderStarting",
		"320s CloudControllerManagerAvailable=True AsExpected",
	}, of(events.run(t, threeMasters, 500), AvailableCondition))
}

func TestNoReadyPodIsAnOutageWhenItHasLasted(t *testing.T) {
	events := timeline{}
	events.renews(26, 600)
	for _, node := range []string{"m0", "m1", "m2"} {
		events.at(100, func(c *cluster, _ int) { c.Ready(node, false) })
	}
	events.at(400, func(c *cluster, _ int) { c.Ready("m2", true) })
	require.Equal(t, []string{
		"100s CloudControllerManagerAvailable=True NoReadyPod",
		"237s CloudControllerManagerAvailable=False NoReadyPod",
		"357s CloudControllerManagerDegraded=True NoReadyPod",
		"400s CloudControllerManagerAvailable=True AsExpected",
		"400s CloudControllerManagerDegraded=False AsExpected",
	}, events.run(t, threeMasters, 600))
}

func TestARestartOfTheOperatorIsNoOutage(t *testing.T) {
	// The node died just before the restart; the operator's state is lost.
	restarted := func() *cluster { c := threeMasters(); c.Exit("m0", 0, ""); return c }
	events := timeline{}
	events.at(lastTakeover, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
	events.renews(lastTakeover+26, 600)
	for _, change := range of(events.run(t, restarted, 600), AvailableCondition) {
		require.Contains(t, change, "=True")
	}
	// An outage lasts until a leader has settled.
	down := func() *cluster { c := restarted(); c.Status.Conditions[0].Status = operatorv1.ConditionFalse; return c }
	for _, change := range of(events.run(t, down, 600), AvailableCondition) {
		require.Equal(t, strings.HasPrefix(change, "281s "), strings.Contains(change, "=True"), change)
	}
}

// restarted replaces the operator: the next process has seen nothing.
func (c *cluster) restarted() *assessor {
	c.Seen = controlplane.Lease{}
	return newAssessor()
}

func TestARestartOfTheOperatorProlongsNoFailure(t *testing.T) {
	const until = "tolerated until 2026-11-21T09:05:00Z: "
	for name, tc := range map[string]struct {
		// change happens before the operator restarts at 100 s.
		change func(c *cluster)
		want   string
	}{
		"the failure goes on": {func(*cluster) {}, until},
		"another process led meanwhile": {func(c *cluster) { c.Acquire("m1", "second", 50); c.Renew(90); c.Exit("m1", 95, "") },
			"tolerated until 2026-11-21T09:06:14Z: "},
		"another process only acquired the lease": {func(c *cluster) { c.Acquire("m1", "second", 90); c.Exit("m1", 95, "") }, until},
		"another process acquires the lease":      {func(c *cluster) { c.Acquire("m1", "second", 99); c.Exit("m1", 150, "") }, until},
		"a person has written the condition":      {func(c *cluster) { c.Status.Conditions[0].Message = "tolerated until then: x" }, "tolerated until 2026-11-21T09:06:14Z: "},
		"the lease has no time of its renewal":    {func(c *cluster) { c.Lease.Spec.RenewTime = nil }, "tolerated until 2026-11-21T09:06:14Z: "},
	} {
		t.Run(name, func(t *testing.T) {
			c, a := threeMasters(), newAssessor()
			c.apply(0, a)
			c.Renew(26)
			c.apply(26, a)
			c.Exit("m0", 30, "")
			c.apply(30, a)
			require.Contains(t, c.message(AvailableCondition), until)
			tc.change(c)
			a = c.restarted()
			c.apply(100, a)
			require.Contains(t, c.message(AvailableCondition), tc.want)
			a = c.restarted()
			c.apply(110, a)
			if tc.want != until {
				return
			}
			require.Contains(t, c.message(AvailableCondition), until)
			_, next := c.apply(299, a)
			require.Equal(t, time.Second, next)
			changes, _ := c.apply(300, c.restarted())
			require.Contains(t, changes, "300s CloudControllerManagerAvailable=False LeaseExpired")
		})
	}
}

// The time of a former failure says nothing about the next one.
func TestARestartOfTheOperatorEndsNoFailureThatBeginsLater(t *testing.T) {
	c, a := threeMasters(), newAssessor()
	c.apply(0, a)
	c.Exit("m0", 30, "")
	c.apply(30, a)
	a = c.restarted()
	c.apply(40, a)
	former := c.message(AvailableCondition)
	c.Acquire("m1", "second", 50)
	c.apply(50, a)
	c.Renew(85)
	c.apply(85, a)
	c.Exit("m1", 90, "")
	c.apply(90, a)
	require.NotEqual(t, former, c.message(AvailableCondition))
	require.Contains(t, c.message(AvailableCondition), "tolerated until 2026-11-21T09:05:59Z: ")
}

func TestPodsThatAreNotReadyAreNotToleratedLongerByTheNextOperator(t *testing.T) {
	c, a := threeMasters(), newAssessor()
	c.apply(0, a)
	for _, node := range []string{"m0", "m1", "m2"} {
		c.Exit(node, 20, "")
	}
	c.apply(20, a)
	require.Contains(t, c.message(AvailableCondition), "tolerated until 2026-11-21T09:02:37Z: ")
	c.apply(100, c.restarted())
	require.Contains(t, c.message(AvailableCondition), "tolerated until 2026-11-21T09:02:37Z: ")
}

// The lease of a snapshot of etcd names a process that has ended, and the standbys count its duration from when they
// see it. So do they if the snapshot is so fresh that the lease and the pods look alive.
func TestARestoreOfEtcdIsNoOutage(t *testing.T) {
	const down, up = 100, 130
	snapshot := func(c *cluster, _ int) {
		c.Acquire("m2", "past", -500)
		c.Lease.Spec.LeaseTransitions = ptr.To(int32(3))
	}
	for _, snapshotAge := range []int{10, 100, 3600} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("the snapshot is %d s old, the operator runs: %t", snapshotAge, running), func(t *testing.T) {
				events := timeline{}
				first := up
				if running {
					first = 0
					for second := 26; second < down; second += 26 {
						events.at(second, (*cluster).Renew)
					}
				}
				events.at(up-first, func(c *cluster, second int) {
					snapshot(c, second)
					c.Renew(second - snapshotAge)
				})
				// m0 led until the restore, and gives up 133 s after its last renewal.
				events.at(
					up+80-first,
					func(c *cluster, second int) { c.Exit("m0", second, "leaderelection lost"); c.Start("m0", second) },
				)
				events.at(up+lastTakeover-first, func(c *cluster, second int) {
					c.Acquire("m1", "second", second)
					c.Lease.Spec.LeaseTransitions = ptr.To(int32(4))
				})
				events.renews(up+lastTakeover+26-first, 800)
				start := func() *cluster {
					c := threeMasters()
					c.Lease.Spec.LeaseTransitions = ptr.To(int32(7))
					return c
				}
				series := of(events.run(t, start, 800), AvailableCondition)
				for _, change := range series {
					require.NotContains(t, change, "=False", "%v", series)
				}
				require.Contains(t, series[len(series)-1], "=True AsExpected")
			})
		}
	}
}

func TestARestoreAfterWhichNobodyLeadsIsAnOutage(t *testing.T) {
	events := timeline{}
	events.at(100, func(c *cluster, second int) { c.Acquire("m2", "past", -500); c.Renew(second - 3600) })
	require.Equal(t, []string{
		"54s CloudControllerManagerAvailable=True LeaderSilent",
		"100s CloudControllerManagerAvailable=True LeaseExpired",
		"374s CloudControllerManagerAvailable=False LeaseExpired",
	}, of(events.run(t, threeMasters, 600), AvailableCondition))
}

// A status that is wiped loses the condition that tolerates a take-over.
func TestAStatusThatIsWipedDuringATakeOverIsNoOutage(t *testing.T) {
	events := timeline{}
	events.at(150, func(c *cluster, _ int) { c.Status.Conditions = nil })
	events.at(200, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
	events.renews(226, 400)
	for _, change := range of(events.run(t, threeMasters, 400), AvailableCondition) {
		require.Contains(t, change, "=True")
	}
}
