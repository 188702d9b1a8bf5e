package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Span is a time in which one thing had one state: a static pod, the holder of the lease, a node's taint.
type Span struct {
	// Track names the thing, such as "pod on node-0".
	Track string
	// State is what it was, such as "revision 2, Ready". A thing has no span while it does not exist.
	State    string
	From, To time.Time
}

// NoneIsReady and NotAvailable are tracks that have a state only during an outage, as the API server knows it.
const (
	NoneIsReady  = "no CCM is Ready"
	NotAvailable = "Available is not True"
)

// Longest returns the longest time since a moment that a track had a state.
func (m *Monitor) Longest(track string, since time.Time) time.Duration {
	var longest time.Duration
	for _, s := range m.since(since) {
		if s.Track == track {
			longest = max(longest, s.To.Sub(s.From))
		}
	}
	return longest
}

// Spans returns what happened since a moment, up to now, in the order of the tracks' names and of time, without the
// outages.
func (m *Monitor) Spans(since time.Time) []Span {
	return slices.DeleteFunc(m.since(since), func(s Span) bool {
		return s.Track == NoneIsReady || s.Track == NotAvailable
	})
}

func (m *Monitor) since(since time.Time) []Span {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	now := m.now()
	var spans []Span
	for _, s := range m.spans {
		if s.To.IsZero() {
			s.To = now
		}
		if s.To.After(since) && s.State != "" {
			if s.From.Before(since) {
				s.From = since
			}
			spans = append(spans, s)
		}
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(strings.Compare(a.Track, b.Track), a.From.Compare(b.From))
	})
	return spans
}

// enter begins another state of a track, unless it has that state. An empty state ends the last one.
func (m *Monitor) enter(track, state string) {
	i := slices.IndexFunc(m.spans, func(s Span) bool { return s.Track == track && s.To.IsZero() })
	if i >= 0 {
		if m.spans[i].State == state {
			return
		}
		m.spans[i].To = m.now()
	}
	m.spans = append(m.spans, Span{Track: track, State: state, From: m.now()})
}

// stateOf returns the state of a static pod: its revision, and whether it is Ready.
func stateOf(pod *corev1.Pod) string {
	state := "revision " + pod.Labels["revision"]
	if isReady(pod) {
		state += ", Ready"
	}
	return state
}
