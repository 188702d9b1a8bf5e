package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASpreadTellsMedianAndExtremes(t *testing.T) {
	for name, tc := range map[string]struct {
		walls []time.Duration
		want  string
	}{
		"one":   {[]time.Duration{3}, "3 ns (3–3)"},
		"three": {[]time.Duration{9, 1, 5}, "5 ns (1–9)"},
		"four":  {[]time.Duration{9, 1, 5, 7}, "6 ns (1–9)"},
	} {
		t.Run(name, func(t *testing.T) {
			var samples []sample
			for _, wall := range tc.walls {
				samples = append(samples, sample{wall: wall})
			}
			require.Equal(t, tc.want, spread(samples, "ns", func(s sample) float64 { return float64(s.wall) }))
		})
	}
}

func TestARunIsMeasuredInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho $1 >>runs\n[ \"$1\" = fine ] || { echo broken; "+
		"exit 3; }\n"), 0o700))
	samples, err := measure(script, dir, 2, func(string) []string { return []string{"fine"} })
	require.NoError(t, err)
	require.Len(t, samples, 2)
	for _, s := range samples {
		require.Positive(t, s.wall)
		require.Positive(t, s.peak)
	}
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("fine\n", 3), string(runs), "one more than is measured, for the page cache")
	_, err = measure(script, dir, 1, func(string) []string { return []string{"else"} })
	require.EqualError(t, err, "exit status 3\nbroken\n")
}
