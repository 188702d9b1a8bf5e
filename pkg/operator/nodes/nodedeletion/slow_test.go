package nodedeletion

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
)

// silence makes kubelets silent whose machines the cloud does not know.
func (c *cluster) silence(names ...string) {
	for _, name := range names {
		c.report(name, corev1.ConditionUnknown)
		c.unknown[name] = true
	}
}

// scaleUp adds Nodes that wait for the CCM to initialize them.
func (c *cluster) scaleUp(count int) {
	for i := range count {
		c.put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("new-%d", i), UID: types.UID(fmt.Sprintf("uid-new-%d", i))},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: controlplane.UninitializedTaint, Effect: corev1.TaintEffectNoSchedule}}},
		})
		c.report(fmt.Sprintf("new-%d", i), corev1.ConditionTrue)
	}
}

// A slow cloud, and a CCM with much to do, do not lose machines.
func TestASlowCloudDeniesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		lookup  time.Duration
		scaleUp int
	}{
		"two seconds for each machine":                        {lookup: 2 * time.Second},
		"five seconds for each machine":                       {lookup: 5 * time.Second},
		"ten seconds for each machine":                        {lookup: 10 * time.Second},
		"a second for each machine, and 20 more in the queue": {lookup: time.Second, scaleUp: 20},
		"five seconds, and 20 more in the queue":              {lookup: 5 * time.Second, scaleUp: 20},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "openstack", five...)
			c.lookup = tc.lookup
			c.scaleUp(tc.scaleUp)
			c.silence("worker-1")
			for range 600 {
				c.run(time.Second)
				reason, message := c.condition()
				require.Empty(t, reason, message)
			}
			require.Len(t, c.deleted, 1)
			require.Empty(t, c.marks())
		})
	}
}

// A single probe may be unlucky.
func TestACloudIsReportedAfterTwoProbesWithoutAnAnswer(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(50 * time.Second)
	require.Empty(t, reasonOf(c))
	c.run(10 * time.Second)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
}

// The next leader may have other credentials.
func TestANewLeaderIsNotBlamedForWhatTheFormerOneDidNotFind(t *testing.T) {
	c := newCluster(t, "openstack", five...)
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(2 * time.Minute)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
	c.lead("master-1_2")
	c.run(40 * time.Second)
	require.Empty(t, reasonOf(c))
	c.run(80 * time.Second)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
}

// It was looked for while the cloud knew no machine, and the living nodes a moment later.
func TestALieThatEndsDuringAProbeIsNotBelieved(t *testing.T) {
	for lie := time.Second; lie < 2*time.Minute; lie += time.Second {
		c := newCluster(t, "openstack", five...)
		c.lookup = time.Second
		c.report("worker-1", corev1.ConditionUnknown)
		c.forgetMachines()
		c.run(lie)
		clear(c.unknown)
		c.run(5 * time.Minute)
		require.Empty(t, c.deleted, "the lie lasts %s", lie)
		require.Empty(t, c.marks())
		for _, event := range c.recorder.Events() {
			require.NotEqual(t, "NodeDeletionConfirmed", event.Reason, "the lie lasts %s", lie)
		}
	}
}

// Where an answer does not end a confirmation, the CCM may nevertheless need minutes for a pass.
func TestAPassMayTakeLongWhereTheCCMIsNotAsked(t *testing.T) {
	for platform, passes := range map[string][]time.Duration{
		"aws":   {90 * time.Second, 3 * time.Minute, 5 * time.Minute},
		"azure": {90 * time.Second, 3 * time.Minute, 5 * time.Minute, 15 * time.Minute},
	} {
		for _, pass := range passes {
			t.Run(platform+" "+pass.String(), func(t *testing.T) {
				c := newCluster(t, platform, five...)
				c.pass = int64(pass.Seconds())
				c.silence("worker-1")
				c.described["worker-1"] = true
				c.run(5 * pass)
				require.Len(t, c.deleted, 1)
				require.Empty(t, reasonOf(c))
				require.Empty(t, c.marks())
			})
		}
	}
}

// The CCM would have announced the deletion again.
func TestAConfirmationEndsWhenTheCCMAnnouncesNothingMore(t *testing.T) {
	for _, platform := range []string{"aws", "azure"} {
		t.Run(platform, func(t *testing.T) {
			c := newCluster(t, platform, five...)
			c.pass = 120
			c.silence("worker-1")
			c.described["worker-1"] = true
			for c.node("worker-1").Annotations[Annotation] != Confirmed {
				c.run(time.Second)
				require.Less(t, c.clock.Now().Sub(start), 5*time.Minute)
			}
			clear(c.unknown)
			c.run(4*time.Minute + 2*time.Second)
			require.Empty(t, c.marks())
			require.Empty(t, c.deleted)
			c.run(30 * time.Minute)
			require.Empty(t, c.marks())
		})
	}
}

// Once the time for a machine is known, no probe ends before the CCM can have answered.
func TestAProbeIsAsLongAsTheCCMNeeds(t *testing.T) {
	names, spot := fleet()
	c := newCluster(t, "openstack", names...)
	c.lookup = 5 * time.Second
	c.silence(spot[0])
	for len(c.deleted) == 0 {
		c.run(time.Second)
		require.Less(t, c.clock.Now().Sub(start), 5*time.Minute)
	}
	require.InDelta(t, 5*time.Second, c.controller.memory.lookup, float64(time.Second))
	c.silence(spot[1:10]...)
	c.scaleUp(5)
	for range 600 {
		c.run(time.Second)
		m := &c.controller.memory
		require.Zero(t, m.misses, "at %s", c.clock.Now())
		if p := m.probe; p != nil && m.lookup > 0 {
			require.GreaterOrEqual(t, p.limit, time.Duration(2*(len(p.targets)+len(p.references)+p.initialQueue))*m.lookup)
		}
	}
	c.lead("master-1_2")
	c.run(time.Second)
	require.Zero(t, c.controller.memory.lookup, "that of another process is not known")
}

func TestTheTimeOfALookUp(t *testing.T) {
	uids := make([]types.UID, 3)
	for name, tc := range map[string]struct {
		fastest, slowest, want time.Duration
	}{
		"is the mean until the last reference":              {fastest: 6 * time.Second, slowest: 14 * time.Second, want: 2 * time.Second},
		"is not much more than that between two of them":    {fastest: 58 * time.Second, slowest: time.Minute, want: 2 * time.Second},
		"is known even if nothing seems to take any time":   {want: 1},
		"has the queue of before the probe in it":           {fastest: 7 * time.Second, slowest: 35 * time.Second, want: 5 * time.Second},
		"of a fast cloud is less than a look's period":      {fastest: 700 * time.Millisecond, slowest: 1400 * time.Millisecond, want: 200 * time.Millisecond},
		"of references that come all at once is a second's": {fastest: time.Minute, slowest: time.Minute, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := &probe{targets: uids[:2], references: uids, initialQueue: 2, fastest: tc.fastest, slowest: tc.slowest}
			require.Equal(t, tc.want, p.lookup())
		})
	}
}

func TestWhenAndForHowManyNodesTheCCMIsAsked(t *testing.T) {
	before, fresh := []*node{{record: &record{probed: start}}}, []*node{{record: &record{}}}
	for name, tc := range map[string]struct {
		misses, nodes int
		lookup        time.Duration
		targets       []*node
		wantTargets   int
		wantPause     time.Duration
	}{
		"a new Node":                           {targets: fresh, wantTargets: 10, wantPause: 5 * time.Second},
		"a Node again":                         {targets: before, wantTargets: 10, wantPause: 30 * time.Second},
		"after one probe without an answer":    {targets: fresh, misses: 1, wantTargets: 1, wantPause: 10 * time.Second},
		"after two of them":                    {targets: fresh, misses: 2, wantTargets: 1, wantPause: 30 * time.Second},
		"a small cluster":                      {targets: before, nodes: 500, lookup: time.Millisecond, wantTargets: 10, wantPause: 30 * time.Second},
		"a large cluster":                      {targets: before, nodes: 5000, lookup: 200 * time.Millisecond, wantTargets: 50, wantPause: 30 * time.Second},
		"a large cluster in a slow cloud":      {targets: before, nodes: 5000, lookup: time.Second, wantTargets: 30, wantPause: 30 * time.Second},
		"a large cluster in a very slow cloud": {targets: before, nodes: 5000, lookup: time.Minute, wantTargets: 10, wantPause: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{probeHistory: probeHistory{misses: tc.misses, lookup: tc.lookup}}
			require.Equal(t, tc.wantTargets, m.targetCount(&observation{all: make([]*Facts, tc.nodes)}))
			require.Equal(t, tc.wantPause, m.pause(tc.targets))
		})
	}
}

func TestAKubeletIsBelievedToBeSilentAfterATime(t *testing.T) {
	for name, tc := range map[string]struct {
		kubelet controlplane.Kubelet
		after   time.Duration
		want    kubelet
	}{
		"silent for a moment":    {controlplane.KubeletSilent, 20*time.Second - 1, kubeletFalling},
		"silent":                 {controlplane.KubeletSilent, 20 * time.Second, kubeletSilent},
		"not ready for a moment": {controlplane.KubeletNotReady, 55*time.Second - 1, kubeletLeaving},
		"not ready":              {controlplane.KubeletNotReady, 55 * time.Second, kubeletNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, (&record{kubelet: tc.kubelet, since: start}).kubeletFor(start.Add(tc.after)))
		})
	}
}
