package simulation

import (
	"os"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/apitest"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/transitions"
)

// recordedStories is what `make transitions` recorded on a development cluster.
const recordedStories = "testdata/transitions.json"

// developmentCluster is the cluster of that record: kube-controller-manager has other flags there, see servers.go of
// test/devcluster.
var developmentCluster = plan{[]string{"m0", "m1", "m2"}, configv1.HighlyAvailableTopologyMode, 8 * time.Second, time.Second}

// storySeeds are runs whose leader elections, and latencies, differ.
var storySeeds = []uint64{1, 2, 3}

// A model that drifts from what it is a model of, or an operator that behaves in another way, differs from the record.
func TestTheStoriesGoAsOnADevelopmentCluster(t *testing.T) {
	var simulated []transitions.Story
	for _, seed := range storySeeds {
		developmentCluster.simulate(t, seed, func(w *world) { simulated = append(simulated, w.playStories()...) })
	}
	played := &transitions.Record{Stories: simulated}
	if path := os.Getenv("SIMULATION_STORIES"); path != "" {
		require.NoError(t, played.Write(path))
	}
	record, err := transitions.Read(recordedStories)
	require.NoError(t, err)
	for _, name := range []string{
		transitions.Installation, transitions.Rollout, transitions.Rejected, transitions.Reboot, transitions.Death,
	} {
		t.Run(name, func(t *testing.T) {
			recorded := record.Of(name)
			require.NotEmpty(t, recorded)
			differences := transitions.Compare(recorded, played.Of(name))
			table := transitions.Table(recorded, played.Of(name))
			require.Empty(t, differences, "recorded at %s, %s:\n%s", record.Commit, record.Date, table)
			t.Log("\n" + table)
		})
	}
}

// storyteller plays the stories, as TestTransitions of test/e2e does.
type storyteller struct {
	*world
	*transitions.Recorder
	played []transitions.Story
}

func (w *world) playStories() []transitions.Story {
	s := &storyteller{world: w, Recorder: transitions.NewRecorder(time.Now)}
	w.api.Observe(func(c apitest.Change) {
		namespace, name, _ := strings.Cut(c.Key, "/")
		if c.Resource != pods || namespace == target {
			s.See(c.Resource.Resource, name, c.After)
		}
	})
	for _, o := range w.api.List(nodes) {
		s.See("nodes", strings.TrimPrefix(apitest.Key(o), "/"), o)
	}
	w.cloud.accept(0)
	s.play(transitions.Installation, w.operator.start)
	for i := range 2 {
		s.play(transitions.Rollout, func() {
			was := w.state().latest
			w.configure(1 + i)
			s.await(func() bool { return w.state().latest > was })
		})
		s.play(transitions.Rejected, func() {
			w.rotate(9)
			s.await(func() bool { return w.state().is("Degraded", "True") })
			w.pass(transitions.Afterwards, nil)
			w.rotate(0)
		})
	}
	s.play(transitions.Reboot, s.drainAndReboot)
	s.play(transitions.Death, s.leaderDies)
	return s.played
}

func (s *storyteller) await(until func() bool) {
	require.True(s.world, s.pass(10*time.Minute, until), "%+v", s.state())
}

func (s *storyteller) play(name string, story func()) {
	s.Begin(name)
	story()
	s.await(func() bool { return s.healthy() && s.facts().allReady })
	s.pass(transitions.Afterwards, nil)
	s.played = append(s.played, s.End())
	s.pass(transitions.Rest, nil)
}

func (s *storyteller) drainAndReboot() {
	leader := s.leader()
	s.cordon(leader.name, true)
	s.await(func() bool { now := s.leader(); return now != nil && now != leader })
	s.await(func() bool { return s.facts().allReady })
	leader.turnOff()
	s.pass(transitions.Off, nil)
	leader.reboot()
	s.await(func() bool { return s.isNodeReady(leader.name) })
	s.cordon(leader.name, false)
}

func (s *storyteller) leaderDies() {
	leader := s.leader()
	leader.turnOff()
	s.await(func() bool { now := s.leader(); return now != nil && now != leader })
	leader.reboot()
}
