package trial_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodecause"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// Keystone, Active Directory and others lock an account for half an hour, some of them after few rejected logins.
func TestRepeatedPreflightsLockNoAccount(t *testing.T) {
	require.Equal(t, trial.RejectedLogin, nodecause.Unauthenticated.String())
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	verdict := &trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Ended: metav1.NewTime(begin), Tries: 1}
	logins := []time.Duration{0}
	for now := begin; now.Before(begin.Add(24 * time.Hour)); now = now.Add(time.Minute) {
		if verdict.RepeatIn(now) > 0 {
			continue
		}
		logins = append(logins, now.Sub(begin))
		again := &trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Ended: metav1.NewTime(now), Tries: 1}
		if len(logins) == 4 { // One that shows nothing resets nothing.
			again = &trial.Verdict{Result: trial.Inconclusive, Ended: metav1.NewTime(now), Tries: 1}
		}
		verdict = again.After(verdict)
	}
	require.Equal(t, []time.Duration{0, 5 * time.Minute, 15 * time.Minute, 35 * time.Minute, 75 * time.Minute}, logins[:5])
	require.Len(t, logins, 27, "one each hour at last")
	for i, at := range logins[3:] {
		require.GreaterOrEqual(t, at-logins[i], 30*time.Minute, "four within half an hour")
	}
}

func TestALoginThatIsRejectedAfterAnOutageIsRepeatedAsSoonAsAnyOther(t *testing.T) {
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	outage := &trial.Verdict{Result: trial.Inconclusive, Ended: metav1.NewTime(begin), Tries: 12}
	rejected := &trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Ended: metav1.NewTime(begin), Tries: 1}
	require.Equal(t, 5*time.Minute, rejected.After(outage).RepeatIn(begin))
}

func TestAPreflightThatFailedOtherwiseIsRepeatedSooner(t *testing.T) {
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	for tries, pause := range []time.Duration{time.Minute, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		verdict := &trial.Verdict{Result: trial.Failed, Class: "Crash", Ended: metav1.NewTime(begin), Tries: tries}
		require.Equal(t, pause, verdict.RepeatIn(begin), "%d tries", tries)
	}
	require.Equal(t, trial.Never, (&trial.Verdict{Result: trial.Successful}).RepeatIn(begin))
	require.Equal(t, trial.Never, (&trial.Verdict{Result: trial.Failed, Revision: 3}).RepeatIn(begin))
}

// The clock of an operator before this one was ahead.
func TestAVerdictOfTheFutureDelaysNoRepetition(t *testing.T) {
	now := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	v := &trial.Verdict{
		Result: trial.Failed, Class: "Crash", Ended: metav1.NewTime(now.Add(24 * time.Hour)), Tries: 1,
	}
	require.Equal(t, time.Minute, v.RepeatIn(now))
}

func TestWhichRejectionsAreRemembered(t *testing.T) {
	now := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	rejection := func(class string, revision int32, ago time.Duration) trial.Rejection {
		return trial.Rejection{Verdict: trial.Verdict{
			Class: class, Revision: revision, Ended: metav1.NewTime(now.Add(-ago)),
		}}
	}
	waits := rejection(trial.RejectedLogin, 0, time.Minute)
	waits.Verdict.Result = trial.Inconclusive
	for name, tc := range map[string]struct {
		rejection trial.Rejection
		want      bool
	}{
		"a rejected login":                {rejection(trial.RejectedLogin, 0, time.Hour-time.Second), true},
		"a rejected login of long ago":    {rejection(trial.RejectedLogin, 0, time.Hour), false},
		"a revision that failed":          {rejection("Crash", 3, time.Minute), true},
		"a revision that failed long ago": {rejection("Crash", 3, time.Hour), false},
		"the latest one did":              {rejection("Crash", 4, time.Hour), true},
		"one of a clock that was ahead":   {rejection(trial.RejectedLogin, 0, -2*time.Hour), false},
		"a login that showed nothing":     {waits, false},
		"another failure of a preflight":  {rejection("Crash", 0, time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, len(trial.Remembered([]trial.Rejection{tc.rejection}, 4, now)) == 1)
		})
	}
	var many []trial.Rejection
	for i := range 10 {
		many = append(many, rejection(trial.RejectedLogin, 0, time.Duration(i)*time.Minute))
	}
	last := trial.Remembered(many, 0, now)
	require.Len(t, last, 8)
	require.Equal(t, now, last[7].Verdict.Ended.Time, "the latest")
	require.Equal(t, now.Add(-7*time.Minute), last[0].Verdict.Ended.Time)
}

func TestARejectionIsForTheRevisionThatFailed(t *testing.T) {
	rejection := trial.Rejection{Verdict: trial.Verdict{Revision: 3}}
	require.True(t, rejection.IsFor(3))
	require.False(t, rejection.IsFor(4))
	require.False(t, (&trial.Rejection{}).IsFor(0), "it is about a preflight")
}

func TestWhatAVerdictRejects(t *testing.T) {
	login := operand.StartDigests{diagnostic.CloudConfig: "a", diagnostic.Credentials: "b"}
	withImage := operand.StartDigests{diagnostic.CloudConfig: "a", diagnostic.Credentials: "b", diagnostic.Image: "c"}
	image := operand.StartDigests{diagnostic.Image: "c"}
	failed := trial.Verdict{Result: trial.Failed, Class: "Crash"}
	ofRevision, successful, inconclusive := failed, failed, failed
	notPulled := failed
	notPulled.Class = trial.ImageNotPulled
	ofRevision.Revision, successful.Result, inconclusive.Result = 3, trial.Successful, trial.Inconclusive
	earlier := trial.Rejection{Inputs: login, Verdict: trial.Verdict{Result: trial.Failed, Class: "Earlier"}}
	again := trial.Rejection{Inputs: login, Verdict: failed, Credentials: "credentials"}
	for name, tc := range map[string]struct {
		inputs  operand.StartDigests
		former  []trial.Rejection
		verdict *trial.Verdict
		want    []trial.Rejection
	}{
		"nothing if nothing has changed":     {verdict: &failed},
		"what has failed":                    {inputs: login, verdict: &failed, want: []trial.Rejection{again}},
		"not the image that has changed too": {inputs: withImage, verdict: &failed, want: []trial.Rejection{again}},
		"the image, if nothing else has changed": {inputs: image, verdict: &failed, want: []trial.Rejection{
			{Inputs: image, Verdict: failed, Credentials: "credentials"},
		}},
		"only the image that is not pulled": {inputs: withImage, verdict: &notPulled, want: []trial.Rejection{
			{Inputs: image, Verdict: notPulled, Credentials: "credentials"},
		}},
		"what was to be tried with another image": {inputs: login, verdict: &notPulled, want: []trial.Rejection{
			{Inputs: login, Verdict: notPulled, Credentials: "credentials"},
		}},
		"all of a revision that has failed": {inputs: withImage, verdict: &ofRevision, want: []trial.Rejection{
			{Inputs: withImage, Verdict: ofRevision, Credentials: "credentials"},
		}},
		"what has failed again, once": {
			inputs: login, former: []trial.Rejection{earlier}, verdict: &failed, want: []trial.Rejection{again},
		},
		"what failed in a preflight, and then as a revision": {
			inputs: login, former: []trial.Rejection{earlier}, verdict: &ofRevision,
			want: []trial.Rejection{earlier, {Inputs: login, Verdict: ofRevision, Credentials: "credentials"}},
		},
		"nothing that has succeeded since": {
			inputs: login, former: []trial.Rejection{earlier}, verdict: &successful, want: []trial.Rejection{},
		},
		"what showed nothing": {inputs: login, verdict: &inconclusive, want: []trial.Rejection{
			{Inputs: login, Verdict: inconclusive, Credentials: "credentials"},
		}},
		"what failed before one that shows nothing": {
			inputs: login, former: []trial.Rejection{earlier}, verdict: &inconclusive, want: []trial.Rejection{earlier},
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := &trial.Record{Inputs: tc.inputs, Rejected: tc.former, Credentials: "credentials"}
			record.Conclude(tc.verdict)
			require.Equal(t, tc.want, record.Rejected)
			require.Equal(t, tc.verdict, record.Verdict)
		})
	}
}

func TestAVerdictSaysWhatHappensNext(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC))
	verdict := trial.Verdict{
		Result: trial.Failed, Message: "it ended", Node: "m0", Took: metav1.Duration{Duration: 9 * time.Second}, Ended: at,
	}
	ofRevision, late := verdict, verdict
	ofRevision.Revision, ofRevision.Former = 3, 2
	late.Revision, late.Former, late.Late = 3, 2, true
	for want, v := range map[string]trial.Verdict{
		"a cloud-controller-manager with the changed inputs, on node/m0 for 9s at 2026-11-25T20:00:00Z: it ended": verdict,
		"revision 3 on node/m0, the first one that got it, for 9s at 2026-11-25T20:00:00Z: it ended; the node goes back to " +
			"what revision 2 has": ofRevision,
		"a cloud-controller-manager with what revision 3 changes, on node/m0 for 9s at 2026-11-25T20:00:00Z: it ended; " +
			"the nodes go back to what revision 2 has": late,
	} {
		require.Equal(t, want, v.Describe())
	}
}

func TestWhatWaitsForItsCloudIsRepeatedSooner(t *testing.T) {
	begin := time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		verdict trial.Verdict
		pauses  []time.Duration
	}{
		"it showed nothing": {
			trial.Verdict{Result: trial.Inconclusive, Tries: 1},
			[]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		},
		"its login was rejected": {
			trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Tries: 1},
			[]time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute},
		},
		"its login and the leader's were rejected": {
			trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, LeaderRejected: true},
			[]time.Duration{0, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, 5 * time.Minute, 10 * time.Minute},
		},
		"it failed, as the leader does": {
			trial.Verdict{Result: trial.Failed, Class: "Crash", LeaderRejected: true, Tries: 1},
			[]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.verdict
			v.Ended = metav1.NewTime(begin)
			for _, pause := range tc.pauses {
				require.Equal(t, pause, v.RepeatIn(begin))
				want := "; it is tried again at " + begin.Add(pause).Format(time.RFC3339)
				if pause == 0 {
					want = "; it is tried again now"
				}
				isNew := "; the login of the running one is rejected too, so leave these credentials if they were just created: a " +
					"cloud may take minutes to know them"
				rest, says := strings.CutPrefix(v.NextTry(), isNew)
				require.Equal(t, want, rest)
				require.Equal(t, v.LeaderRejected && v.Class == trial.RejectedLogin, says)
				v.Tries++
			}
		})
	}
	require.Empty(t, (&trial.Verdict{Result: trial.Failed, Revision: 3}).NextTry())
}

func TestTheLeadersRejectionConcernsEachRejectedLogin(t *testing.T) {
	login := trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Tries: 3}
	crash := login
	crash.Class = "Crash"
	credentials := operand.StartDigests{diagnostic.Credentials: "a"}
	others := trial.Rejection{Inputs: operand.StartDigests{diagnostic.CloudConfig: "b"}, Verdict: crash}
	record := &trial.Record{Inputs: credentials, Rejected: []trial.Rejection{others}}
	record.Conclude(&login)
	record.MarkLeaderRejected(0)
	marked := login
	marked.LeaderRejected, marked.Tries = true, 0
	require.Equal(t, &marked, record.Verdict)
	require.Equal(t, []trial.Rejection{others, {Inputs: credentials, Verdict: marked}}, record.Rejected)
}

// Then a preflight judges it, like any login.
func TestTheLeadersRejectionConcernsTheLoginOfARevisionThatHasGoneBack(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	inputs := operand.StartDigests{diagnostic.CloudConfig: "a", diagnostic.Credentials: "b"}
	login := trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Tries: 1}
	failed, second, soon := login, login, login
	failed.Revision, failed.Former, second.Tries, soon.LeaderRejected = 4, 3, 2, true
	for name, tc := range map[string]struct {
		latest int32
		next   trial.Verdict
		want   []trial.Rejection
	}{
		"it is the latest one":  {4, login, []trial.Rejection{{Inputs: inputs, Verdict: failed}, {Inputs: inputs, Verdict: second}}},
		"the login is accepted": {5, trial.Verdict{Result: trial.Successful}, []trial.Rejection{}},
		"it is rejected again":  {5, login, []trial.Rejection{{Inputs: inputs, Verdict: soon}}},
	} {
		t.Run(name, func(t *testing.T) {
			record, first := &trial.Record{Inputs: inputs}, failed
			record.Conclude(&first)
			require.Equal(t, trial.Never, record.Rejected[0].Verdict.RepeatIn(now))
			record.MarkLeaderRejected(tc.latest)
			require.Equal(t, tc.latest != failed.Revision, record.Rejected[0].Verdict.RepeatIn(now) == 0)
			record.Conclude(tc.next.After(record.Verdict))
			require.Equal(t, tc.want, record.Rejected)
		})
	}
}

// Otherwise it would be found again after each preflight, which would be repeated at once. Clouds lock accounts.
func TestTheLeadersRejectionCountsForTheNextVerdict(t *testing.T) {
	login := trial.Verdict{Result: trial.Failed, Class: trial.RejectedLogin, Tries: 1}
	former := login
	former.LeaderRejected, former.Tries = true, 0
	after := login.After(&former)
	require.False(t, after.AwaitsLeader(0))
	require.Equal(t, 1, after.Tries)
	crash := trial.Verdict{Result: trial.Failed, Class: "Crash", Tries: 1}
	require.False(t, crash.After(&former).LeaderRejected, "another failure has another cause")
}

func TestALoginThatStaysRejectedIsTriedEverMoreRarely(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	verdict := &trial.Verdict{
		Result: trial.Failed, Class: trial.RejectedLogin, LeaderRejected: true, Ended: metav1.NewTime(now),
	}
	logins, at := 0, time.Duration(0)
	for ; at < 24*time.Hour; logins++ {
		again := &trial.Verdict{
			Result: trial.Failed, Class: trial.RejectedLogin, Tries: 1, Ended: metav1.NewTime(now.Add(at)),
		}
		verdict = again.After(verdict)
		at += verdict.RepeatIn(now.Add(at))
	}
	require.Less(t, logins, 40)
}
