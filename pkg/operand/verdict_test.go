package operand_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// Keystone, Active Directory and others lock an account for half an hour, some of them after few rejected logins.
func TestRepeatedPreflightsLockNoAccount(t *testing.T) {
	require.Equal(t, operand.RejectedLogin, nodecause.Unauthenticated.String())
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	verdict := &operand.PreflightVerdict{Result: operand.Failed, Class: operand.RejectedLogin, Ended: metav1.NewTime(begin), Tries: 1}
	logins := []time.Duration{0}
	for now := begin; now.Before(begin.Add(24 * time.Hour)); now = now.Add(time.Minute) {
		if verdict.RepeatIn(now) > 0 {
			continue
		}
		logins = append(logins, now.Sub(begin))
		again := &operand.PreflightVerdict{Result: operand.Failed, Class: operand.RejectedLogin, Ended: metav1.NewTime(now), Tries: 1}
		if len(logins) == 4 { // One that shows nothing resets nothing.
			again = &operand.PreflightVerdict{Result: operand.Inconclusive, Ended: metav1.NewTime(now), Tries: 1}
		}
		verdict = again.After(verdict)
	}
	require.Equal(t, []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 35 * time.Minute, 75 * time.Minute}, logins[:5])
	require.Len(t, logins, 27, "one each hour at last")
	for i, at := range logins[3:] {
		require.GreaterOrEqual(t, at-logins[i], 30*time.Minute, "four within half an hour")
	}
}

func TestAPreflightThatFailedOtherwiseIsRepeatedSooner(t *testing.T) {
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	for tries, pause := range []time.Duration{time.Minute, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		verdict := &operand.PreflightVerdict{Result: operand.Failed, Class: "Crash", Ended: metav1.NewTime(begin), Tries: tries}
		require.Equal(t, pause, verdict.RepeatIn(begin), "%d tries", tries)
	}
	require.Equal(t, operand.Never, (&operand.PreflightVerdict{Result: operand.Successful}).RepeatIn(begin))
	require.Equal(t, operand.Never, (&operand.PreflightVerdict{Result: operand.Failed, Revision: 3}).RepeatIn(begin))
}

// The clock of an operator before this one was ahead.
func TestAVerdictOfTheFutureDelaysNoRepetition(t *testing.T) {
	now := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	v := &operand.PreflightVerdict{
		Result: operand.Failed, Class: "Crash", Ended: metav1.NewTime(now.Add(24 * time.Hour)), Tries: 1,
	}
	require.Equal(t, time.Minute, v.RepeatIn(now))
}
