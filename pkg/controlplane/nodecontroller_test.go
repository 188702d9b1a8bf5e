package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestANodeControllerIsNotRunningSinceThatWasSeen(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var d NodeController
	_, _, ok := d.NotRunning("")
	require.False(t, ok, "nobody leads")

	d.See("m0_first", []string{"a"}, begin)
	d.See("m0_first", []string{"a", "b"}, begin.Add(time.Minute))
	since, nodes, ok := d.NotRunning("m0_first")
	require.True(t, ok)
	require.Equal(t, begin, since)
	require.Equal(t, []string{"a", "b"}, nodes)
	_, _, ok = d.NotRunning("m1_second")
	require.False(t, ok, "another process")

	d.See("", nil, begin.Add(2*time.Minute))
	_, _, ok = d.NotRunning("m0_first")
	require.False(t, ok, "no node waits any more")
	d.See("m0_first", []string{"a"}, begin.Add(time.Hour))
	since, _, _ = d.NotRunning("m0_first")
	require.Equal(t, begin.Add(time.Hour), since)
}
