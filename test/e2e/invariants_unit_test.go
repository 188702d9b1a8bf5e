package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestAViolationIsSeen checks the checker: each breach of an invariant is found, and what a row allows is none.
func TestAViolationIsSeen(t *testing.T) {
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	after := began.Add
	for name, tc := range map[string]struct {
		row allowance
		do  func(i *invariants)
		// noneReady and unavailable are what the monitor saw.
		noneReady, unavailable time.Duration
		want                   []string
	}{
		"two lead": {
			do: func(i *invariants) {
				i.answered("m0", began, true)
				i.answered("m1", after(askInterval), true)
			},
			want: []string{"two processes led: m0 and m1"},
		},
		"one leads after the other": {
			do: func(i *invariants) {
				i.answered("m0", began, true)
				i.answered("m0", after(askInterval), false)
				i.answered("m1", after(askInterval), true)
			},
		},
		"none serves": {
			do: func(i *invariants) {
				i.answered("m0", began, true)
				i.count(after(answerAge - 1))
				i.count(after(answerAge))
				i.count(after(2 * answerAge))
			},
			want: []string{"no process served for 6s, the limit is 0s"},
		},
		"none serves, and may": {
			row: allowance{noneServing: time.Minute / 4}, do: func(i *invariants) { i.count(after(time.Minute / 4)) },
		},
		"none serves for longer than the row may": {
			row: allowance{noneServing: time.Second}, do: func(i *invariants) { i.count(after(4 * time.Second)) },
			want: []string{"no process served for 4s, the limit is 1s"},
		},
		"none is Ready for longer than the row may": {
			row: allowance{noneReady: time.Second}, noneReady: 2 * time.Second,
			want: []string{"no pod was Ready for 2s, the limit is 1s"},
		},
		"the ClusterOperator is not Available": {
			unavailable: time.Second,
			want:        []string{"the ClusterOperator was not Available for 1s, the limit is 0s"},
		},
		"more is deleted than the row deletes": {
			row:  allowance{deleted: 1},
			do:   func(i *invariants) { i.lost.Insert("m0 lost revision 1", "m1 lost revision 1") },
			want: []string{"2 parts of the last good revision were deleted, the limit is 1: m0 lost revision 1, m1 lost revision 1"},
		},
		"none leads for too long": {
			do: func(i *invariants) {
				i.answered("m0", after(31*time.Second), false)
				i.count(after(31 * time.Second))
				i.answered("m0", after(32*time.Second), true)
			},
			want: []string{"no process led for 32s, the limit is 30s"},
		},
		"none leads for as long as the row may": {
			row: allowance{withoutLeader: time.Minute},
			do:  func(i *invariants) { i.answered("m0", after(time.Minute), true) },
		},
		"a password is found": {
			do:   func(i *invariants) { i.requireNone("a log", []byte("log in with hunter2 as root")) },
			want: []string{"a password is in a log"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := &invariants{serving: map[string]time.Time{}, leading: map[string]time.Time{}, secrets: []string{"hunter2"},
				violations: sets.New[string]()}
			i.start(began, nodes, 1, tc.row)
			if tc.do != nil {
				tc.do(i)
			}
			require.ElementsMatch(t, tc.want, i.end(tc.noneReady, tc.unavailable).violations)
			i.violated("nothing is checked between rows")
			require.Empty(t, i.violations)
		})
	}
}
