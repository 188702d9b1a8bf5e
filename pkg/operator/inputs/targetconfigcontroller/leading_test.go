package targetconfigcontroller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// A process with the failed revision may lead until the nodes have gone back.
func TestARevisionThatHasFailedDoesNotComeBackWhileItLeads(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.sees(t)
	require.True(t, f.wentBack(t))
	f.leads = 2
	f.sees(t)
	require.True(t, f.wentBack(t), "what leads is no proof that it works")
}

// While no other revision follows, no node gets it before an administrator accepts it.
func TestARevisionThatHasFailedIsRejectedAsLongAsItIsTheLatest(t *testing.T) {
	f := newWorking(t)
	f.rolls(t, func() { f.setOverrides(t, port) })
	f.fails(t)
	f.setOverrides(t, "")
	f.sees(t)
	require.True(t, f.wentBack(t))
	f.clock.Step(trial.RememberPeriod)
	f.sees(t)
	f.setOverrides(t, port)
	f.sees(t)
	require.True(t, f.wentBack(t))
	require.Equal(t, []string{"ConfigurationDegraded"}, f.degraded(t))
	require.Contains(t, f.trueConditions(t)[0], "to use it nevertheless, run: ")
}

// The record of a revision's proof is in the Secret of preflights, also where there was no preflight.
func TestTheRecordOfAProofStaysAsLongAsItCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		state trial.ProofState
		// later is how long after its begin.
		later time.Duration
		want  bool
	}{
		"it is open":       {trial.ProofAwaited, 2 * time.Hour, true},
		"it has ended":     {trial.Proven, 59 * time.Minute, true},
		"an hour is over":  {trial.Proven, time.Hour, false},
		"it is not proved": {trial.Unproved, time.Minute, true},
		"it has failed":    {trial.ProofFailed, 2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.makeRevision(t)
			f.save(t, &trial.Record{Proof: &trial.Proof{
				Revision: 1, State: tc.state, Began: metav1.NewTime(f.clock.Now()),
			}})
			f.clock.Step(tc.later)
			f.sees(t)
			require.Equal(t, tc.want, f.submitted(t) != nil)
			if tc.want {
				require.Equal(t, tc.state, trial.Of(f.submitted(t)).Proof.State)
			}
		})
	}
}
