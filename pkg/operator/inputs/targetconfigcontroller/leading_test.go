package targetconfigcontroller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
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

// The record of a revision's proof is in the Secret of preflights, also where there was no preflight.
func TestTheRecordOfAProofStaysAsLongAsItCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		state operand.LeadingState
		// later is how long after its begin.
		later time.Duration
		want  bool
	}{
		"it is open":       {operand.LeadAwaited, 2 * time.Hour, true},
		"it has ended":     {operand.LeadProven, 59 * time.Minute, true},
		"an hour is over":  {operand.LeadProven, time.Hour, false},
		"it is not proved": {operand.LeadUnproved, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorking(t)
			f.makeRevision(t)
			secret := operand.PreflightSecret("")
			require.NoError(t, operand.AnnotateLeading(secret, &operand.Leading{Revision: 1, State: tc.state,
				Began: metav1.NewTime(f.clock.Now())}))
			f.put(t, secret)
			f.clock.Step(tc.later)
			f.sees(t)
			require.Equal(t, tc.want, f.submitted(t) != nil)
			if tc.want {
				require.Equal(t, tc.state, operand.LeadingOf(f.submitted(t)).State)
			}
		})
	}
}
