package nodedeletion

import (
	"context"
	"testing"
	"time"
	"unique"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

var five = []string{"master-0", "master-1", "master-2", "worker-0", "worker-1"}

// The machine is gone, or the cloud lies. Only the first costs a Node.
func TestADeletionIsConfirmedOnlyIfItIsCredible(t *testing.T) {
	const override = "; if the machine is gone for certain, allow the deletion: " +
		"oc annotate --overwrite node worker-1 cloudcontrollermanager.operator.openshift.io/node-deletion=Allowed"
	const many = "allow all of them for an hour: oc annotate --overwrite cloudcontrollermanager cluster " +
		"cloudcontrollermanager.operator.openshift.io/node-deletions-allowed-until=$(TZ=UTC-1 date +%FT%TZ)"
	const check = ": check that the credentials and the cloud configuration are those of this cluster's project and region"
	for name, tc := range map[string]struct {
		platform    string
		nodes       []string
		do          func(*cluster)
		wantDeleted []string
		wantReason  string
		wantMessage string
	}{
		"a machine that is gone": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
			wantDeleted: []string{"worker-1 after 25s"},
		},
		"a machine that is gone, which EC2 still describes": {
			platform: "aws",
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"], c.described["worker-1"] = true, true
				c.run(2 * time.Minute)
			},
			wantDeleted: []string{"worker-1 after 35s"},
		},
		"a machine that another cloud describes exists": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"], c.described["worker-1"] = true, true
				c.run(2 * time.Minute)
			},
		},
		"a machine that is gone, and a CCM with a controller of its own that announces nothing": {
			platform: "alibabacloud",
			do: func(c *cluster) {
				c.silent = true
				c.report("worker-1", corev1.ConditionUnknown)
				c.run(6 * time.Minute) // It looks every five minutes.
				c.unknown["worker-1"] = true
				c.run(5 * time.Second)
			},
			wantDeleted: []string{"worker-1 after 6m0s"},
		},
		"a machine that was off before it is gone, and a custom CCM that said both": {
			platform: "external",
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				node := c.node("worker-1")
				node.Spec.Taints = []corev1.Taint{{Key: shutdownTaint, Effect: corev1.TaintEffectNoSchedule}}
				c.put(node)
				c.run(time.Hour)
				require.Empty(c.t, c.node("worker-1").Annotations)
				c.unknown["worker-1"] = true
				c.run(time.Minute)
			},
			wantDeleted: []string{"worker-1 after 1h0m5s"},
		},
		"a failure of the network, and a CCM that announces nothing": {
			platform: "external",
			do: func(c *cluster) {
				c.silent = true
				for _, name := range five[:3] {
					c.report(name, corev1.ConditionUnknown)
				}
				c.run(2 * time.Minute)
			},
			wantReason: "TooManyNodes",
			wantMessage: "the cloud-controller-manager may want to delete node/master-0, node/master-1, node/master-2, " +
				"whose kubelet is silent, " +
				"but 3 of 5 kubelets are silent, as after a failure of the network, and a cloud that denies so many machines " +
				"may be wrong: restore their connection to the API server, and check that the credentials and the cloud " +
				"configuration are those of this cluster's project and region; from 2026-11-21T09:10:00Z on, the operator lets " +
				"one of these Nodes go in 10m0s; if the machines are gone for certain, " + many,
		},
		"a machine that is off, which the cloud knows": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.run(2 * time.Minute)
			},
		},
		"an empty inventory while every kubelet reports": {
			do: func(c *cluster) {
				c.forgetMachines()
				c.run(2 * time.Minute)
			},
		},
		"an empty inventory while one kubelet is silent": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.forgetMachines()
				c.run(65 * time.Second) // between two probes
			},
			wantReason: "LivingNodesUnknown",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the " +
				"machine, but " +
				"it did not find the machine of the living node worker-0, master-0, master-1 either within 30s" + check,
		},
		"an inventory that lacks a living node": {
			nodes: []string{"master-0", "worker-0", "worker-1"},
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"], c.unknown["master-0"] = true, true
				c.run(65 * time.Second)
			},
			wantReason: "LivingNodesUnknown",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the " +
				"machine, but " +
				"it did not find the machine of the living node master-0 either within 30s" + check,
		},
		"an empty inventory while most kubelets are silent": {
			nodes: []string{"master-0", "worker-0", "worker-1"},
			do: func(c *cluster) {
				c.report("worker-0", corev1.ConditionUnknown)
				c.report("worker-1", corev1.ConditionUnknown)
				c.forgetMachines()
				c.run(65 * time.Second)
			},
			wantReason: "LivingNodesUnknown",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-0, node/worker-1, because the cloud " +
				"does not know the " +
				"machine, but it did not find the machine of the living node master-0 either within 30s" + check +
				", and that the network works: 2 of 3 kubelets are silent",
		},
		"a kubelet that reports that it is not ready": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionFalse)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
			wantReason: "NodeReports",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the " +
				"machine, but " +
				"the kubelet there reports its state" + check,
		},
		"a machine that is shut down before it is gone": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionFalse)
				c.unknown["worker-1"] = true
				c.run(50 * time.Second)
				require.Empty(c.t, reasonOf(c))
				c.report("worker-1", corev1.ConditionUnknown)
				c.run(time.Minute)
			},
			wantDeleted: []string{"worker-1 after 1m15s"},
		},
		"a machine that is shut down for minutes before it is gone, of which the CCM speaks no more": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionFalse)
				c.unknown["worker-1"] = true
				c.run(50 * time.Second)
				c.silent = true
				c.report("worker-1", corev1.ConditionUnknown)
				c.run(2 * time.Minute)
			},
			wantDeleted: []string{"worker-1 after 1m15s"},
		},
		"most kubelets are silent": {
			do: func(c *cluster) {
				for _, name := range []string{"master-1", "worker-0", "worker-1"} {
					c.report(name, corev1.ConditionUnknown)
				}
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
			wantReason: "TooManyNodes",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the " +
				"machine, but " +
				"3 of 5 kubelets are silent, as after a failure of the network, and a cloud that denies so many machines may " +
				"be wrong: restore their connection to the API server, and check that the credentials and the cloud " +
				"configuration are those of this cluster's project and region; from 2026-11-21T09:10:00Z on, the operator lets " +
				"at most 1 of these Nodes go in a minute while the cloud finds the machines of living nodes; if the machines " +
				"are gone for certain, " + many,
		},
		"most machines are shut down, which the cloud knows, and one more is gone": {
			do: func(c *cluster) {
				for _, name := range []string{"master-1", "master-2", "worker-0"} {
					c.report(name, corev1.ConditionUnknown)
					node := c.node(name)
					node.Spec.Taints = []corev1.Taint{{Key: shutdownTaint, Effect: corev1.TaintEffectNoSchedule}}
					c.put(node)
				}
				c.run(10 * time.Minute)
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
				for _, name := range []string{"master-1", "master-2", "worker-0"} {
					node := c.node(name)
					node.Spec.Taints = nil
					c.put(node)
				}
			},
			wantDeleted: []string{"worker-1 after 10m25s"},
		},
		"a single node": {
			nodes: []string{"worker-1"},
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
			wantReason: "NoLivingNode",
			wantMessage: "the cloud-controller-manager wants to delete node/worker-1, because the cloud does not know the " +
				"machine, but " +
				"there is no other initialized and ready node to compare with" + override,
		},
		"two machines are gone: one deletion in a minute": {
			do: func(c *cluster) {
				for _, name := range []string{"worker-0", "worker-1"} {
					c.report(name, corev1.ConditionUnknown)
					c.unknown[name] = true
				}
				c.run(3 * time.Minute)
			},
			wantDeleted: []string{"worker-0 after 25s", "worker-1 after 1m25s"},
		},
		"a rollout": {
			do: func(c *cluster) {
				c.rollOut(5, 4)
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(time.Minute)
				require.Empty(c.t, c.deleted)
				require.Empty(c.t, reasonOf(c))
				c.rollOut(5, 5)
				c.run(time.Minute)
			},
			wantDeleted: []string{"worker-1 after 1m5s"},
		},
		"a rollout that does not end": {
			do: func(c *cluster) {
				c.rollOut(5, 4)
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(6 * time.Minute)
			},
			wantDeleted: []string{"worker-1 after 5m5s"},
		},
		"a rollout that only the silent node lacks": {
			do: func(c *cluster) {
				c.rollOut(4, 4, "worker-1")
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(time.Minute)
			},
			wantDeleted: []string{"worker-1 after 25s"},
		},
		"a kubelet that comes back within the time to settle": {
			do: func(c *cluster) {
				c.unknown["worker-1"] = true
				c.report("worker-1", corev1.ConditionUnknown)
				c.run(18 * time.Second)
				c.report("worker-1", corev1.ConditionTrue)
				c.run(2 * time.Minute)
			},
		},
		"a lie that an administrator believes": {
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.forgetMachines()
				c.run(65 * time.Second)
				node := c.node("worker-1")
				metav1.SetMetaDataAnnotation(&node.ObjectMeta, Annotation, Allowed)
				c.put(node)
				c.run(time.Minute)
			},
			wantDeleted: []string{"worker-1 after 1m5s"},
		},
		"no process leads": {
			do: func(c *cluster) {
				c.lead("")
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
		},
		"a platform whose cloud-node-manager would answer": {
			platform: "azure",
			do: func(c *cluster) {
				c.report("worker-1", corev1.ConditionUnknown)
				c.unknown["worker-1"] = true
				c.run(2 * time.Minute)
			},
			wantDeleted: []string{"worker-1 after 25s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.platform == "" {
				tc.platform = "openstack"
			}
			if tc.nodes == nil {
				tc.nodes = five
			}
			c := newCluster(t, tc.platform, tc.nodes...)
			tc.do(c)
			require.Equal(t, tc.wantDeleted, c.deleted)
			reason, message := c.condition()
			require.Equal(t, tc.wantReason, reason)
			require.Equal(t, tc.wantMessage, message)
			require.Empty(t, c.marks(), "no mark of the operator stays on a Node")
		})
	}
}

func TestTheConditionEndsWithTheLie(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(65 * time.Second)
	reason, message := c.condition()
	require.Equal(t, "LivingNodesUnknown", reason)

	clear(c.unknown)
	c.run(45 * time.Second)
	require.Empty(t, reasonOf(c))
	c.run(20 * time.Minute)
	require.Empty(t, c.deleted)
	require.Empty(t, c.marks())
	require.Len(t, c.recorder.Events(), 1, "nothing was confirmed")
	require.Equal(t, "NodeDeletionHeld", c.recorder.Events()[0].Reason)
	require.Equal(t, message, c.recorder.Events()[0].Message)

	c.unknown["worker-1"] = true
	c.run(2 * time.Minute)
	require.Len(t, c.deleted, 1, "the cloud is believed again")
}

func TestALieThatFollowsAnHonestAnswerIsNotBelieved(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	for range 3 {
		c.forgetMachines()
		c.run(2 * time.Minute)
		require.Equal(t, "LivingNodesUnknown", reasonOf(c))
		clear(c.unknown)
		for reasonOf(c) != "" {
			c.run(time.Second)
		}
	}
	require.Empty(t, c.deleted)
}

// A short lie between two true answers looks like a machine that is gone and still described, so it is forgotten
// soon.
func TestALieBetweenHonestAnswersIsNotBelievedLater(t *testing.T) {
	c := newCluster(t, "aws", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	lie := func() {
		c.forgetMachines()
		c.run(6 * time.Second)
		clear(c.unknown)
	}
	lie()
	c.run(announcementLife) // It has found every machine once.
	lie()
	c.run(40 * time.Second)
	require.Empty(t, c.recorder.Events(), "nothing was confirmed")
	require.Empty(t, c.marks())
	require.Empty(t, c.deleted)
}

// An account may lose the right to see one datacenter, and a part of a cloud may lose its inventory.
func TestALieAboutOneZoneIsNotBelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		lost       []string
		wantReason string
		want       []string
	}{
		"the cloud knows no machine of the zone": {lost: []string{"b-0", "b-1", "b-2"}, wantReason: "LivingNodesUnknown"},
		"one machine is gone":                    {lost: []string{"b-2"}, want: []string{"b-2 after 25s"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "vsphere", "a-0", "a-1", "a-2", "b-0", "b-1", "b-2", "c-0", "c-1", "c-2")
			for _, key := range c.nodes.ListKeys() {
				node := c.node(key)
				node.Labels = map[string]string{corev1.LabelTopologyZone: key[:1]}
				c.put(node)
			}
			c.report("b-2", corev1.ConditionUnknown)
			for _, lost := range tc.lost {
				c.unknown[lost] = true
			}
			c.run(5 * time.Minute)
			require.Equal(t, tc.want, c.deleted)
			require.Equal(t, tc.wantReason, reasonOf(c))
		})
	}
}

// An Event has the time of the CCM's node.
func TestAWrongClockOfTheLeadersNodeDelaysNoDeletion(t *testing.T) {
	for name, skew := range map[string]time.Duration{"slow": -2 * time.Hour, "fast": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.skew = skew
			c.run(time.Minute)
			c.report("worker-1", corev1.ConditionUnknown)
			c.unknown["worker-1"] = true
			c.run(time.Minute)
			require.Equal(t, []string{"worker-1 after 1m25s"}, c.deleted)

			c.report("worker-0", corev1.ConditionUnknown)
			c.unknown["worker-0"] = true
			c.run(10 * time.Second)
			clear(c.unknown)
			c.run(time.Minute)
			require.Empty(t, c.marks(), "the cloud knows the machine again, so the CCM is not asked any more")
			c.run(time.Hour)
			require.Len(t, c.deleted, 1)
			require.Empty(t, c.marks())
		})
	}
}

// The CCM's recorder drops most repetitions, and the lie may have ended since it passed the last one on.
func TestAnOldWordIsNotBelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		known bool
		want  []string
	}{
		"the machine is still gone": {want: []string{"worker-1 after 1m15s"}},
		"the machine is back":       {known: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.rollOut(5, 4) // It delays the decision.
			c.unknown["worker-1"] = true
			c.report("worker-1", corev1.ConditionUnknown)
			c.run(10 * time.Second)
			c.silent = true
			c.unknown["worker-1"] = !tc.known
			c.run(time.Minute)
			c.rollOut(5, 5)
			c.run(30 * time.Minute)
			require.Equal(t, tc.want, c.deleted)
			require.Empty(t, c.marks())
			require.Len(t, c.recorder.Events(), len(tc.want), "an event for each confirmation")
		})
	}
}

func TestAKubeletThatReportsIsAskedForItself(t *testing.T) {
	for name, forget := range map[string]func(c *cluster){
		"the cloud forgets this machine":  func(c *cluster) { c.unknown["worker-1"] = true },
		"the cloud forgets every machine": (*cluster).forgetMachines,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.report("worker-1", corev1.ConditionFalse)
			forget(c)
			c.run(2 * time.Minute)
			require.Equal(t, "NodeReports", reasonOf(c))
			clear(c.unknown)
			c.run(90 * time.Second)
			require.Empty(t, reasonOf(c))
		})
	}
}

// Each process of the CCM may have other credentials.
func TestANewLeaderIsAskedAgain(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	for c.node("worker-1").Annotations[Annotation] != Confirmed {
		c.run(time.Second)
		require.Less(t, c.clock.Now().Sub(start), time.Minute)
	}
	require.Empty(t, c.deleted)

	c.lead("master-1_2")
	c.forgetMachines()
	require.NoError(t, c.controller.sync(t.Context(), c.timer))
	require.NotContains(t, c.node("worker-1").Annotations, Annotation)
	c.run(2 * time.Minute)
	require.Empty(t, c.deleted)
}

// A dead leader does not find living machines either. That does not show wrong credentials.
func TestADeadLeaderProvesNothing(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.run(time.Minute)
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	c.run(10 * time.Second) // the CCM announces the deletion
	c.dead = true
	c.run(leaderSilence)
	for range 120 {
		reason, message := c.condition()
		require.Empty(t, reason, message)
		c.run(time.Second)
	}
	require.Empty(t, c.deleted)

	c.lead("master-1_2")
	c.run(time.Minute)
	require.Len(t, c.deleted, 1)
}

func TestAnOperatorThatStartsTakesBackWhatTheLastOneLeft(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.fails = true
	for name, change := range map[string]func(*corev1.Node){
		"master-0": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{
				{Key: "node-role.kubernetes.io/master", Effect: corev1.TaintEffectNoSchedule},
				{Key: controlplane.UninitializedTaint, Value: probeTaintValue, Effect: corev1.TaintEffectPreferNoSchedule},
			}
		},
		"worker-0": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: controlplane.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		},
		"worker-1": func(n *corev1.Node) { n.Annotations = map[string]string{Annotation: Confirmed} },
		"master-1": func(n *corev1.Node) { n.Annotations = map[string]string{Annotation: Allowed} },
	} {
		node := c.node(name)
		change(node)
		c.put(node)
	}
	c.run(2 * time.Second)
	require.Equal(t, []string{
		"master-0 node-role.kubernetes.io/master", "master-1 Allowed", "worker-0 " + controlplane.UninitializedTaint,
	}, c.marks())
}

// The CCM has to be asked before its silence is an answer: a write that fails or takes long is not the CCM's silence.
func TestACCMThatWasNotAskedDeniesNothing(t *testing.T) {
	t.Run("the taint of the silent node cannot be written", func(t *testing.T) {
		c := newCluster(t, "openstack", five...)
		c.refused = "worker-1"
		c.report("worker-1", corev1.ConditionUnknown)
		c.unknown["worker-1"] = true
		c.cloudControllerManager()
		clear(c.unknown) // The lie ends before the CCM can be asked.
		for range 60 {
			_ = c.controller.sync(t.Context(), c.timer)
			c.clock.SetTime(c.clock.Now().Add(time.Second))
			c.cloudControllerManager()
			for _, r := range c.controller.memory.records {
				require.Zero(t, r.notFound)
			}
		}
		require.Empty(t, c.recorder.Events(), "nothing was confirmed")
	})
	t.Run("writes take long", func(t *testing.T) {
		c := newCluster(t, "openstack", five...)
		c.slow = 5 * time.Second // for each of four Nodes
		c.report("worker-1", corev1.ConditionUnknown)
		c.unknown["worker-1"] = true
		c.cloudControllerManager()
		require.NoError(t, c.controller.sync(t.Context(), c.timer))
		c.slow, c.fails = 0, true
		c.run(5 * time.Second)
		c.fails = false
		for range 25 {
			c.run(time.Second)
			reason, message := c.condition()
			require.Empty(t, reason, message)
		}
		require.Len(t, c.deleted, 1)
	})
	t.Run("a living node cannot be written", func(t *testing.T) {
		c := newCluster(t, "openstack", five...)
		c.refused = "master-1"
		c.report("worker-1", corev1.ConditionUnknown)
		c.unknown["worker-1"] = true
		for range 65 {
			c.cloudControllerManager()
			_ = c.controller.sync(t.Context(), c.timer)
			c.clock.SetTime(c.clock.Now().Add(time.Second))
			reason, message := c.condition()
			require.Empty(t, reason, message)
		}
		require.Empty(t, c.deleted)
		require.Empty(t, c.marks())
	})
}

func TestAConflictIsTriedAgain(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.unknown["worker-1"] = true
	c.cloudControllerManager()
	c.stale = true
	require.ErrorContains(t, c.controller.sync(t.Context(), c.timer), "node/master-0: ")
}

func TestARemovalTakesTheMarksBack(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(5 * time.Second)
	require.NotEmpty(t, c.marks(), "the CCM is asked")

	require.NoError(t, operatorclient.ApplyConditions(t.Context(), c.operator, "test", operatorclient.NewCondition(
		observedplatform.RemovingCondition, operatorv1.ConditionTrue, string(observedplatform.RemovingStaticPods), "")))
	require.NoError(t, c.controller.sync(t.Context(), c.timer))
	require.Empty(t, c.marks())
}

// A watch that does not start looks like a cluster in which no machine is deleted.
func TestCachesThatDoNotFillAreReported(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.controller.synced = func() bool { return false }
	calls, err := c.timer.Run(t.Context(), c.controller.sync, 2*time.Minute)
	require.EqualError(t, err, "the Nodes, or the Events in namespace default, cannot be listed since "+
		"2026-11-21T09:00:00Z: "+
		"no Node of a deleted machine goes; read the operator's log")
	require.Equal(t, time.Minute, calls[len(calls)-1])
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	require.Empty(t, status.Conditions, "unknown is not false")
}

// Only the delays that the controller requests call it here: a probe ends although nothing happens.
func TestItComesBackByItselfWhileADeletionWaits(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.cloudControllerManager()
	led := func(ctx context.Context, syncCtx factory.SyncContext) error {
		c.renew()
		return c.controller.sync(ctx, syncCtx)
	}
	calls, err := c.timer.Run(t.Context(), led, 95*time.Second)
	require.NoError(t, err)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
	require.Greater(t, len(calls), 20)

	m, o := newMemory(), &observation{nodes: []*node{{record: &record{state: held}}}}
	require.Equal(t, lookLater, m.lookAgain(o), "without a mark")
	o.nodes[0].permission = Confirmed
	require.Equal(t, lookSoon, m.lookAgain(o))
}

func TestOnUnmanagedPlatformsNothingIsWritten(t *testing.T) {
	c := newCluster(t, "none", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(2 * time.Minute)
	require.Empty(t, c.kube.Actions())
	_, status, _, err := c.operator.GetOperatorState()
	require.NoError(t, err)
	require.Empty(t, status.Conditions)
}

func TestTheFactsOfANodeAreWhatTheControllerReads(t *testing.T) {
	transition := metav1.NewTime(start)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", UID: "1", ResourceVersion: "7", Labels: map[string]string{corev1.LabelTopologyZone: "zone", "x": "y"},
			Annotations: map[string]string{Annotation: Allowed, "x": "y"},
		},
		Spec: corev1.NodeSpec{ProviderID: "cloud:///a", PodCIDR: "10.0.0.0/24", Taints: []corev1.Taint{{Key: "x"}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: "fine", LastTransitionTime: transition},
		}},
	}
	kept, err := StripNode(node)
	require.NoError(t, err)
	require.Equal(t, &Facts{
		name: "a", version: "7", uid: "1", scheme: unique.Make("cloud"), zone: unique.Make("zone"),
		taints: []corev1.Taint{{Key: "x"}}, permission: unique.Make(Allowed), kubelet: controlplane.KubeletReady,
		transition: transition.Unix(),
	}, kept)
	key, err := cache.MetaNamespaceKeyFunc(kept)
	require.NoError(t, err)
	require.Equal(t, "a", key)
	object, err := meta.Accessor(kept)
	require.NoError(t, err)
	require.Equal(t, &metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "7"}, object)

	// An informer transforms an object twice, for example when it lists again.
	again, err := StripNode(kept)
	require.NoError(t, err)
	require.Same(t, kept, again)
}

func reasonOf(c *cluster) string {
	reason, _ := c.condition()
	return reason
}

// The operator does not know when such a CCM tries, so its permission lasts as long as the silence and the leader.
func TestAPermissionForACCMThatAnnouncesNothingEndsWithTheSilence(t *testing.T) {
	confirmed := []string{"worker-1 Confirmed"}
	for name, end := range map[string]func(c *cluster){
		"the kubelet reports":   func(c *cluster) { c.report("worker-1", corev1.ConditionFalse) },
		"another process leads": func(c *cluster) { c.rollOut(5, 4); c.lead("master-1_2") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "external", five...)
			c.silent = true
			c.report("worker-1", corev1.ConditionUnknown)
			c.run(time.Hour)
			require.Equal(t, confirmed, c.marks())
			end(c)
			c.run(2 * time.Second)
			require.Empty(t, c.marks())
		})
	}
}

func TestWithoutAnnouncementsTheControllerLooksForSilenceByItself(t *testing.T) {
	for platform, want := range map[string][]time.Duration{
		"external":  {0, 10 * time.Second, 20 * time.Second},
		"openstack": {0},
	} {
		t.Run(platform, func(t *testing.T) {
			c := newCluster(t, platform, five...)
			calls, err := controllertest.NewTimer(c.clock, c.recorder).Run(t.Context(), c.controller.sync, 25*time.Second)
			require.NoError(t, err)
			require.Equal(t, want, calls)
		})
	}
}

func TestWithoutAnnouncementsOnlySilenceIsConfirmed(t *testing.T) {
	for name, change := range map[string]func(n *corev1.Node){
		"not a machine that the cloud knows to be shut down": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{
				{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule},
			}
		},
		"not a Node whose kubelet has not reported yet": func(n *corev1.Node) { n.Status.Conditions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "external", five...)
			c.report("worker-1", corev1.ConditionUnknown)
			n := c.node("worker-1")
			change(n)
			c.put(n)
			c.run(2 * time.Minute)
			require.Empty(t, c.node("worker-1").Annotations)
		})
	}
}

// Where the CCM announces nothing, a deletion is evidence that others may go sooner.
func TestANodeWhoseKubeletComesBackCountsAsNoDeletion(t *testing.T) {
	c := newCluster(t, "external", five...)
	c.silent = true
	c.refused = "worker-1"
	c.report("worker-1", corev1.ConditionUnknown)
	for range 25 {
		_ = c.controller.sync(t.Context(), c.timer)
		c.clock.SetTime(c.clock.Now().Add(time.Second))
	}
	require.Equal(t, confirmed, c.controller.memory.records["uid-worker-1"].state)
	c.report("worker-1", corev1.ConditionTrue)
	require.NoError(t, c.controller.sync(t.Context(), c.timer))
	require.Empty(t, c.controller.memory.records)
	require.Zero(t, c.controller.memory.gone)
}
