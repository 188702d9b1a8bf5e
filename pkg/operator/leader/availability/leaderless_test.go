package availability

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// withoutOctavia is the end of the log of OpenStack's cloud-controller-manager that leads without a load-balancer API.
const withoutOctavia = `I1121 09:00:00.000000       1 flags.go:64] FLAG: --vmodule=""
F1121 09:00:00.000000       1 openstack.go:355] Failed to create an OpenStack LoadBalancer client: failed to find ` +
	`load-balancer v2 endpoint for region RegionOne: No suitable endpoint could be found in the service catalog.
`

const endsSo = `with code 255 and "Failed to create an OpenStack LoadBalancer client: failed to find load-balancer v2 ` +
	`endpoint for region RegionOne: No suitable endpoint could be found in the service catalog."; ` +
	`set enabled = false in [LoadBalancer] of the cloud configuration, or install Octavia`

// take is Acquire, with the count of transitions that client-go keeps.
func (c *cluster) take(node, process string, second int) {
	transitions := ptr.Deref(c.Lease.Spec.LeaseTransitions, 0)
	c.Acquire(node, process, second)
	c.Lease.Spec.LeaseTransitions = ptr.To(transitions + 1)
}

// leads makes the process on a node acquire the lease and end a second later, and makes the kubelet start another one
// ten seconds later.
func (l timeline) leads(node string, second int) {
	l.at(second, func(c *cluster, second int) { c.take(node, fmt.Sprint(second), second) })
	l.at(second+1, func(c *cluster, second int) { c.Exit(node, second, withoutOctavia) })
	l.at(second+3, (*cluster).release)
	l.at(second+11, func(c *cluster, second int) { c.Start(node, second) })
}

// release is that of the operator.
func (c *cluster) release(int) {
	c.Lease = c.Lease.DeepCopy()
	c.Lease.Spec.HolderIdentity = ptr.To("")
}

// leadsInTurn makes each process end as soon as it leads, one every seven seconds, from second 10 to the end.
func (l timeline) leadsInTurn(end int) {
	l.at(10, func(c *cluster, second int) { c.Exit("m0", second, withoutOctavia) })
	l.at(12, func(c *cluster, second int) { c.Start("m0", second) })
	for i := 0; 20+7*i < end; i++ {
		l.leads(fmt.Sprintf("m%d", (i+1)%3), 20+7*i)
	}
}

func TestALeaseThatChangesHandsIsNoLeader(t *testing.T) {
	start := func() *cluster {
		c := threeMasters()
		for node := range c.Pods {
			c.Start(node, -60)
		}
		c.take("m0", "first", -40)
		return c
	}
	events := timeline{}
	events.leadsInTurn(400)
	events.at(399, func(c *cluster, _ int) {
		require.Equal(t, "no cloud-controller-manager has led for 30s since 2026-11-21T09:00:10Z: each that acquires "+
			"lease/cloud-controller-manager in openshift-cloud-controller-manager ends, last "+endsSo, c.message(AvailableCondition))
		require.Equal(t, c.message(AvailableCondition), c.message(DegradedCondition))
		require.Contains(t, c.message(CrashLoopCondition), "container cloud-controller-manager of "+
			"pod/cloud-controller-manager-m0 keeps exiting, last "+endsSo[:len("with code 255")])
		require.Contains(t, c.message(CrashLoopCondition), "set enabled = false in [LoadBalancer]")
	})
	// The administrator undoes the change.
	events.at(420, func(c *cluster, second int) { c.take("m1", "last", second) })
	events.renews(446, 700)
	series := events.run(t, start, 700)
	available := of(series, AvailableCondition)
	require.Contains(t, available, "70s CloudControllerManagerAvailable=False NoLeader", "a minute after the last leader has ended")
	require.Equal(t, "450s CloudControllerManagerAvailable=True AsExpected", available[len(available)-1])
	require.Equal(t, []string{
		"30s CrashLoopDegraded=True CrashLooping",
	}, of(series, CrashLoopCondition)[:1])
	require.Equal(t, []string{
		"30s CrashLoopDegraded=True", "70s CloudControllerManagerAvailable=False", "190s CloudControllerManagerDegraded=True",
	}, transitions(series)[:3])
}

// fallsBack makes a candidate end as soon as it leads. Its kubelet starts it again at once, and the former leader leads.
func (l timeline) fallsBack() {
	l.at(5, func(c *cluster, second int) { c.Start("m1", second) })
	l.at(9, (*cluster).release)
	l.at(10, func(c *cluster, second int) { c.take("m1", "second", second) })
	l.at(11, func(c *cluster, second int) { c.Exit("m1", second, withoutOctavia) })
	l.at(12, func(c *cluster, second int) { c.Start("m1", second); c.release(second) })
	l.at(14, func(c *cluster, second int) { c.take("m0", "third", second) })
}

// Two are a leader that was killed, and a candidate that led in a rollout and gave the lead back.
func TestAHandOverOrTwoAreNoOutage(t *testing.T) {
	for name, events := range map[string]func(timeline){
		"a planned hand-over": func(l timeline) {
			l.at(10, (*cluster).release)
			l.at(22, func(c *cluster, second int) { c.take("m1", "second", second) })
			l.renews(48, 300)
		},
		"a leader that is killed while its successor dies": func(l timeline) {
			l.at(10, func(c *cluster, second int) { c.Exit("m0", second, ""); c.Start("m0", second) })
			l.leads("m1", 20)
			l.at(60, func(c *cluster, second int) { c.take("m2", "third", second) })
			l.renews(86, 300)
		},
		"a candidate that gives the lead back": func(l timeline) {
			l.at(10, func(c *cluster, second int) { c.take("m1", "second", second) })
			l.at(25, func(c *cluster, second int) { c.take("m0", "third", second) })
			l.renews(51, 300)
		},
		"a candidate that ends, and a lease that somebody deletes while its successor settles": func(l timeline) {
			l.fallsBack()
			var deleted *coordinationv1.Lease
			l.at(15, func(c *cluster, _ int) { deleted, c.Lease = c.Lease, nil })
			l.at(16, func(c *cluster, _ int) { c.Lease = deleted })
			l.renews(42, 300)
		},
		"a candidate that ends, and a successor that its kubelet reports late": func(l timeline) {
			l.starts(8)
			l.fallsBack()
			l.at(16, func(c *cluster, _ int) { c.Start("m0", 13) })
			l.renews(42, 300)
		},
		"a candidate that ends, and a lease that somebody writes while its successor settles": func(l timeline) {
			l.fallsBack()
			l.at(15, func(c *cluster, _ int) { c.Edit("somebody", 137) })
			l.at(16, func(c *cluster, second int) { c.Edit("m0_third", 137); c.Renew(second) })
			l.renews(42, 300)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := timeline{}
			events(l)
			series := l.run(t, threeMasters, 300)
			require.NotContains(t, fmt.Sprint(series), "=False NoLeader")
			require.NotContains(t, fmt.Sprint(series), "CrashLoopDegraded=True")
			require.Empty(t, transitions(series))
		})
	}
}

// starts makes the kubelet create the static pod on m0 again, whose container has not started yet.
func (l timeline) starts(second int) {
	l.at(second, func(c *cluster, _ int) {
		container := c.Container("m0")
		container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		container.LastTerminationState = corev1.ContainerState{}
	})
}

func TestAHolderThatItsKubeletNeverReportsHasEnded(t *testing.T) {
	events := timeline{}
	events.starts(8)
	events.fallsBack()
	require.Contains(t, events.run(t, threeMasters, 30), "19s CrashLoopDegraded=True CrashLooping")
}

// The next process of the operator does not know since when nobody leads.
func TestAnOperatorThatStartsWhileTheLeaseChangesHandsSeesAMinuteOfItItself(t *testing.T) {
	events := timeline{}
	events.leads("m1", 5)
	events.leads("m2", 12)
	events.leads("m0", 19)
	events.leads("m1", 26)
	start := func() *cluster {
		c := threeMasters()
		c.Lease.Spec.LeaseTransitions = ptr.To[int32](57)
		c.Exit("m0", -1, withoutOctavia)
		c.Start("m0", 3)
		return c
	}
	require.Equal(t, "60s CloudControllerManagerAvailable=False", func() string {
		for _, change := range transitions(events.run(t, start, 100)) {
			if change != "" && change[len(change)-len("Available=False"):] == "Available=False" {
				return change
			}
		}
		return ""
	}())
}
