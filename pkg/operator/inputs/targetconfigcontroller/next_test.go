package targetconfigcontroller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// Each row changes the evidence of the row before it, so that the order counts.
func TestTheFirstEvidenceThatAppliesDecides(t *testing.T) {
	e := evidence{
		isBack: true, isPaused: true, isAccepted: true, result: trial.Successful, runs: true, isLeadMoving: true,
		waited: holdTimeout,
	}
	for _, row := range []struct {
		name   string
		change func()
		want   step
	}{
		{"nothing has changed", func() {}, passAndRepeat},
		{"the nodes run it", func() { e.changed = operand.StartDigests{diagnostic.Image: "new"} }, pass},
		{"its login was rejected", func() { e.isBack = false }, pause},
		{"an administrator has accepted it", func() { e.isPaused = false }, pass},
		{"no preflight is possible", func() { e.isAccepted = false }, passAndRepeat},
		{"its preflight was successful", func() { e.preflight = &corev1.Secret{} }, pass},
		{"its preflight showed nothing", func() { e.result = trial.Inconclusive }, pass},
		{"its preflight has run for long", func() { e.result = trial.Failed }, pass},
		{"its preflight runs", func() { e.waited -= time.Second }, wait},
		{"the lead may be moving", func() { e.runs = false }, wait},
		{"nothing can break", func() { e.isLeadMoving = false }, passAndRepeat},
		{"it is tried", func() { e.works = true }, submit},
	} {
		row.change()
		step, _ := e.next()
		require.Equal(t, row.want, step, row.name)
	}
}

func TestACandidateThatNothingHasProvedTellsWhy(t *testing.T) {
	changed := operand.StartDigests{diagnostic.Image: "new"}
	for want, e := range map[string]evidence{
		"":                {changed: changed},
		"it does not fit": {changed: changed, works: true, why: "it does not fit"},
		"it rolls out with what an administrator has accepted": {changed: changed, works: true, isAccepted: true},
		"its preflight showed nothing, and no cloud-controller-manager works": {
			changed: changed, preflight: &corev1.Secret{}, result: trial.Inconclusive,
		},
		"its preflight has no result after 20s": {
			changed: changed, preflight: &corev1.Secret{}, runs: true, waited: holdTimeout,
		},
	} {
		_, unproved := e.next()
		require.Equal(t, want, unproved)
	}
}

// What replaces rejected inputs may have been rejected itself. Without a pause, its login was tried every two seconds.
func TestACandidateWhoseLoginWasJustRejectedWaitsAlsoIfOthersAreWanted(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	rejected := trial.Rejection{
		Inputs: operand.StartDigests{diagnostic.CloudConfig: "former"}, Credentials: "old",
		Verdict: trial.Verdict{
			Result: trial.Failed, Class: trial.RejectedLogin, LeaderRejected: true, Tries: 1, Ended: metav1.NewTime(clock.Now()),
		},
	}
	g := &gating{controller: &controller{Deps: dependencies.Deps{Clock: clock}}, remembered: []trial.Rejection{rejected}}
	candidate := func(config, login string) *evidence {
		return &evidence{
			digests: operand.StartDigests{diagnostic.CloudConfig: config, diagnostic.Credentials: login}, login: login,
			changed: operand.StartDigests{diagnostic.CloudConfig: config},
		}
	}
	require.True(t, g.isPaused(candidate("former", "old")))
	require.False(t, g.isPaused(candidate("former", "new")), "other credentials")
	require.False(t, g.isPaused(candidate("corrected", "old")), "another cloud configuration")
	clock.Step(time.Minute)
	require.False(t, g.isPaused(candidate("former", "old")), "the pause is over")
}

func TestACandidateThatChangesNothingOfWhatWasRejectedIsNotConcerned(t *testing.T) {
	rejected := operand.StartDigests{diagnostic.CloudConfig: "a", diagnostic.Credentials: "b"}
	has := operand.StartDigests{diagnostic.CloudConfig: "a", diagnostic.Credentials: "b", diagnostic.Image: "c"}
	require.True(t, contains(has, operand.StartDigests{diagnostic.Credentials: "b"}, rejected))
	require.False(t, contains(has, operand.StartDigests{diagnostic.Image: "c"}, rejected))
	config := operand.StartDigests{diagnostic.CloudConfig: "a"}
	require.False(t, contains(config, config, rejected))
}
