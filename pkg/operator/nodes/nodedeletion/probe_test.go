package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// probed is an observation of a silent Node, the target of a probe, and living Nodes, its references.
func probed(now time.Time, references ...types.UID) *observation {
	o := &observation{now: now, byUID: map[types.UID]*node{"target": {Facts: &Facts{uid: "target"}, record: &record{}}}}
	for _, uid := range references {
		o.byUID[uid] = &node{Facts: &Facts{uid: uid, name: string(uid)}}
	}
	return o
}

func set(uids ...types.UID) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, uid := range uids {
		all[uid] = true
	}
	return all
}

func TestWhenAProbeEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		after, slowest      time.Duration
		answered, unwritten []types.UID
		gone, want          bool
	}{
		"at once, if the CCM finds all of them":          {answered: []types.UID{"target", "living"}, want: true},
		"not yet, while the CCM may find the living one": {answered: []types.UID{"target"}, after: 29 * time.Second},
		"if the CCM makes no progress":                   {after: 30 * time.Second, want: true},
		"not yet, while the CCM may find the target":     {answered: []types.UID{"living"}, after: 14 * time.Second},
		"if the CCM does not find the target":            {answered: []types.UID{"living"}, after: 15 * time.Second, want: true},
		"not yet, while a slow CCM may find the target": {
			answered: []types.UID{"living"}, slowest: 9 * time.Second, after: 17 * time.Second,
		},
		"not yet, while the target has not got the taint": {
			answered: []types.UID{"living"}, unwritten: []types.UID{"target"}, after: 29 * time.Second,
		},
		"at once, if the target is gone": {
			answered: []types.UID{"living"}, unwritten: []types.UID{"target"}, gone: true, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := probed(start.Add(tc.after), "living")
			if tc.gone {
				delete(o.byUID, "target")
			}
			p := &probe{
				targets: []types.UID{"target"}, references: []types.UID{"living"}, found: set(tc.answered...),
				written: map[types.UID]string{"target": "1", "living": "2"},
				began:   start, lastTaint: start, progress: start, limit: 30 * time.Second, slowest: tc.slowest,
			}
			for _, uid := range tc.unwritten {
				delete(p.written, uid)
			}
			require.Equal(t, tc.want, p.ended(o, p.missing(o)))
		})
	}
}

// The time between the first and the last reference is what a look-up takes.
func TestTheTimesOfTheFirstAndTheLastReferenceAreKept(t *testing.T) {
	o := probed(start, "a", "b", "c")
	p := &probe{
		targets: []types.UID{"target"}, references: []types.UID{"a", "b", "c"}, lastTaint: start, found: set(),
		written: map[types.UID]string{"target": "1", "a": "2", "b": "3", "c": "4"},
	}
	for _, answer := range []struct {
		uid   types.UID
		after time.Duration
	}{{"target", 2 * time.Second}, {"a", 3 * time.Second}, {"b", 7 * time.Second}, {"c", 12 * time.Second}} {
		o.now = start.Add(answer.after)
		o.byUID[answer.uid].version = "9"
		p.advance(o)
	}
	require.Equal(t, 3*time.Second, p.fastest)
	require.Equal(t, 12*time.Second, p.slowest)
}

// A machine that the CCM did not find may be one that it did not look for.
func TestATargetIsNotFoundWithTheLivingNodesOrAfterTwoMisses(t *testing.T) {
	for name, tc := range map[string]struct {
		living       bool
		misses       int
		want, proven bool
	}{
		"the CCM found the living node":                     {living: true, want: true, proven: true},
		"it did not":                                        {},
		"it did not a second time":                          {misses: 1, want: true},
		"it did not a third time":                           {misses: 2, want: true},
		"it found the living node after a probe without it": {living: true, misses: 1, want: true, proven: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := probed(start, "living")
			m := &memory{probeHistory: probeHistory{misses: tc.misses}, probe: &probe{
				targets: []types.UID{"target"}, references: []types.UID{"living"}, found: map[types.UID]bool{"living": tc.living},
				written: map[types.UID]string{"target": "1", "living": "2"},
			}}
			m.conclude(o, m.probe.missing(o))
			r := o.byUID["target"].record
			require.Equal(t, tc.want, !r.notFound.IsZero())
			require.Equal(t, tc.proven, !r.proven.IsZero())
		})
	}
}

// A probe before there was a living node proves nothing.
func TestALivingNodeThatAppearsIsComparedWith(t *testing.T) {
	c := newCluster(t, "openstack", "worker-0", "worker-1")
	c.identify("worker-0", "baremetalhost:///worker-0")
	c.report("worker-1", corev1.ConditionUnknown)
	c.forgetMachines()
	c.run(time.Minute)
	require.Equal(t, "NoLivingNode", reasonOf(c))
	c.identify("worker-0", "cloud:///worker-0")
	c.run(10 * time.Minute)
	require.Equal(t, "LivingNodesUnknown", reasonOf(c))
	require.Empty(t, c.deleted)
	for _, event := range c.recorder.Events() {
		require.NotEqual(t, "NodeDeletionConfirmed", event.Reason)
	}
}

func TestOneVersionIsLaterThanAnother(t *testing.T) {
	require.True(t, isLater("10", "9"))
	require.False(t, isLater("9", "10"))
	require.False(t, isLater("9", "9"))
	require.False(t, isLater("9", ""), "nothing is known about it")
}
