// Package monitor records what an administrator would see of a cluster during a test: each change of the
// ClusterOperator's conditions, of the Ready cloud-controller-managers, of the holder of their lease, of the latest
// revision and of node taints. A degradation that the running step did not announce is a violation, as in the
// monitors of OpenShift's tests.
//
// It watches instead of polling, so that it sees a condition that is True for a second. A watch that lost events is
// also a violation.
package monitor

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// kind is the kind of a transition.
type kind string

const (
	unavailable   kind = "Available is not True"
	degraded      kind = "Degraded is True"
	noneReady     kind = "no cloud-controller-manager is Ready"
	newLeader     kind = "another holder of the lease"
	rollout       kind = "a new revision"
	uninitialized kind = "a node is uninitialized again"
	nodeDeleted   kind = "a Node is deleted"
	gap           kind = "a watch lost events"
)

// Expectation announces a transition that a step causes.
type Expectation struct {
	kind  kind
	text  string
	times int
	why   string
}

// Unavailable announces that the ClusterOperator's Available stops being True, with text in its message.
func Unavailable(text, why string) Expectation {
	return Expectation{kind: unavailable, text: text, times: 1, why: why}
}

// Degraded announces that the ClusterOperator's Degraded turns True, with text in its message.
func Degraded(text, why string) Expectation {
	return Expectation{kind: degraded, text: text, times: 1, why: why}
}

// NoneReady announces a time without any Ready cloud-controller-manager.
func NoneReady(why string) Expectation { return Expectation{kind: noneReady, times: 1, why: why} }

// NewLeader announces that another process acquires the operand's lease.
func NewLeader(why string) Expectation { return Expectation{kind: newLeader, times: 1, why: why} }

// Rollout announces one new revision.
func Rollout(why string) Expectation { return Expectation{kind: rollout, times: 1, why: why} }

// Uninitialized announces that an initialized node gets the uninitialized taint again.
func Uninitialized(node, why string) Expectation {
	return Expectation{kind: uninitialized, text: "node/" + node, times: 1, why: why}
}

// NodeDeleted announces that a Node is deleted.
func NodeDeleted(node, why string) Expectation {
	return Expectation{kind: nodeDeleted, text: "node/" + node, times: 1, why: why}
}

// Gap announces that a watch may lose events, for example during a compaction of etcd.
func Gap(why string) Expectation { return Expectation{kind: gap, times: 1, why: why} }

// Times returns the expectation for up to n transitions.
func (e Expectation) Times(most int) Expectation {
	e.times = most
	return e
}

// entry is one line of the timeline.
type entry struct {
	at        time.Time
	subject   string
	text      string
	announced string
	violation bool
}

// Monitor records the timeline and checks transitions against the running step's announcements. Its methods are safe
// for concurrent use.
type Monitor struct {
	now func() time.Time

	mutex      sync.Mutex
	start      time.Time
	state      state
	timeline   []entry
	spans      []Span
	step       string
	announced  []Expectation
	violations []string
}

// New returns an empty Monitor.
func New(now func() time.Time) *Monitor {
	return &Monitor{now: now, start: now(), step: "start", state: newState()}
}

// Begin ends the previous step with its announcements and starts another one.
func (m *Monitor) Begin(step string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.step, m.announced = step, nil
	m.timeline = append(m.timeline, entry{at: m.now(), subject: "step", text: step})
}

// Expect announces a transition that the running step is about to cause. It must precede the transition.
func (m *Monitor) Expect(expected ...Expectation) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.announced = append(m.announced, expected...)
}

// Violations returns the violations since the last call.
func (m *Monitor) Violations() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	violations := m.violations
	m.violations = nil
	return violations
}

// WriteTimeline prints everything that was recorded, with the time since the start.
func (m *Monitor) WriteTimeline(out io.Writer) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, e := range m.timeline {
		mark := " "
		if e.violation {
			mark = "!"
		}
		since := e.at.Sub(m.start)
		at := fmt.Sprintf("%3d:%04.1f", int(since.Minutes()), (since % time.Minute).Seconds())
		line := fmt.Sprintf("%s %s  %-32s %s", mark, at, e.subject, e.text)
		switch {
		case e.subject == "step":
			line = fmt.Sprintf("= %s  %s", at, e.text)
		case e.announced != "":
			line += "  [announced: " + e.announced + "]"
		case e.violation:
			line += "  [not announced]"
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("timeline: %w", err)
		}
	}
	return nil
}

// record adds a neutral change to the timeline.
func (m *Monitor) record(subject, text string) {
	m.timeline = append(m.timeline, entry{at: m.now(), subject: subject, text: text})
}

// require adds a degradation to the timeline. It is a violation unless the step announced it.
func (m *Monitor) require(k kind, subject, text string) {
	e := entry{at: m.now(), subject: subject, text: text}
	for i := range m.announced {
		expected := &m.announced[i]
		if expected.kind == k && expected.times > 0 && strings.Contains(subject+" "+text, expected.text) {
			expected.times--
			e.announced = expected.why
			break
		}
	}
	if e.announced == "" {
		e.violation = true
		m.violations = append(m.violations,
			fmt.Sprintf("%s, which the step %q did not announce: %s %s", k, m.step, subject, text))
	}
	m.timeline = append(m.timeline, e)
}
