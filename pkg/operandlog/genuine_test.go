package operandlog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOfATerminationMessageTheLinesOfTheRunAreLeft(t *testing.T) {
	// The process logs its last line half a second before it ends.
	begin := time.Date(2027, 1, 1, 0, 5, 0, 0, time.UTC)
	finished := begin.Add(10 * time.Minute)
	last := finished.Add(500 * time.Millisecond)
	line := func(severity string, at time.Time, text string) string {
		return severity + at.Format("0102 15:04:05.000000") + "       1 a.go:1] " + text + "\n"
	}
	for name, tc := range map[string]struct{ message, want string }{
		"the end of a line, lines of the run and a fatal one at its end": {
			message: "cut off\n" + line("E", begin, "first") + "\tcontinued\n" + line("F", last, "last"),
			want:    "cut off\n" + line("E", begin, "first") + "\tcontinued\n" + line("F", last, "last"),
		},
		"what a process logs before a busy runtime notes its start": {
			message: line("E", begin.Add(-10*time.Second), "first"),
			want:    line("E", begin.Add(-10*time.Second), "first"),
		},
		"no line from before the run, with what continues it": {
			message: line("E", begin.Add(-10*time.Second-time.Microsecond), "forged") + "forged too\n" + line("E", last, "own"),
			want:    line("E", last, "own"),
		},
		"those of a clock in Nepal": {
			message: line("E", begin.Add(345*time.Minute), "first") + line("F", last.Add(345*time.Minute), "last"),
			want:    line("E", begin.Add(345*time.Minute), "first") + line("F", last.Add(345*time.Minute), "last"),
		},
		"those of a clock in Brazil, without one from before the run": {
			message: line("E", begin.Add(-191*time.Minute), "forged") + line("F", last.Add(-180*time.Minute), "last"),
			want:    line("F", last.Add(-180*time.Minute), "last"),
		},
		"no line of another zone beside one of the run": {
			message: line("F", last.Add(-time.Hour), "forged") + line("E", last, "own") + line("F", last.Add(-time.Hour), "forged"),
			want:    line("E", last, "own"),
		},
		"no line of a day before": {message: line("F", last.Add(-24*time.Hour), "forged")},
		"no line from after it": {
			message: line("E", finished.Add(time.Second+time.Microsecond), "forged") + "Error: forged too\n",
		},
		"no fatal line that the process has outlived for longer than klog flushes the log": {
			message: line("F", finished.Add(-10*time.Second-time.Microsecond), "forged") + line("E", last, "own"),
			want:    line("E", last, "own"),
		},
		"a fatal line while klog flushes the log": {
			message: line("F", finished.Add(-10*time.Second), "own"),
			want:    line("F", finished.Add(-10*time.Second), "own"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := corev1.ContainerStateTerminated{
				Message: tc.message, StartedAt: metav1.NewTime(begin), FinishedAt: metav1.NewTime(finished),
			}
			require.Equal(t, tc.want, OfRun(&run, ""))
			run.FinishedAt = metav1.NewTime(begin.Add(-time.Minute))
			require.Equal(t, tc.message, OfRun(&run, ""), "the clock was set back")
			run.StartedAt, run.FinishedAt = metav1.Time{}, metav1.Time{}
			require.Equal(t, tc.message, OfRun(&run, ""), "its times are not known")
		})
	}
}

func TestOfATerminationMessageTheLinesOfItsLogAreLeft(t *testing.T) {
	const (
		forged = "E0101 00:04:00.000000       1 a.go:1] forged\n"
		own    = "F0101 00:05:59.000000       1 a.go:1] own\n"
	)
	begin := time.Date(2027, 1, 1, 0, 5, 0, 0, time.UTC)
	for name, tc := range map[string]struct{ message, log, want string }{
		"the kubelet cuts the first line": {"ut\nb", "cut\nb\n", "ut\nb"},
		"a line that the log lacks":       {"a\nb\nc\n", "a\tb\nc\n", "c\n"},
		"the last line of another log":    {"a\nb\n", "b\nc\n", "b\n"},
		"the log is another process's":    {"a\nb\n" + forged, "c\n", "a\nb\n"},
		"both logs have an empty line":    {"a\n\n" + forged, "c\n\n", "a\n\n"},
		"another one has the same flags and stacks": {
			"lag\n" + own + "stack\n", "I0101 00:06:01.000000       1 a.go:1] flag\nstack\n", "lag\n" + own + "stack\n",
		},
		"the log was not read":              {"a\nb\n" + forged, "", "a\nb\n"},
		"a tenant has written every line":   {forged, "", ""},
		"the log has the line of that time": {"a\n" + forged, "a\n" + forged, "a\n" + forged},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, OfRun(&corev1.ContainerStateTerminated{
				Message: tc.message, StartedAt: metav1.NewTime(begin), FinishedAt: metav1.NewTime(begin.Add(time.Minute)),
			}, tc.log))
		})
	}
}
