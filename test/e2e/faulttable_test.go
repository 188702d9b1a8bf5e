package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

// fault is one row of the table of TestFaults.
type fault struct {
	// name is the row's sentence, and its name for go test -run.
	name string
	// inject causes the fault and returns what ends it, nil if it ends by itself or the operator has to repair it.
	inject func(f *running, t *testing.T) (end func(t *testing.T))
	// shows is how the fault becomes visible. Without it, unseen is why no condition and no event has to name the fault.
	shows  sign
	unseen string
	allows allowance
	// slow is set for rows of five minutes and more, which FAULTS_SLOW adds.
	slow bool
}

// sign is a condition of the operator's resource that is True, or an event of the operator.
type sign struct {
	condition, event string
	// message is a regular expression; {node} stands for the name of the node with the fault.
	message string
	// within replaces visibleLimit, and clearedWithin how long the condition may last after the end. why is the reason.
	within, clearedWithin time.Duration
	why                   string
}

// running is a fault that is injected.
type running struct {
	*faultSuite
	// node is the node with the fault.
	node *node.Node
	// leader is the node that led before the fault, and revision was the latest revision. wanted is the one at the end.
	leader           string
	revision, wanted int32
	// injected is the row's begin, and began the moment of the fault. A row that has to prepare it sets began again.
	injected, began time.Time
	// repaired is what has to be true besides a settled cluster, nil if nothing.
	repaired func(ctx context.Context) error
}

// faultSuite is the cluster of the table.
type faultSuite struct {
	*suite
	invariants  *invariants
	started     time.Time
	commit, dir string
	// changes makes each change of the cloud configuration another one.
	changes int
	// stuck is set when the cluster does not settle after a row that failed.
	stuck bool
	table []string
}

// TestFaults causes one fault after the other on one cluster. Each row begins and ends with a clean cluster, and nobody
// helps the operator in between: what a row undoes at its end is the fault itself.
func TestFaults(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes an hour")
	}
	startFaultSuite(t, devcluster.Options{
		Name: "e2e-faults", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		CloudHost: "openstack.example.com", Progress: os.Stderr,
	}).runAll(t, faultTable())
}

func faultTable() []fault {
	var table []fault
	for _, rows := range [][]fault{
		nodeFaults(), rebootFaults(), fileFaults(), objectFaults(), operandFaults(), cloudFaults(), controlPlaneFaults(),
		operatorFaults(), pairFaults(),
	} {
		table = append(table, rows...)
	}
	return table
}

// allFaults has the rows of every cluster.
func allFaults() []fault { return append(faultTable(), backOffFaults()...) }

// A fault that nobody is told about needs a reason.
func TestEveryFaultIsVisibleOrHasTheReasonWhyNot(t *testing.T) {
	for _, row := range allFaults() {
		require.NotEqual(t, row.shows == sign{}, row.unseen == "", row.name)
	}
}

// An exception without a limit is a gap, and one without a reason too.
func TestEveryExceptionHasALimitAndAReason(t *testing.T) {
	for _, row := range allFaults() {
		require.Equal(t, len(row.allows.texts(summary{})) > 0, row.allows.why != "", row.name)
	}
}

// The document keeps a row until another run replaces it, so one that was renamed would stay.
func TestTheProofHasNoFaultThatTheTableLacks(t *testing.T) {
	var names []string
	for _, row := range allFaults() {
		names = append(names, row.name)
	}
	content, err := os.ReadFile("../../docs/proof.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(content), "\n| fault |")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := strings.Split(strings.TrimSpace(section), "\n")[2:]
	require.NotEmpty(t, rows)
	for _, row := range rows {
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		require.Contains(t, names, name)
	}
}

func startFaultSuite(t *testing.T, options devcluster.Options) *faultSuite {
	t.Helper()
	s := &faultSuite{started: time.Now(), suite: startSuite(t, options,
		monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))}
	var err error
	s.dir, err = record.Dir()
	require.NoError(t, err)
	s.commit, err = record.Commit(t.Context(), s.Repository())
	require.NoError(t, err)
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	s.invariants = s.watchInvariants(t)
	return s
}

// runAll runs the rows, the slow ones only where they are wanted.
func (s *faultSuite) runAll(t *testing.T, rows []fault) {
	t.Helper()
	for _, row := range rows {
		if row.slow && os.Getenv("FAULTS_SLOW") == "" {
			continue
		}
		t.Run(row.name, func(t *testing.T) { s.run(t, &row) })
	}
	fmt.Fprintf(os.Stderr, "faults:\n%s\n", strings.Join(s.table, "\n"))
}

// run runs one row: a clean cluster, the fault, its sign, its end, and a clean cluster again.
func (s *faultSuite) run(t *testing.T, row *fault) {
	fmt.Fprintln(os.Stderr, "== fault:", row.name)
	if s.stuck {
		t.Skip("the cluster did not settle after an earlier row")
	}
	s.stuck = true
	f := &running{faultSuite: s, revision: s.awaitSettled(t, 1, giveUpLimit), leader: s.requireOneLeader(t)}
	s.stuck = false
	// What a row that failed left behind is not this row's.
	require.NoError(t, s.watches.CatchUp(t.Context()))
	s.monitor.Violations()
	s.monitor.Begin(row.name)
	f.wanted, f.node = f.revision, s.follower(t, f.leader)
	s.announce(row)
	s.invariants.begin(t, f.revision, row.allows)
	result := record.Fault{Name: row.name, Unseen: row.unseen, Condition: cmp.Or(row.shows.condition, row.shows.event), Commit: s.commit,
		Allowance: row.allows.why, Date: time.Now().UTC()}

	f.injected = time.Now()
	f.began = f.injected
	end := f.endOnce(t, row.inject(f, t))
	if result.Condition != "" {
		result.Message = f.awaitSign(t, row.shows)
		result.Visible = record.Seconds(time.Since(f.began))
	}
	end()
	ended := time.Now()
	if row.shows.condition != "" {
		f.awaitGone(t, row.shows)
	}
	f.awaitRepaired(t)
	s.awaitSettled(t, f.wanted, rolloutLimit)
	s.requireOneLeader(t)
	result.Converged = record.Seconds(time.Since(ended))
	s.finish(t, f, row, &result)
}

// announce tells the monitor what a fault may cause. That a fault degrades the operator, and that another process
// leads, breaks no invariant; how long none leads is measured.
func (s *faultSuite) announce(row *fault) {
	const often = 50
	s.monitor.Expect(
		monitor.Degraded("", row.name).Times(often),
		monitor.NewLeader(row.name).Times(often),
		monitor.Gap(row.name).Times(often),
		monitor.Rollout(row.name).Times(row.allows.revisions+row.allows.surplus),
		monitor.Uninitialized("", row.name).Times(often),
	)
	// How long these last is measured as well.
	s.monitor.Expect(
		monitor.NoneReady(row.allows.why).Times(often),
		monitor.Unavailable("", row.allows.why).Times(often),
	)
}

// endOnce ends the fault also if the test fails before.
func (f *running) endOnce(t *testing.T, end func(*testing.T)) func() {
	if end == nil {
		return func() {}
	}
	var once sync.Once // sync.OnceFunc panics again when the test failed in end.
	ended := func() { once.Do(func() { end(t) }) }
	t.Cleanup(ended)
	return ended
}

// awaitSign waits until the fault is visible and returns the message.
func (f *running) awaitSign(t *testing.T, shows sign) string {
	t.Helper()
	pattern := regexp.MustCompile(strings.ReplaceAll(shows.message, "{node}", regexp.QuoteMeta(f.node.Name())))
	var message string
	limit := cmp.Or(shows.within, visibleLimit)
	f.await(t, fmt.Sprintf("%s%s: %s", shows.condition, shows.event, pattern), limit, func(ctx context.Context) error {
		messages, err := f.messages(ctx, shows)
		for _, message = range messages {
			if pattern.MatchString(message) {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("the messages are %q", messages))
	})
	return message
}

// messages returns the message of a condition that is True, or of the events since the fault.
func (f *running) messages(ctx context.Context, shows sign) ([]string, error) {
	var messages []string
	if shows.event != "" {
		events, err := f.kube.CoreV1().Events("").List(ctx,
			metav1.ListOptions{FieldSelector: "reason=" + shows.event})
		if err != nil {
			return nil, err
		}
		for _, event := range events.Items {
			// An event has whole seconds. Only a repeated one has a last time.
			last := slices.MaxFunc([]time.Time{event.CreationTimestamp.Time, event.LastTimestamp.Time, event.EventTime.Time},
				time.Time.Compare)
			if !last.Before(f.began.Truncate(time.Second)) {
				messages = append(messages, event.Message)
			}
		}
		return messages, nil
	}
	resource, err := f.resource(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range resource.Status.Conditions {
		if c.Type == shows.condition && c.Status == operatorv1.ConditionTrue {
			messages = append(messages, c.Message)
		}
	}
	return messages, nil
}

// awaitGone waits until the condition is not True any more.
func (f *running) awaitGone(t *testing.T, shows sign) {
	t.Helper()
	f.await(t, shows.condition+" to end", cmp.Or(shows.clearedWithin, visibleLimit), func(ctx context.Context) error {
		messages, err := f.messages(ctx, shows)
		if err == nil && len(messages) > 0 {
			err = fmt.Errorf("it says %q", messages)
		}
		return err
	})
}

func (f *running) awaitRepaired(t *testing.T) {
	t.Helper()
	if f.repaired != nil {
		f.await(t, "the repair", giveUpLimit, f.repaired)
	}
}

// finish reports a row, and fails it for each violation.
func (s *faultSuite) finish(t *testing.T, f *running, row *fault, result *record.Fault) {
	t.Helper()
	if err := s.watches.CatchUp(t.Context()); err != nil {
		t.Errorf("monitor: %v", err)
	}
	seen := s.invariants.end(s.monitor.Longest(monitor.NoneIsReady, f.injected),
		s.monitor.Longest(monitor.NotAvailable, f.injected))
	violations := append(seen.violations, s.monitor.Violations()...)
	result.FewestServing, result.WithoutLeader = seen.fewest, record.Seconds(seen.withoutLeader)
	result.Limits = row.allows.texts(seen)
	result.Invariants = "held"
	if len(violations) > 0 {
		result.Invariants = strings.Join(violations, "; ")
	}
	visible := "-"
	if result.Condition != "" {
		visible = tenths(result.Visible) + " " + result.Condition
	}
	line := fmt.Sprintf("| %s | %s | %s | %s | %d | %s |", result.Name, visible, tenths(result.Converged),
		tenths(result.WithoutLeader), result.FewestServing, result.Invariants)
	s.table = append(s.table, line)
	fmt.Fprintln(os.Stderr, "  fault row:", line)
	fmt.Fprintln(os.Stderr, "  message:", result.Message)
	require.NoError(t, record.WriteFault(s.dir, result))
	for _, violation := range violations {
		t.Error(violation)
	}
}

func tenths(d record.Seconds) string { return fmt.Sprintf("%.1f s", time.Duration(d).Seconds()) }

// change sets another cloud configuration, which becomes the returned revision.
func (f *running) change(t *testing.T) int32 {
	t.Helper()
	f.changes++
	text, _, _ := strings.Cut(f.cloudConfig(t), "max-shared-lb")
	f.setCloudConfig(t, fmt.Sprintf("%smax-shared-lb = %d\n", text, f.changes+1))
	f.wanted++
	return f.wanted
}
