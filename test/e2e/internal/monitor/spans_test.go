package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestSpansAreWhatWasSeenSinceAMoment(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	now := start
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	m := New(func() time.Time { return now })
	m.Node(node(uninitializedTaint), true)
	m.Pod(pod("a", corev1.ConditionFalse), true)
	now = after(10)
	m.Pod(pod("a", corev1.ConditionTrue), true)
	m.Lease(held("a_1"))
	now = after(20)
	m.Node(node(), true)
	m.Pod(pod("a", corev1.ConditionTrue), true)
	now = after(30)
	m.Pod(pod("a", corev1.ConditionTrue), false)
	m.Lease(held("b_2"))
	m.ClusterOperator(reported("Available=True"))
	now = after(32)
	m.ClusterOperator(reported("Available=False"))
	m.ClusterOperator(reported("Available=Unknown"))
	now = after(36)
	m.ClusterOperator(reported("Available=True"))
	now = after(40)

	require.Equal(t, 10*time.Second, m.Longest(NoneIsReady, after(15)))
	require.Equal(t, 4*time.Second, m.Longest(NotAvailable, after(15)))
	require.Equal(t, time.Duration(0), m.Longest(NotAvailable, after(36)))
	require.Equal(t, []Span{
		{Track: "lease", State: "a", From: after(15), To: after(30)},
		{Track: "lease", State: "b", From: after(30), To: after(40)},
		{Track: "pod on a", State: "revision 1, Ready", From: after(15), To: after(30)},
		{Track: "taint of a", State: "uninitialized", From: after(15), To: after(20)},
	}, m.Spans(after(15)))
}
