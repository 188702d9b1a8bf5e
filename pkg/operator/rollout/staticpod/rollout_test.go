package staticpod

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Each step of a case is what happens, then the seconds until the next one.
func TestARolloutReachesTheNodesThatItCan(t *testing.T) {
	type step struct {
		happens func(s *simulated)
		after   time.Duration
		// want is the status then.
		want string
	}
	change := func(s *simulated) { s.revision(2) }
	for name, tc := range map[string]struct {
		steps []step
		// order has the nodes in the order in which they were given revision 2.
		order []string
	}{
		"every kubelet works, and the first node leads": {
			steps: []step{{change, time.Minute, "m0 2, m1 2, m2 2"}},
			order: []string{"m1: 2", "m2: 2", "m0: 2"},
		},
		"a machine died before": {
			steps: []step{
				{func(s *simulated) { s.silence("m1", true); s.unknown("m1"); s.revision(2) }, time.Minute, "m0 2, m1 1, m2 2"},
				{func(s *simulated) { s.wake("m1") }, 20 * time.Second, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m2: 2", "m0: 2", "m1: 2"},
		},
		"a machine dies while it is being installed": {
			steps: []step{
				{change, 3 * time.Second, "m0 1, m1 1 to 2, m2 1"},
				{func(s *simulated) { s.silence("m1", true) }, nodeGracePeriod, "m0 1, m1 1 to 2, m2 1"},
				{func(s *simulated) { s.unknown("m1") }, 40 * time.Second, "m0 2, m1 1, m2 2"},
				{func(s *simulated) { s.wake("m1") }, 20 * time.Second, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m1: 2", "m2: 2", "m0: 2", "m1: 2"},
		},
		"the leader's kubelet hangs": {
			steps: []step{
				{func(s *simulated) { s.silence("m0", false); s.unknown("m0"); s.revision(2) }, time.Minute, "m0 1, m1 2, m2 2"},
				{func(s *simulated) { s.wake("m0") }, 20 * time.Second, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m1: 2", "m2: 2", "m0: 2"},
		},
		"a kubelet that hung returns while another node is being installed": {
			steps: []step{
				{func(s *simulated) { s.silence("m1", false); s.revision(2) }, nodeGracePeriod, "m0 1, m1 1 to 2, m2 1"},
				{func(s *simulated) { s.unknown("m1") }, 5 * time.Second, "m0 1, m1 1, m2 1 to 2"},
				{func(s *simulated) { s.wake("m1") }, time.Minute, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m1: 2", "m2: 2", "m1: 2", "m0: 2"},
		},
		"the container runtime of a node fails": {
			steps: []step{
				{
					func(s *simulated) { s.silence("m1", false); s.ready("m1", corev1.ConditionFalse); s.revision(2) }, time.Minute,
					"m0 2, m1 1 to 2, m2 2",
				},
				{func(s *simulated) { s.wake("m1") }, 20 * time.Second, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m2: 2", "m0: 2", "m1: 2"},
		},
		"the container runtime of a node fails while it is being installed": {
			steps: []step{
				{change, 3 * time.Second, "m0 1, m1 1 to 2, m2 1"},
				{
					func(s *simulated) { s.silence("m1", false); s.ready("m1", corev1.ConditionFalse) }, time.Minute,
					"m0 1, m1 1 to 2, m2 1",
				},
				{func(*simulated) {}, 40 * time.Second, "m0 2, m1 1 to 2, m2 2"},
				{func(s *simulated) { s.wake("m1") }, 20 * time.Second, "m0 2, m1 2, m2 2"},
			},
			order: []string{"m1: 2", "m2: 2", "m0: 2", "m1: 2"},
		},
		"no node has a network yet": {
			steps: []step{{func(s *simulated) {
				for _, name := range s.names {
					s.ready(name, corev1.ConditionFalse)
				}
				s.revision(2)
			}, time.Minute, "m0 2, m1 2, m2 2"}},
			order: []string{"m1: 2", "m2: 2", "m0: 2"},
		},
		"the revision fails on its first node": {
			steps: []step{
				{func(s *simulated) { s.machines["m1"].fails = 2; s.revision(2) }, 10 * time.Minute, "m0 1, m1 1 to 2, m2 1"},
			},
			order: []string{"m1: 2"},
		},
		"no kubelet reports": {
			steps: []step{{func(s *simulated) {
				for _, name := range s.names {
					s.silence(name, false)
					s.unknown(name)
				}
				s.revision(2)
			}, time.Minute, "m0 1, m1 1, m2 1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulated(t, "m0", "m1", "m2")
			s.lead()
			s.run(2 * time.Second)
			for _, step := range tc.steps {
				step.happens(s)
				s.run(step.after)
				require.Equal(t, step.want, s.revisions())
			}
			require.Equal(t, tc.order, s.order)
			require.LessOrEqual(t, s.most, 1, "nodes without a static pod at one time")
		})
	}
}
