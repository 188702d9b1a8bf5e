package availability

import (
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

func (c *cluster) message(conditionType string) string {
	return v1helpers.FindOperatorCondition(c.Status.Conditions, conditionType).Message
}

// Two kubelets stop. The leader finds their instances gone and deletes their Nodes.
func TestDeadNodesAreNoHealth(t *testing.T) {
	events := timeline{}
	events.renews(26, 2400)
	for _, node := range []string{"m1", "m2"} {
		events.at(40, func(c *cluster, _ int) { c.Ready(node, false) })
		events.at(100, func(c *cluster, _ int) { c.Leave(node) })
		events.at(120, func(c *cluster, _ int) { delete(c.Pods, node) })
	}
	events.at(300, func(c *cluster, _ int) {
		require.Equal(
			t,
			"1 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
			c.message(AvailableCondition),
		)
		require.Equal(
			t,
			"node/m1, node/m2 vanished while the static pod cloud-controller-manager ran there, 1 of 3 control-plane Nodes "+
				"exist; "+
				"restart the kubelet so that the Node registers again, or replace the machine",
			c.message(ControlPlaneNodesCondition),
		)
		require.Equal(t, "1 of 3 control-plane nodes run revision 3", c.message(ProgressingCondition))
	})
	events.at(1000, func(c *cluster, second int) { c.Join("m1"); c.Install("m1", second) })
	events.at(1001, func(c *cluster, _ int) {
		require.Contains(t, c.message(ControlPlaneNodesCondition), "node/m2 vanished")
		require.Contains(t, c.message(AvailableCondition), "2 of 3")
	})
	// A replacement completes the control plane just as the Node's return does.
	events.at(2000, func(c *cluster, second int) { c.Join("m3"); c.Install("m3", second) })
	require.Equal(t, []string{
		"100s ControlPlaneNodesDegraded=True NodesVanished",
		"2000s ControlPlaneNodesDegraded=False AsExpected",
	}, events.run(t, threeMasters, 2400))
}

func TestAnIntendedRemovalIsNoFailure(t *testing.T) {
	events := timeline{}
	events.renews(26, 400)
	// A machine is replaced: the new one joins, the old one is drained and deleted.
	events.at(50, func(c *cluster, second int) { c.Join("m3"); c.Install("m3", second) })
	events.at(100, func(c *cluster, _ int) {
		node := c.Nodes["m2"].DeepCopy()
		node.Spec.Unschedulable = true
		c.Nodes["m2"] = node
	})
	events.at(200, func(c *cluster, _ int) { c.Leave("m2"); delete(c.Pods, "m2") })
	events.at(300, func(c *cluster, _ int) {
		require.Equal(
			t,
			"3 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
			c.message(AvailableCondition),
		)
	})
	require.Empty(t, events.run(t, threeMasters, 400))
}

// An administrator, or a script, cordons the Node and deletes it at once. No sync runs between the two, or one sees the
// deletion before its event.
func TestANodeThatIsCordonedAndDeletedAtOnceIsNotMissed(t *testing.T) {
	four := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3")
		c.Topology = configv1.HighlyAvailableTopologyMode
		return c
	}
	cordoned := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "m3"}, Spec: corev1.NodeSpec{Unschedulable: true},
	}
	for name, tc := range map[string]struct {
		event any
		after int
		again bool
		want  []string
	}{
		"the event of its deletion is there": {event: cordoned},
		"the watch has missed its deletion":  {event: cache.DeletedFinalStateUnknown{Key: "m3", Obj: cordoned}},
		"the event comes after another one's": {event: cordoned, after: 1, want: []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished", "201s ControlPlaneNodesDegraded=False AsExpected",
		}},
		"it registers again and is deleted without a cordon": {event: cordoned, again: true, want: []string{
			"320s ControlPlaneNodesDegraded=True NodesVanished",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			events := timeline{}
			events.renews(26, 400)
			events.at(200, func(c *cluster, _ int) { c.Leave("m3"); delete(c.Pods, "m3") })
			events.at(200+tc.after, func(c *cluster, _ int) { require.True(t, c.leaving.note(tc.event)) })
			if tc.again {
				events.at(300, func(c *cluster, second int) { c.Join("m3"); c.Install("m3", second) })
				events.at(320, func(c *cluster, _ int) { c.Leave("m3"); delete(c.Pods, "m3") })
			}
			require.Equal(t, tc.want, events.run(t, four, 400))
		})
	}
}

// Its process may go on for as long as nobody ends the machine, and is no foreign one.
func TestTheProcessOnANodeThatLeftIsCutOff(t *testing.T) {
	start := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3")
		c.Topology = configv1.HighlyAvailableTopologyMode
		c.Nodes["m0"].Spec.Unschedulable = true
		return c
	}
	events := timeline{}
	events.renews(26, 300)
	events.at(100, func(c *cluster, _ int) { c.Leave("m0") })
	events.at(160, func(c *cluster, _ int) { delete(c.Pods, "m0") })
	events.at(200, func(c *cluster, _ int) {
		require.Contains(t, c.message(AvailableCondition), `is held by "m0_first" on node/m0, which is no longer a `+
			"control-plane Node; make sure that the machine is off, or that its kubelet registers the Node again")
	})
	require.Equal(t, []string{"100s CloudControllerManagerAvailable=True LeaderCutOff"}, events.run(t, start, 300))
}

func TestTheControllerLearnsFromTheEventsWhichNodesLeave(t *testing.T) {
	c := newCluster("m0", "m1", "m2", "m3")
	c.Topology = configv1.HighlyAvailableTopologyMode
	clock := clocktesting.NewFakePassiveClock(begin)
	controller, caches := c.controllerAndCaches(t, "openstack", clock)
	client, informer := caches.client.CoreV1().Nodes(), caches.informers.Core().V1().Nodes().Informer()
	for _, node := range c.Nodes {
		require.NoError(t, caches.client.Tracker().Add(node))
	}
	go informer.RunWithContext(t.Context())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	syncContext := factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))
	reason := func() string {
		require.NoError(t, controller.Sync(t.Context(), syncContext))
		_, status, _, err := caches.operator.GetStaticPodOperatorState()
		require.NoError(t, err)
		return v1helpers.FindOperatorCondition(status.Conditions, ControlPlaneNodesCondition).Reason
	}
	require.Equal(t, "AsExpected", reason())

	cordoned := c.Nodes["m3"].DeepCopy()
	cordoned.Spec.Unschedulable = true
	_, err := client.Update(t.Context(), cordoned, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), "m3", metav1.DeleteOptions{}))
	isGone := func() bool { return len(informer.GetStore().ListKeys()) == 3 }
	require.Eventually(t, isGone, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return reason() == "AsExpected" }, time.Minute, time.Millisecond)
}

func TestACordonedNodeThatTheTopologyNeedsIsMissed(t *testing.T) {
	events := timeline{}
	events.renews(26, 400)
	events.at(100, func(c *cluster, _ int) { c.Nodes["m2"].Spec.Unschedulable = true })
	events.at(200, func(c *cluster, _ int) { c.Leave("m2"); delete(c.Pods, "m2") })
	require.Equal(t, []string{"200s ControlPlaneNodesDegraded=True NodesVanished"}, events.run(t, threeMasters, 400))
}

func TestMoreNodesThanTheTopologyNeedsAreRemembered(t *testing.T) {
	five := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3", "m4")
		c.Topology = configv1.HighlyAvailableTopologyMode
		return c
	}
	events := timeline{}
	events.renews(26, 400)
	events.at(200, func(c *cluster, _ int) { c.Leave("m4"); delete(c.Pods, "m4") })
	events.at(300, func(c *cluster, _ int) {
		require.Equal(
			t,
			"4 of 5 cloud-controller-managers are Ready; the one on node/m0 leads",
			c.message(AvailableCondition),
		)
	})
	require.Equal(t, []string{"200s ControlPlaneNodesDegraded=True NodesVanished"}, events.run(t, five, 400))
}

// An administrator removes a Node for good with "oc delete node" alone.
func TestANodeThatStaysAwayIsMissedForAWhileIfTheTopologyNeedsItNot(t *testing.T) {
	four := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3")
		c.Topology = configv1.HighlyAvailableTopologyMode
		return c
	}
	leave := func(node string) func(*cluster, int) {
		return func(c *cluster, _ int) { c.Leave(node); delete(c.Pods, node) }
	}
	t.Run("it is gone", func(t *testing.T) {
		events := timeline{}
		events.renews(26, 2400)
		events.at(200, leave("m3"))
		events.at(1300, func(c *cluster, _ int) {
			require.Equal(t, "3 of 3 cloud-controller-managers are Ready; the one on node/m0 leads", c.message(AvailableCondition))
		})
		require.Equal(t, []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished",
			"1100s ControlPlaneNodesDegraded=False AsExpected",
		}, events.run(t, four, 2400))
	})
	t.Run("it registers again", func(t *testing.T) {
		events := timeline{}
		events.renews(26, 2400)
		events.at(200, leave("m3"))
		events.at(600, func(c *cluster, second int) { c.Join("m3"); c.Install("m3", second) })
		require.Equal(t, []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished",
			"600s ControlPlaneNodesDegraded=False AsExpected",
		}, events.run(t, four, 2400))
	})
	t.Run("another one leaves the control plane incomplete", func(t *testing.T) {
		events := timeline{}
		events.renews(26, 2400)
		events.at(200, leave("m3"))
		events.at(700, leave("m2"))
		events.at(1900, func(c *cluster, _ int) {
			require.Equal(t, "2 of 4 cloud-controller-managers are Ready; the one on node/m0 leads", c.message(AvailableCondition))
		})
		events.at(2000, func(c *cluster, second int) { c.Join("m4"); c.Install("m4", second) })
		require.Equal(t, []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished",
			"2000s ControlPlaneNodesDegraded=False AsExpected",
		}, events.run(t, four, 2400))
	})
	t.Run("another one takes its place", func(t *testing.T) {
		events := timeline{}
		events.renews(26, 1400)
		events.at(200, leave("m3"))
		events.at(300, func(c *cluster, second int) { c.Join("m4"); c.Install("m4", second) })
		require.Equal(t, []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished",
			"300s ControlPlaneNodesDegraded=False AsExpected",
		}, events.run(t, four, 1400))
	})
	t.Run("it is gone before another one", func(t *testing.T) {
		five := func() *cluster {
			c := newCluster("m0", "m1", "m2", "m3", "m4")
			c.Topology = configv1.HighlyAvailableTopologyMode
			return c
		}
		events := timeline{}
		events.renews(26, 1900)
		events.at(200, leave("m4"))
		events.at(700, leave("m3"))
		events.at(1300, func(c *cluster, _ int) {
			require.Equal(t, "3 of 4 cloud-controller-managers are Ready; the one on node/m0 leads", c.message(AvailableCondition))
		})
		require.Equal(t, []string{
			"200s ControlPlaneNodesDegraded=True NodesVanished",
			"1600s ControlPlaneNodesDegraded=False AsExpected",
		}, events.run(t, five, 1900))
	})
	t.Run("its process goes on to lead", func(t *testing.T) {
		events := timeline{}
		events.renews(26, 2400)
		events.at(200, leave("m0"))
		require.Equal(t, []string{"200s ControlPlaneNodesDegraded=True NodesVanished"},
			of(events.run(t, four, 2400), ControlPlaneNodesCondition))
	})
}

// The machine is gone, so "restart the kubelet" would be no advice.
func TestANodeWhoseDeletionWasPermittedIsNotMissed(t *testing.T) {
	for _, permission := range []string{"Confirmed", "Allowed"} {
		five := func() *cluster {
			c := newCluster("m0", "m1", "m2", "m3", "m4")
			c.Topology = configv1.HighlyAvailableTopologyMode
			return c
		}
		events := timeline{}
		events.renews(26, 400)
		events.at(190, func(c *cluster, _ int) {
			c.Nodes["m4"].Annotations = map[string]string{
				"cloudcontrollermanager.operator.openshift.io/node-deletion": permission,
			}
		})
		events.at(200, func(c *cluster, _ int) { c.Leave("m4"); delete(c.Pods, "m4") })
		events.at(300, func(c *cluster, _ int) {
			require.Equal(
				t,
				"4 of 4 cloud-controller-managers are Ready; the one on node/m0 leads",
				c.message(AvailableCondition),
			)
		})
		require.Empty(t, events.run(t, five, 400))
	}
}

// Progressing is not for a cluster that grows (clusteroperator.md in openshift/enhancements).
func TestANodeThatJoinsAndLeavesAgainIsNoRollout(t *testing.T) {
	events := timeline{}
	events.renews(26, 400)
	events.at(100, func(c *cluster, _ int) { c.Join("m3"); c.Status.NodeStatuses[3].CurrentRevision = 0 })
	events.at(200, func(c *cluster, _ int) { c.Leave("m3") })
	require.Empty(t, events.run(t, threeMasters, 400))
}

func TestANodeThatIsRemovedOnPurposeIsNotMissedWhileAnotherVanished(t *testing.T) {
	five := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3", "m4")
		c.Topology = configv1.HighlyAvailableTopologyMode
		c.Nodes["m3"].Spec.Unschedulable = true
		return c
	}
	events := timeline{}
	events.renews(26, 400)
	events.at(100, func(c *cluster, _ int) { c.Leave("m4"); delete(c.Pods, "m4") })
	events.at(200, func(c *cluster, _ int) { c.Leave("m3"); delete(c.Pods, "m3") })
	events.at(300, func(c *cluster, _ int) {
		require.Equal(
			t,
			"node/m4 vanished while the static pod cloud-controller-manager ran there, 3 of 4 control-plane Nodes exist; "+
				"restart the kubelet so that the Node registers again, or replace the machine; the topology needs no more "+
				"Nodes, so a Node that stays away for 15 minutes counts as removed",
			c.message(ControlPlaneNodesCondition),
		)
	})
	require.Equal(t, []string{"100s ControlPlaneNodesDegraded=True NodesVanished"}, events.run(t, five, 400))
}

func TestANodeThatNeverRanARevisionIsNotMissedAfterARestartOfTheOperator(t *testing.T) {
	start := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3")
		c.Topology = configv1.HighlyAvailableTopologyMode
		c.Status.NodeStatuses[3].CurrentRevision = 0
		delete(c.Nodes, "m3")
		delete(c.Pods, "m3")
		return c
	}
	a := newAssessor()
	c := start()
	c.apply(0, a)
	require.Empty(t, c.message(ControlPlaneNodesCondition))
}

func TestAnOperatorThatStartsLateFindsTheVanishedNode(t *testing.T) {
	t.Run("library-go's entry is still there", func(t *testing.T) {
		start := func() *cluster { c := threeMasters(); delete(c.Nodes, "m2"); delete(c.Pods, "m2"); return c }
		events := timeline{}
		events.renews(26, 2400)
		events.at(10, func(c *cluster, _ int) { c.Leave("m2") })
		events.at(20, func(c *cluster, _ int) {
			require.Contains(t, c.message(ControlPlaneNodesCondition), "node/m2 vanished")
		})
		require.Empty(t, events.run(t, start, 2400))
	})
	t.Run("an earlier process reported it", func(t *testing.T) {
		start := func() *cluster {
			c := threeMasters()
			c.Leave("m2")
			delete(c.Pods, "m2")
			c.Status.Conditions = append(c.Status.Conditions, operatorv1.OperatorCondition{
				Type: ControlPlaneNodesCondition, Status: operatorv1.ConditionTrue, Reason: "NodesVanished",
				Message: "node/m2 vanished",
			})
			return c
		}
		events := timeline{}
		events.renews(26, 2400)
		events.at(20, func(c *cluster, _ int) { require.Equal(t, "node/m2 vanished", c.message(ControlPlaneNodesCondition)) })
		events.at(100, func(c *cluster, second int) { c.Join("m2"); c.Install("m2", second) })
		require.Equal(t, []string{"100s ControlPlaneNodesDegraded=False AsExpected"}, events.run(t, start, 2400))
	})
	t.Run("only the topology shows it", func(t *testing.T) {
		start := func() *cluster { c := threeMasters(); c.Leave("m2"); delete(c.Pods, "m2"); return c }
		events := timeline{}
		events.renews(26, 2400)
		events.at(2000, func(c *cluster, _ int) {
			require.Equal(t, "2 of 3 control-plane Nodes exist, but infrastructure/cluster has the topology HighlyAvailable; "+
				"check the machines and kubelets of the missing Nodes", c.message(ControlPlaneNodesCondition))
		})
		require.Equal(t, []string{"1800s ControlPlaneNodesDegraded=True NodesMissing"}, events.run(t, start, 2400))
	})
}

func TestTopologiesHaveAMinimum(t *testing.T) {
	for topology, want := range map[configv1.TopologyMode]int{
		"HighlyAvailable": 3, "HighlyAvailableArbiter": 2, "DualReplica": 2, "SingleReplica": 1, "External": 0, "": 0,
	} {
		require.Equal(t, want, minimums[topology], topology)
	}
}

func TestProgressingNamesTheNodesThatAreBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		revisions []int32
		reason    string
		message   string
	}{
		"none runs anything": {
			revisions: []int32{0, 0}, reason: "FirstRollout",
			message: "no control-plane node runs a revision yet; check the Degraded conditions for the cause",
		},
		"all are at the latest": {
			revisions: []int32{5, 5, 5}, reason: "AsExpected", message: "3 of 3 control-plane nodes run revision 5",
		},
		"two are not": {
			revisions: []int32{5, 4, 0}, reason: "RollingOut", message: "1 of 3 control-plane nodes run revision 5, node/m1 " +
				"runs revision 4, node/m2 runs none",
		},
		"as many as are listed are not": {
			revisions: []int32{5, 4, 4, 4, 4, 4}, reason: "RollingOut",
			message: "1 of 6 control-plane nodes run revision 5, node/m1 runs revision 4, node/m2 runs revision 4, " +
				"node/m3 runs revision 4, node/m4 runs revision 4, node/m5 runs revision 4",
		},
		"many are not": {
			revisions: []int32{4, 4, 4, 4, 4, 4, 4}, reason: "RollingOut", message: "0 of 7 control-plane nodes run " +
				"revision 5, node/m0 runs revision 4, " +
				"node/m1 runs revision 4, node/m2 runs revision 4, node/m3 runs revision 4, node/m4 runs revision 4, 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster("m0", "m1", "m2", "m3", "m4", "m5", "m6")
			c.Status.LatestAvailableRevision = 5
			c.Status.NodeStatuses = c.Status.NodeStatuses[:len(tc.revisions)]
			for i, revision := range tc.revisions {
				c.Status.NodeStatuses[i].CurrentRevision = revision
			}
			slices.Reverse(c.Status.NodeStatuses) // The entries have the order in which the Nodes joined.
			got := rollsOut(&input{view: c.view(0), expected: expectedNodes{installed: len(tc.revisions)}})
			require.Equal(t, result{reason: tc.reason, message: tc.message, violated: tc.reason != "AsExpected"}, got)
		})
	}
}

func TestProgressingSaysOnlyOfANodeThatItRunsARevisionIfItDoes(t *testing.T) {
	silent := func(c *cluster) {
		c.Nodes["m2"].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	}
	for name, tc := range map[string]struct {
		last    operatorv1.NodeStatus
		happens func(c *cluster)
		message string
	}{
		"a machine died that had the revision": {
			operatorv1.NodeStatus{CurrentRevision: 5}, silent,
			"AsExpected: 2 of 3 control-plane nodes run revision 5, node/m2 has a silent kubelet",
		},
		"a machine died that did not": {
			operatorv1.NodeStatus{CurrentRevision: 4}, silent,
			"RollingOut: 2 of 3 control-plane nodes run revision 5, node/m2 has a silent kubelet",
		},
		"the Node has vanished": {
			operatorv1.NodeStatus{CurrentRevision: 4}, func(c *cluster) { delete(c.Nodes, "m2") },
			"RollingOut: 2 of 3 control-plane nodes run revision 5, node/m2 has a silent kubelet",
		},
		"the first installation has not reached it": {
			operatorv1.NodeStatus{}, func(*cluster) {},
			"RollingOut: 2 of 3 control-plane nodes run revision 5, node/m2 runs none",
		},
		"it joined after the rollout": {
			operatorv1.NodeStatus{TargetRevision: 5}, func(c *cluster) {
				c.Status.Conditions = []operatorv1.OperatorCondition{{Type: ProgressingCondition, Status: operatorv1.ConditionFalse}}
			},
			"AsExpected: 2 of 3 control-plane nodes run revision 5, node/m2 runs none",
		},
		"the manifest was deleted": {
			operatorv1.NodeStatus{CurrentRevision: 5}, func(c *cluster) { delete(c.Pods, "m2") },
			"AsExpected: 2 of 3 control-plane nodes run revision 5, node/m2 runs no static pod",
		},
		"the manifest was deleted during a rollout": {
			operatorv1.NodeStatus{CurrentRevision: 4}, func(c *cluster) { delete(c.Pods, "m2") },
			"RollingOut: 2 of 3 control-plane nodes run revision 5, node/m2 runs no static pod",
		},
		"the installer has removed the former manifest": {
			operatorv1.NodeStatus{CurrentRevision: 4, TargetRevision: 5}, func(c *cluster) { delete(c.Pods, "m2") },
			"RollingOut: 2 of 3 control-plane nodes run revision 5, node/m2 is getting revision 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster("m0", "m1", "m2")
			c.Status.LatestAvailableRevision = 5
			tc.last.NodeName = "m2"
			c.Status.NodeStatuses = []operatorv1.NodeStatus{
				{NodeName: "m0", CurrentRevision: 5}, {NodeName: "m1", CurrentRevision: 5}, tc.last,
			}
			tc.happens(c)
			got := rollsOut(&input{view: c.view(0), expected: expectedNodes{installed: 3}})
			require.Equal(t, tc.message, got.reason+": "+got.message)
		})
	}
}

// library-go's node controller removes the entry of a Node that loses its label. The static pod stays there and leads.
func TestAStaticPodThatIsLeftOnANodeWithoutTheRoleIsReported(t *testing.T) {
	const message = "node/m0 lost the label node-role.kubernetes.io/master while the static pod " +
		"cloud-controller-manager ran there, " +
		"which still runs and may lead; set the label again, or delete " +
		"/etc/kubernetes/manifests/cloud-controller-manager-pod.yaml there"
	for name, tc := range map[string]struct {
		at   func(events timeline)
		want []string
	}{
		"the label is set again": {
			at: func(events timeline) {
				events.at(500, func(c *cluster, _ int) { c.SetRole("m0") })
				events.renews(26, 1000)
			},
			want: []string{
				"100s ControlPlaneNodesDegraded=True StaticPodsLeft", "500s ControlPlaneNodesDegraded=False AsExpected",
			},
		},
		"the manifest is deleted, and the topology needs another node": {
			at: func(events timeline) {
				events.renews(26, 500)
				events.at(500, func(c *cluster, _ int) { c.WithoutRole = nil; delete(c.Pods, "m0") })
				events.at(520, func(c *cluster, second int) { c.Acquire("m1", "second", second) })
				events.renews(546, 3000)
			},
			want: []string{
				"100s ControlPlaneNodesDegraded=True StaticPodsLeft",
				"500s CloudControllerManagerAvailable=True ForeignLeader",
				"500s ControlPlaneNodesDegraded=False AsExpected",
				"520s CloudControllerManagerAvailable=True LeaderStarting",
				"550s CloudControllerManagerAvailable=True AsExpected",
				"1900s ControlPlaneNodesDegraded=True NodesMissing",
			},
		},
		"another node vanished": {
			at: func(events timeline) {
				events.renews(26, 1000)
				events.at(200, func(c *cluster, _ int) { c.Leave("m1"); delete(c.Pods, "m1") })
				events.at(300, func(c *cluster, _ int) {
					require.Equal(t, message+"; node/m1 vanished while the static pod cloud-controller-manager ran there, "+
						"1 of 3 control-plane Nodes exist; restart the kubelet so that the Node registers again, or replace the machine",
						c.message(ControlPlaneNodesCondition))
				})
				events.at(500, func(c *cluster, _ int) { c.SetRole("m0") })
			},
			want: []string{
				"100s ControlPlaneNodesDegraded=True StaticPodsLeft", "500s ControlPlaneNodesDegraded=True NodesVanished",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := timeline{}
			events.at(100, func(c *cluster, _ int) { c.LoseRole("m0") })
			events.at(150, func(c *cluster, _ int) {
				require.Equal(t, message, c.message(ControlPlaneNodesCondition))
				require.Equal(
					t,
					"2 of 3 cloud-controller-managers are Ready; the one on node/m0 leads",
					c.message(AvailableCondition),
				)
			})
			tc.at(events)
			require.Equal(t, tc.want, events.run(t, threeMasters, 3000)[:len(tc.want)])
		})
	}
}

func TestANodeOfFiveMayLoseItsRole(t *testing.T) {
	five := func() *cluster {
		c := newCluster("m0", "m1", "m2", "m3", "m4")
		c.Topology = configv1.HighlyAvailableTopologyMode
		return c
	}
	events := timeline{}
	events.renews(26, 400)
	events.at(100, func(c *cluster, _ int) { c.LoseRole("m4") })
	events.at(200, func(c *cluster, _ int) { c.WithoutRole = nil; delete(c.Pods, "m4") })
	events.at(300, func(c *cluster, _ int) {
		require.Equal(
			t,
			"4 of 4 cloud-controller-managers are Ready; the one on node/m0 leads",
			c.message(AvailableCondition),
		)
	})
	require.Equal(t, []string{
		"100s ControlPlaneNodesDegraded=True StaticPodsLeft", "200s ControlPlaneNodesDegraded=False AsExpected",
	}, events.run(t, five, 400))
}

func TestANodeWithoutTheRoleIsFoundByItsPod(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes  []*corev1.Node
		forged bool
		want   string
	}{
		"it exists": {
			nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}}, want: "StaticPodsLeft",
		},
		"no file-syncer has ever reported from there, so a worker's kubelet has made the pod": {
			nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}}, forged: true, want: "AsExpected",
		},
		"it does not exist": {want: "AsExpected"},
		"it has the label and is not cached yet": {
			nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{
				Name: "m2", Labels: map[string]string{"node-role.kubernetes.io/master": ""},
			}}},
			want: "AsExpected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(begin)
			c := threeMasters()
			c.Leave("m2")
			controller, caches := c.controllerAndCaches(t, "openstack", clock)
			for _, node := range tc.nodes {
				require.NoError(t, caches.client.Tracker().Add(node))
			}
			if !tc.forged {
				require.NoError(t, caches.informers.Core().V1().ConfigMaps().Informer().GetIndexer().Add(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-cloud-controller-manager", Name: "node-files"},
					Data:       map[string]string{"m2": "{}"},
				}))
			}
			require.NoError(
				t,
				controller.Sync(t.Context(), factory.NewSyncContext("test", events.NewInMemoryRecorder("test", clock))),
			)
			_, status, _, err := caches.operator.GetStaticPodOperatorState()
			require.NoError(t, err)
			require.Equal(t, tc.want, v1helpers.FindOperatorCondition(status.Conditions, ControlPlaneNodesCondition).Reason)
			if tc.want == "AsExpected" && !tc.forged {
				require.Len(t, caches.client.Actions(), 1, "only the Node of this pod is read")
			}
		})
	}
}
