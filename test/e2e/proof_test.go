package e2e

import (
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

// recorded returns the steps, each of which stores its duration and its figures when it passes.
func (s *suite) recorded(t *testing.T, platform string, steps []step) []step {
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
			require.NoError(t, record.WriteStep(p.dir, &record.Step{
				Platform: platform, Order: i + 1, Name: one.name, Duration: record.Seconds(time.Since(began)),
				Detail: strings.Join(s.figures[figures:], "; "), Date: began.UTC(), Commit: p.commit,
			}))
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
