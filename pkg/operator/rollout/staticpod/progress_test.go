package staticpod

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// join adds a machine that runs nothing yet.
func (s *simulated) join(name string) {
	s.names = append(s.names, name)
	s.machines[name] = &machine{}
	s.ready(name, corev1.ConditionTrue)
	s.operator.status.NodeStatuses = append(s.operator.status.NodeStatuses, operatorv1.NodeStatus{NodeName: name})
}

// Progressing is not for a cluster that grows (clusteroperator.md in openshift/enhancements).
func TestANodeThatJoinsDoesNotProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(s *simulated)
		// want are the messages of Progressing, in the order of their first appearance.
		want []string
	}{
		"it joins nodes with the latest revision": {
			happens: func(s *simulated) { s.join("m2") },
			want: []string{
				"False: 2 nodes are at revision 1",
				"False: 2 nodes are at revision 1; revision 1 is being installed on node/m2",
				"False: 3 nodes are at revision 1",
			},
		},
		"a rollout starts when it joins": {
			happens: func(s *simulated) { s.join("m2"); s.revision(2) },
			want: []string{
				"False: 2 nodes are at revision 1",
				"True: 2 nodes are at revision 1; 0 nodes have achieved new revision 2; revision 2 is being installed on node/m2",
				"True: 1 node is at revision 1; 1 node is at revision 2; revision 2 is being installed on node/m0",
				"True: 2 nodes are at revision 2; revision 2 is being installed on node/m1",
				"False: 3 nodes are at revision 2",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1")
			s.run(time.Second)
			told := []string{s.operator.condition(t, "NodeInstallerProgressing")}
			tc.happens(s)
			for range 60 {
				s.run(time.Second)
				if now := s.operator.condition(t, "NodeInstallerProgressing"); told[len(told)-1] != now {
					told = append(told, now)
				}
			}
			require.Equal(t, tc.want, told)
		})
	}
}

// The status has no node before library-go has seen the Nodes.
func TestNothingIsSaidAboutARevisionThatNoNodeIsToGet(t *testing.T) {
	status := &operatorv1.StaticPodOperatorStatus{OperatorStatus: operatorv1.OperatorStatus{LatestAvailableRevision: 2}}
	require.Empty(t, describe(controlplane.NewView(controlplane.State{Status: status}), nil))
}
