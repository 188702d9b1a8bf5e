package nodedeletion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// probed is a world with a silent Node, the subject of a probe, and living Nodes, its references.
func probed(now time.Time, references ...types.UID) *world {
	w := &world{now: now, byUID: map[types.UID]*node{"subject": {uid: "subject", record: &record{}, facts: &Facts{}}}}
	for _, uid := range references {
		w.byUID[uid] = &node{uid: uid, name: string(uid), facts: &Facts{}}
	}
	return w
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
		"at once, if the CCM finds all of them":          {answered: []types.UID{"subject", "living"}, want: true},
		"not yet, while the CCM may find the living one": {answered: []types.UID{"subject"}, after: 29 * time.Second},
		"if the CCM makes no progress":                   {after: 30 * time.Second, want: true},
		"not yet, while the CCM may find the subject":    {answered: []types.UID{"living"}, after: 14 * time.Second},
		"if the CCM does not find the subject":           {answered: []types.UID{"living"}, after: 15 * time.Second, want: true},
		"not yet, while a slow CCM may find the subject": {
			answered: []types.UID{"living"}, slowest: 9 * time.Second, after: 17 * time.Second,
		},
		"not yet, while the CCM has not been asked for the subject": {
			answered: []types.UID{"living"}, unwritten: []types.UID{"subject"}, after: 29 * time.Second,
		},
		"at once, if the subject is gone": {
			answered: []types.UID{"living"}, unwritten: []types.UID{"subject"}, gone: true, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := probed(start.Add(tc.after), "living")
			if tc.gone {
				delete(w.byUID, "subject")
			}
			p := &probe{
				subjects: []types.UID{"subject"}, references: []types.UID{"living"}, answered: set(tc.answered...),
				written: map[types.UID]string{"subject": "1", "living": "2"},
				began:   start, asked: start, progress: start, limit: 30 * time.Second, slowest: tc.slowest,
			}
			for _, uid := range tc.unwritten {
				delete(p.written, uid)
			}
			require.Equal(t, tc.want, p.ended(w, p.missing(w)))
		})
	}
}

// The time between the first and the last reference is what a look-up takes.
func TestTheTimesOfTheFirstAndTheLastReferenceAreKept(t *testing.T) {
	w := probed(start, "a", "b", "c")
	p := &probe{
		subjects: []types.UID{"subject"}, references: []types.UID{"a", "b", "c"}, asked: start, answered: set(),
		written: map[types.UID]string{"subject": "1", "a": "2", "b": "3", "c": "4"},
	}
	for _, answer := range []struct {
		uid   types.UID
		after time.Duration
	}{{"subject", 2 * time.Second}, {"a", 3 * time.Second}, {"b", 7 * time.Second}, {"c", 12 * time.Second}} {
		w.now = start.Add(answer.after)
		w.byUID[answer.uid].facts.version = "9"
		p.advance(w)
	}
	require.Equal(t, 3*time.Second, p.fastest)
	require.Equal(t, 12*time.Second, p.slowest)
}

// What the CCM did not find may be what it did not reach.
func TestASubjectIsDeniedWithTheLivingNodesOrAfterTwoMisses(t *testing.T) {
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
			w := probed(start, "living")
			m := &memory{probing: probing{misses: tc.misses}, probe: &probe{
				subjects: []types.UID{"subject"}, references: []types.UID{"living"}, answered: map[types.UID]bool{"living": tc.living},
				written: map[types.UID]string{"subject": "1", "living": "2"},
			}}
			m.conclude(w, m.probe.missing(w))
			r := w.byUID["subject"].record
			require.Equal(t, tc.want, !r.notFound.IsZero())
			require.Equal(t, tc.proven, !r.proven.IsZero())
		})
	}
}

// The CCM was asked before there was a living node: what it did not find then proves nothing.
func TestALivingNodeThatAppearsIsComparedWith(t *testing.T) {
	c := newCluster(t, "openstack", "worker-0", "worker-1")
	c.identify("worker-0", "baremetalhost:///worker-0")
	c.report("worker-1", corev1.ConditionUnknown)
	c.denyAll()
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
