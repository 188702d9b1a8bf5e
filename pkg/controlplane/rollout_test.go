package controlplane_test

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controlplanetest"
)

func TestANodeThatJoinsIsNoRollout(t *testing.T) {
	const condition = "Progressing"
	for name, tc := range map[string]struct {
		revisions []int32
		latest    int32
		former    operatorv1.ConditionStatus
		want      bool
	}{
		"no node is known":                            {former: "False"},
		"no revision exists":                          {revisions: []int32{0, 0, 0}, former: "False"},
		"the first revision exists":                   {revisions: []int32{0, 0, 0}, latest: 1, former: "False", want: true},
		"the first of three nodes has it":             {revisions: []int32{1, 0, 0}, latest: 1, former: "True", want: true},
		"nothing was told yet":                        {revisions: []int32{1, 0, 0}, latest: 1, want: true},
		"two of three nodes have it":                  {revisions: []int32{1, 1, 0}, latest: 1, former: "True", want: true},
		"every node has it":                           {revisions: []int32{1, 1, 1}, latest: 1, former: "True"},
		"a fourth node joins":                         {revisions: []int32{1, 1, 1, 0}, latest: 1, former: "False"},
		"a machine is replaced":                       {revisions: []int32{7, 0, 7}, latest: 7, former: "False"},
		"two machines are replaced":                   {revisions: []int32{7, 0, 0}, latest: 7, former: "False"},
		"a rollout begins":                            {revisions: []int32{7, 7, 7}, latest: 8, former: "False", want: true},
		"a rollout begins while a node joins":         {revisions: []int32{7, 7, 7, 0}, latest: 8, former: "False", want: true},
		"a node joins during a rollout":               {revisions: []int32{8, 7, 7, 0}, latest: 8, former: "True", want: true},
		"a rollout has reached all but one that came": {revisions: []int32{8, 8, 8, 0}, latest: 8, former: "True", want: true},
		"every machine was replaced":                  {revisions: []int32{0, 0, 0}, latest: 7, former: "False", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			status := &operatorv1.StaticPodOperatorStatus{}
			status.LatestAvailableRevision = tc.latest
			for _, revision := range tc.revisions {
				status.NodeStatuses = append(status.NodeStatuses, operatorv1.NodeStatus{CurrentRevision: revision})
			}
			if tc.former != "" {
				status.Conditions = []operatorv1.OperatorCondition{{Type: condition, Status: tc.former}}
			}
			require.Equal(t, tc.want, controlplane.RollsOut(status, condition))
		})
	}
}

func TestARolloutThatIsHalfway(t *testing.T) {
	const ready, notReady, silent = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	for name, tc := range map[string]struct {
		// current and target are the revisions of m0, m1 and m2. The latest is 4.
		current, target [3]int32
		leader          string
		hasSettled      bool
		// kubelet is the state of m2's.
		kubelet corev1.ConditionStatus
		first   string
		former  int32
	}{
		"the first node has it":            {[3]int32{3, 4, 3}, [3]int32{}, "m0", true, ready, "m1", 3},
		"the leader has it":                {[3]int32{4, 4, 3}, [3]int32{}, "m1", true, ready, "m1", 3},
		"the leader has another former":    {[3]int32{2, 4, 3}, [3]int32{}, "m2", true, ready, "m1", 3},
		"nobody leads":                     {[3]int32{3, 4, 2}, [3]int32{}, "", true, ready, "m1", 2},
		"the leader has not settled":       {[3]int32{3, 4, 2}, [3]int32{}, "m0", false, ready, "m1", 2},
		"a node is being installed":        {[3]int32{3, 4, 3}, [3]int32{4, 0, 0}, "m0", true, ready, "", 0},
		"a node is repaired":               {[3]int32{3, 4, 3}, [3]int32{3, 0, 0}, "m0", true, ready, "m1", 3},
		"the first node is repaired":       {[3]int32{3, 4, 3}, [3]int32{0, 4, 0}, "m0", true, ready, "", 0},
		"a node has nothing yet":           {[3]int32{3, 4, 0}, [3]int32{}, "m0", true, ready, "", 0},
		"a machine joins":                  {[3]int32{3, 4, 0}, [3]int32{}, "m0", true, notReady, "m1", 3},
		"a machine has died as it joined":  {[3]int32{3, 4, 0}, [3]int32{0, 0, 4}, "m0", true, silent, "m1", 3},
		"a machine that has it has died":   {[3]int32{3, 3, 4}, [3]int32{}, "m0", true, silent, "m2", 3},
		"no node has it":                   {[3]int32{3, 3, 3}, [3]int32{}, "m0", true, ready, "", 0},
		"every node has it":                {[3]int32{4, 4, 4}, [3]int32{}, "m0", true, ready, "", 0},
		"every node has it but a new one":  {[3]int32{4, 4, 0}, [3]int32{}, "m0", true, ready, "", 0},
		"every node has it but a dead one": {[3]int32{4, 4, 0}, [3]int32{}, "m0", true, silent, "", 0},
		"a machine died before it got it":  {[3]int32{4, 4, 3}, [3]int32{}, "m0", true, silent, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlplanetest.New("m0", "m1", "m2")
			c.Status.LatestAvailableRevision = 4
			for i := range c.Status.NodeStatuses {
				node := &c.Status.NodeStatuses[i]
				node.CurrentRevision, node.TargetRevision = tc.current[i], tc.target[i]
				kubelet := []corev1.ConditionStatus{ready, ready, tc.kubelet}[i]
				c.Nodes[node.NodeName].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: kubelet}}
			}
			c.Edit("", 137)
			if tc.leader != "" {
				c.Acquire(tc.leader, "process", map[bool]int{true: -30, false: -29}[tc.hasSettled])
				c.Renew(0)
			}
			view := c.View(0)
			first, former := view.Halfway()
			require.Equal(t, tc.first, first)
			require.Equal(t, tc.former, former)
		})
	}
}
