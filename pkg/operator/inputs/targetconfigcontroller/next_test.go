package targetconfigcontroller

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
)

// documentedStep matches a row of the table in doc.go.
var documentedStep = regexp.MustCompile(`(?m)^//\t\| ([a-z].*?) +\| (pass|settle|pause|submit|wait) +\|$`)

// Each row has the evidence of all rows below it, too, where that can be, so that the order counts.
func TestTheDocumentHasEveryStepOfTheGate(t *testing.T) {
	all := evidence{
		changed: operand.StartDigests{diagnostic.Image: "new"}, isBack: true, isPaused: true, isAccepted: true,
		result: trial.Successful, runs: true, waited: holdTime,
	}
	steps := map[string]func(*evidence){
		"nothing has changed of what the CCM starts with, or was undone":  func(e *evidence) { e.changed = nil },
		"it is what the nodes run that a failed revision has not reached": func(*evidence) {},
		"its login was rejected, and is not to be repeated yet":           func(e *evidence) { e.isBack = false },
		"an administrator has accepted what changes":                      func(e *evidence) { e.isPaused = false },
		"no preflight is possible on the platform, or of it":              func(e *evidence) { e.isAccepted = false },
		"its preflight was successful":                                    func(e *evidence) { e.preflight = &corev1.Secret{} },
		"its preflight showed nothing, and no CCM works":                  func(e *evidence) { e.result = trial.Inconclusive },
		"its preflight has run for 20 s, and no CCM works":                func(e *evidence) { e.result = trial.Failed },
		"its preflight runs":                                              func(e *evidence) { e.waited -= time.Second },
		"no CCM works, so nothing can break":                              func(e *evidence) { e.runs = false },
		"otherwise":                                                       func(e *evidence) { e.works = true },
	}
	content, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	rows := documentedStep.FindAllStringSubmatch(string(content), -1)
	require.Len(t, rows, len(steps))
	e := all
	for _, row := range rows {
		change := steps[row[1]]
		require.NotNil(t, change, row[1])
		if e.changed == nil {
			e = all
		}
		change(&e)
		step, _ := e.next()
		require.Equal(t, row[2], string(step), row[1])
	}
}

func TestACandidateThatNothingHasProvedTellsWhy(t *testing.T) {
	changed := operand.StartDigests{diagnostic.Image: "new"}
	for want, e := range map[string]evidence{
		"":                {changed: changed, why: "it does not fit"},
		"it does not fit": {changed: changed, works: true, why: "it does not fit"},
		"it rolls out with what an administrator has accepted": {changed: changed, works: true, isAccepted: true},
		"its preflight showed nothing, and no cloud-controller-manager works": {
			changed: changed, preflight: &corev1.Secret{}, result: trial.Inconclusive,
		},
		"its preflight has no result after 20s": {
			changed: changed, preflight: &corev1.Secret{}, runs: true, waited: holdTime,
		},
	} {
		_, unproved := e.next()
		require.Equal(t, want, unproved)
	}
}
