package nodedeletion

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var stateNames = []string{"idle", "uninitialized", "allowed", "settling", "undecided", "known", "held", "confirmed"}

func (s state) String() string { return stateNames[s] }

// everyEvidence calls do with each combination of a state and evidence.
func everyEvidence(do func(s state, e evidence)) {
	bools := []bool{false, true}
	for s := idle; s <= confirmed; s++ {
		for k := kubeletReady; k <= kubeletSilent; k++ {
			for a := answerNone; a <= answerProven; a++ {
				for c := cloudFindsLiving; c <= cloudNoReference; c++ {
					for m := clusterCalm; m <= clusterUnlimited; m++ {
						for bits := range 1 << 6 {
							is := func(bit int) bool { return bools[bits>>bit&1] }
							do(s, evidence{
								kubelet: k, answer: a, cloud: c, cluster: m,
								initialized: is(0), deletionWanted: is(1), permitted: is(2), leads: is(3), paced: is(4), overdue: is(5),
							})
						}
					}
				}
			}
		}
	}
}

// documentedState matches a row of the table in doc.go.
var documentedState = regexp.MustCompile(`(?m)^//\t\| ([a-z]+) +\| ([A-Za-z]*) +\|`)

// The rows of the document are those of the code, in their order, and each decides something.
func TestTheDocumentHasEveryState(t *testing.T) {
	content, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var documented, rows []string
	for _, row := range documentedState.FindAllStringSubmatch(string(content), -1) {
		if row[1] != "state" {
			documented = append(documented, strings.TrimSpace(row[1]+" "+row[2]))
		}
	}
	for _, row := range transitions {
		rows = append(rows, strings.TrimSpace(row.to.String()+" "+string(row.hold)))
	}
	require.Equal(t, documented, rows)
	pairs, decides, outcomes := map[[2]state]bool{}, map[int]bool{}, map[string]bool{}
	everyEvidence(func(s state, e evidence) {
		to, reason := next(s, e)
		pairs[[2]state{s, to}] = true
		outcomes[strings.TrimSpace(to.String()+" "+string(reason))] = true
		e.former = s
		decides[slices.IndexFunc(transitions, func(t transition) bool { return t.when(e) })] = true
	})
	slices.Sort(rows)
	require.Equal(t, slices.Compact(rows), slices.Sorted(maps.Keys(outcomes)))
	require.Len(t, decides, len(transitions), "a row that never decides")
	require.Len(t, pairs, len(stateNames)*len(stateNames), "every state may follow every other one")
}

// documentedEnd matches a row of the table of ends in doc.go.
var documentedEnd = regexp.MustCompile(`(?m)^//\t\| ([a-z]+(?: [A-Z][A-Za-z]+)?) +\| ([a-z0-9][^|]+[a-zA-Z0-9]) +\|$`)

// The states of which nothing is awaited have no end: the Node goes, or it stays because nobody wants to delete it.
func TestTheDocumentHasTheEndOfEveryStateThatWaits(t *testing.T) {
	content, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var documented, waiting []string
	for _, row := range documentedEnd.FindAllStringSubmatch(string(content), -1) {
		documented = append(documented, row[1])
	}
	for _, row := range transitions {
		if to := row.to; to != idle && to != allowed && to != confirmed {
			waiting = append(waiting, strings.TrimSpace(to.String()+" "+string(row.hold)))
		}
	}
	slices.Sort(documented)
	slices.Sort(waiting)
	require.Equal(t, slices.Compact(waiting), documented)
}

// TestNothingIsConfirmedWithout has what each confirmation requires, whatever else is known.
func TestNothingIsConfirmedWithout(t *testing.T) {
	for name, has := range map[string]func(s state, e evidence) bool{
		"a kubelet that has been silent for long enough": func(_ state, e evidence) bool { return e.kubelet == kubeletSilent },
		"a CCM that has initialized the Node":            func(_ state, e evidence) bool { return e.initialized },
		"a CCM that wants to delete the Node":            func(_ state, e evidence) bool { return e.deletionWanted },
		"a leader":                                       func(_ state, e evidence) bool { return e.leads },
		"a cloud that finds living nodes":                func(_ state, e evidence) bool { return e.cloud != cloudMissesLiving },
		"a machine that was not found since":             func(_ state, e evidence) bool { return e.answer != answerFound },
		"a turn":                                         func(s state, e evidence) bool { return s == confirmed || !e.paced },
		"a proof, or an administrator's permission":      hasProof,
		"a cluster that is calm, or an exception":        isCalm,
	} {
		t.Run(name, func(t *testing.T) {
			everyEvidence(func(s state, e evidence) {
				if to, _ := next(s, e); to == confirmed && !has(s, e) {
					t.Fatalf("%s is confirmed with %+v", s, e)
				}
			})
		})
	}
}

// hasProof reports whether there is a proof, or no reference for one, and then a turn or a permission takes its place.
func hasProof(s state, e evidence) bool {
	return s == confirmed || e.answer == answerProven || e.cloud == cloudNoReference && e.answer == answerNotFound
}

func isCalm(s state, e evidence) bool {
	return s == confirmed || e.cluster == clusterCalm || e.cluster == clusterMostGone || e.cluster == clusterUnlimited
}

func TestAnAdministratorsPermissionReplacesLivingNodesThatAreMissing(t *testing.T) {
	e := evidence{
		kubelet: kubeletSilent, cloud: cloudNoReference, cluster: clusterUnlimited,
		initialized: true, deletionWanted: true, leads: true,
	}
	for answer, want := range map[answer]state{answerNone: undecided, answerFound: known, answerNotFound: confirmed, answerProven: confirmed} {
		e.answer = answer
		to, _ := next(held, e)
		require.Equal(t, want, to, answer)
	}
}

// A Node whose machine is gone goes, and no reason is reported for one that is not held.
func TestACredibleDeletionIsConfirmed(t *testing.T) {
	credible := evidence{kubelet: kubeletSilent, answer: answerProven, initialized: true, deletionWanted: true, leads: true}
	for s := idle; s <= confirmed; s++ {
		to, reason := next(s, credible)
		require.Equal(t, confirmed, to, s)
		require.Empty(t, reason)
	}
	everyEvidence(func(s state, e evidence) {
		if to, reason := next(s, e); (to == held) != (reason != noHold) {
			t.Fatalf("%s for %q with %+v", to, reason, e)
		}
	})
}
