package staticpod

import (
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// repair sets a node's own revision as its target, as the node repair does. It deletes the node's installers.
func (s *simulated) repair(name string) {
	s.t.Helper()
	for i := range s.operator.status.NodeStatuses {
		node := &s.operator.status.NodeStatuses[i]
		node.TargetRevision = 0
		if node.NodeName == name {
			node.TargetRevision = node.CurrentRevision
			s.forgetInstaller(fmt.Sprintf("installer-%d-%s", node.CurrentRevision, name))
		}
	}
}

// deleteManifest ends a node's static pod.
func (s *simulated) deleteManifest(name string) {
	s.machines[name].runs = 0
	s.deleteMirror(name)
}

// library-go's controller is shown a node without a revision. Nothing that it concludes from that may be written.
func TestARepairIsToldAsOne(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes []string
		// want are the messages of Progressing, in the order of their first appearance.
		want []string
	}{
		"a single node at its first revision": {[]string{"m0"}, []string{
			"True: revision 1 is installed again on node/m0", "False: 1 node is at revision 1",
		}},
		"one of three nodes": {[]string{"m0", "m1", "m2"}, []string{
			"True: 2 nodes are at revision 1; revision 1 is installed again on node/m0", "False: 3 nodes are at revision 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, tc.nodes...)
			s.repair("m0")
			var told []string
			written := sets.New[string]()
			for range 20 {
				s.run(time.Second)
				if now := s.operator.condition(t, "NodeInstallerProgressing"); len(told) == 0 || told[len(told)-1] != now {
					told = append(told, now)
				}
				for _, c := range s.operator.status.Conditions {
					written.Insert(c.Type + " " + string(c.Status))
				}
			}
			require.Equal(t, tc.want, told)
			require.ElementsMatch(t, []string{
				"NodeInstallerProgressing True", "NodeInstallerProgressing False", "NodeInstallerDegraded False",
				"InstallerControllerDegraded False", "ImagePullDegraded False", "InstallerPodStartDegraded False",
			}, written.UnsortedList())
			require.Equal(t, int32(1), s.machines["m0"].runs)
			for _, event := range s.recorder.Events() {
				require.NotContains(t, event.Message, "from revision", "it keeps its revision")
			}
		})
	}
}

func TestARepairDuringARollout(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *simulated)
		want    string
		order   []string
	}{
		"the rollout has failed on another node, so the repaired one keeps its revision": {
			func(s *simulated) {
				s.machines["m1"].fails = 2
				s.revision(2)
				s.run(time.Minute)
				s.deleteManifest("m2")
				s.repair("m2")
			}, "m0 1, m1 1 to 2, m2 1", []string{"m1: 2", "m1: 2"},
		},
		"the rollout has not started, so it starts with the repaired node": {
			func(s *simulated) {
				s.deleteManifest("m2")
				s.repair("m2")
				s.revision(2)
			}, "m0 2, m1 2, m2 2", []string{"m2: 2", "m1: 2", "m0: 2"},
		},
		"the rollout was done on another node, so the repaired one gets the revision too": {
			func(s *simulated) {
				s.revision(2)
				s.run(15 * time.Second)
				require.Equal(s.t, "m0 1, m1 2, m2 1 to 2", s.revisions())
				s.deleteManifest("m2")
				s.repair("m2")
			}, "m0 2, m1 2, m2 2", []string{"m1: 2", "m2: 2", "m2: 2", "m0: 2"},
		},
		"the kubelet of the repaired node falls silent": {
			func(s *simulated) {
				s.deleteManifest("m2")
				s.repair("m2")
				s.silence("m2", true)
				s.unknown("m2")
				s.revision(2)
			}, "m0 2, m1 2, m2 1", []string{"m1: 2", "m0: 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			tc.happens(s)
			s.run(time.Minute)
			require.Equal(t, tc.want, s.revisions())
			require.Equal(t, tc.order, s.order)
			require.Equal(t, !s.machines["m2"].dead, s.machines["m2"].runs != 0)
			require.LessOrEqual(t, s.most, 1, "nodes without a static pod at one time")
		})
	}
}

func TestProgressSaysWhereWhichRevisionIs(t *testing.T) {
	type nodes = []operatorv1.NodeStatus
	for name, tc := range map[string]struct {
		nodes   nodes
		happens func(s *simulated)
		want    string
	}{
		"all have it": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 36}}, nil, "False: 3 nodes are at revision 36",
		},
		"a rollout starts": {
			nodes{{CurrentRevision: 35}, {CurrentRevision: 35}, {CurrentRevision: 35}}, nil,
			"True: 3 nodes are at revision 35; 0 nodes have achieved new revision 36",
		},
		"a node is being installed": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 35, TargetRevision: 36}, {CurrentRevision: 35}}, nil,
			"True: 1 node is at revision 35; 1 node is at revision 36; revision 36 is being installed on node/m1",
		},
		"a first installation": {
			nodes{{TargetRevision: 36}, {}, {}}, func(s *simulated) { s.deleteManifest("m1") },
			"True: 2 nodes are at revision 0; 0 nodes have achieved new revision 36; revision 36 is being installed on node/m0",
		},
		"a machine died, and the others have it": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 35}}, func(s *simulated) { s.unknown("m2") },
			"True: 2 nodes are at revision 36; revision 36 is not on node/m2: its kubelet is silent",
		},
		"a machine died that had it": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 36}}, func(s *simulated) { s.unknown("m2") },
			"False: 2 nodes are at revision 36; what runs on node/m2 is not known: its kubelet is silent",
		},
		"a Node vanished": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 35}},
			func(s *simulated) {
				require.NoError(
					s.t,
					s.nodes.Core().V1().Nodes().Informer().GetStore().Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}),
				)
			},
			"True: 2 nodes are at revision 36; revision 36 is not on node/m2: its kubelet is silent",
		},
		"a container runtime failed": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 35}},
			func(s *simulated) { s.ready("m2", corev1.ConditionFalse) },
			"True: 2 nodes are at revision 36; revision 36 is not on node/m2: its kubelet is not Ready",
		},
		"the manifest of a node was deleted": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36}, {CurrentRevision: 36}},
			func(s *simulated) { s.deleteManifest("m1") },
			"False: 2 nodes are at revision 36; no static pod runs on node/m1",
		},
		"the manifest of a node was deleted during a rollout": {
			nodes{{CurrentRevision: 35, TargetRevision: 36}, {CurrentRevision: 35}, {CurrentRevision: 35}},
			func(s *simulated) { s.deleteManifest("m1") },
			"True: 1 node is at revision 35; 0 nodes have achieved new revision 36; " +
				"no static pod runs on node/m1; revision 36 is being installed on node/m0",
		},
		"a repair": {
			nodes{{CurrentRevision: 36}, {CurrentRevision: 36, TargetRevision: 36}, {CurrentRevision: 36}}, nil,
			"True: 2 nodes are at revision 36; revision 36 is installed again on node/m1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.operator.status.LatestAvailableRevision = 36
			for i, node := range tc.nodes {
				node.NodeName = s.names[i]
				s.operator.status.NodeStatuses[i] = node
			}
			if tc.happens != nil {
				tc.happens(s)
			}
			require.NoError(t, s.progress.Sync(t.Context(), s.syncContext()))
			require.Equal(t, tc.want, s.operator.condition(t, "NodeInstallerProgressing"))
			require.Equal(t, "False: ", s.operator.condition(t, "NodeInstallerDegraded"))
		})
	}
}

func TestAFailedInstallationIsTold(t *testing.T) {
	const failed = "True: revision 2 cannot be installed on node/m1: no route to host"
	for name, tc := range map[string]struct {
		node operatorv1.NodeStatus
		want string
	}{
		"it is tried again": {
			operatorv1.NodeStatus{CurrentRevision: 1, TargetRevision: 2, LastFailedRevision: 2}, failed,
		},
		"it waits for a repair of another node": {
			operatorv1.NodeStatus{CurrentRevision: 1, LastFailedRevision: 2}, failed,
		},
		"a former revision had failed": {
			operatorv1.NodeStatus{CurrentRevision: 0, TargetRevision: 2, LastFailedRevision: 1}, "False: ",
		},
		"the next revision is not tried there yet": {
			operatorv1.NodeStatus{CurrentRevision: 0, LastFailedRevision: 1}, "False: ",
		},
		"nothing has failed, before any revision": {operatorv1.NodeStatus{}, "False: "},
		"the revision of the node is repaired":    {operatorv1.NodeStatus{CurrentRevision: 1, TargetRevision: 1}, "False: "},
		"the repair fails, and a later one waits": {
			operatorv1.NodeStatus{CurrentRevision: 1, TargetRevision: 1, LastFailedRevision: 1},
			"True: revision 1 cannot be installed on node/m1: no route to host",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1")
			s.operator.status.LatestAvailableRevision = 2
			tc.node.NodeName, tc.node.LastFailedRevisionErrors = "m1", []string{"no route to host"}
			s.operator.status.NodeStatuses[1] = tc.node
			require.NoError(t, s.progress.Sync(t.Context(), s.syncContext()))
			require.Equal(t, tc.want, s.operator.condition(t, "NodeInstallerDegraded"))
		})
	}
}
