package controlplane

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
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
			require.Equal(t, tc.want, RollsOut(status, condition))
		})
	}
}
