package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheTimelineMeasuresLeadersAndProcesses(t *testing.T) {
	begin := time.Date(2026, time.November, 22, 9, 0, 0, 0, time.UTC)
	at := func(second float64) time.Time { return begin.Add(time.Duration(second * float64(time.Second))) }
	line := &timeline{serving: map[string]bool{}, leading: map[string]bool{}, last: map[string]string{}}
	line.answered(at(-2), "m1", true, false)
	line.answered(at(-1), "m2", true, false)
	line.answered(at(-1), "m0", true, true)
	line.answered(at(1), "m1", true, false)  // nothing changed
	line.answered(at(2), "m0", false, false) // killed
	line.answered(at(5.5), "m1", true, true)
	line.answered(at(6), "m0", true, false)
	line.answered(at(7), "m0", true, true) // two lead
	line.answered(at(8), "m1", true, false)

	samples := line.since(begin)
	require.Equal(t, begin, samples[0].at, "the state at the begin counts from there")
	require.Equal(t, 3500*time.Millisecond, leaderless(samples, at(9)))
	serving, leading := extremes(samples)
	require.Equal(t, 2, serving)
	require.Equal(t, 2, leading)
	require.Equal(t, time.Second, leaderless(line.since(at(4.5)), at(9)))
	require.True(t, line.leads(""))
	require.False(t, line.leads("m0"))
	found, seen := line.first(begin, "process", "leads")
	require.True(t, seen)
	require.Equal(t, at(5.5), found)

	printed := &strings.Builder{}
	line.print(printed, "A test", at(5.9))
	require.Equal(t, `
A test:

    T+  0.1  m0 process                                       serves
    T+  1.1  m0 process                                       leads
    T+  2.1  m1 process                                       serves

`, printed.String())
}
