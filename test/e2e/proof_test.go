package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

// proof is where a suite stores results for docs/proof.md.
type proof struct{ dir, commit string }

func (s *suite) proof(t *testing.T) proof {
	t.Helper()
	dir, err := record.Dir()
	require.NoError(t, err)
	commit, err := record.Commit(t.Context(), s.Repository())
	require.NoError(t, err)
	return proof{dir: dir, commit: commit}
}

// coldBuild is a time that a build needs only with empty caches: on two cores it takes half an hour then.
const coldBuild = 10 * time.Minute

// recordBuild stores in what time hack/e2e.sh built what the cluster runs, if it did. It returns what all records of
// the story have in common.
func (s *cloudStory) recordBuild(t *testing.T) record.Step {
	t.Helper()
	common := record.Step{Platform: s.name}
	if given := s.CCM(); given != nil {
		common.CCM = given.String()
	}
	if given := s.NodeManager(); given != nil {
		common.CCM += "; cloud-node-manager: " + given.String()
	}
	text := os.Getenv(record.BuildVariable)
	if text == "" {
		return common
	}
	built, err := time.ParseDuration(text + "s")
	require.NoError(t, err)
	p := s.proof(t)
	common.Cold = built >= coldBuild
	build := common
	build.Name, build.Duration = "what the cluster runs is built", record.Seconds(built)
	build.Date, build.Commit = time.Now().UTC(), p.commit
	require.NoError(t, record.WriteStep(p.dir, &build))
	return common
}

// recorded returns the steps, each of which stores its duration and its figures when it passes.
func (s *suite) recorded(t *testing.T, common record.Step, steps []step) []step {
	t.Helper()
	p := s.proof(t)
	var all []step
	for i, one := range steps {
		all = append(all, step{one.name, func(t *testing.T) {
			began, figures := time.Now(), len(s.figures)
			one.run(t)
			if t.Failed() {
				return
			}
			passed := common
			passed.Order, passed.Name, passed.Duration = i+1, one.name, record.Seconds(time.Since(began))
			passed.Detail, passed.Date, passed.Commit = strings.Join(s.figures[figures:], "; "), began.UTC(), p.commit
			require.NoError(t, record.WriteStep(p.dir, &passed))
		}})
	}
	return all
}

// recordRollout stores what the monitor has seen since a moment.
func (s *suite) recordRollout(t *testing.T, since time.Time) {
	t.Helper()
	p := s.proof(t)
	rollout := &record.Rollout{Date: since.UTC(), Commit: p.commit}
	for _, span := range s.monitor.Spans(since) {
		rollout.Spans = append(rollout.Spans, record.Span{
			Track: span.Track, State: span.State,
			From: record.Seconds(span.From.Sub(since)), To: record.Seconds(span.To.Sub(since)),
		})
	}
	require.NoError(t, record.WriteRollout(p.dir, rollout))
}
