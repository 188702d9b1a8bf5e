package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// leaderlessLimit is how long nobody may lead because of one rollout.
	leaderlessLimit = 15 * time.Second

	withoutBalancers = "[LoadBalancer]\nenabled = false\n"
	withBalancers    = "[LoadBalancer]\nenabled = true\nmax-shared-lb = %d\n"
)

// TestARevisionLeadsBeforeTheSecondNode rolls out changes that a preflight passes, and of which only a leader shows
// whether it works with them: the cloud loses an API between the preflight and the rollout.
func TestARevisionLeadsBeforeTheSecondNode(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-leading", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	config := s.cloudConfig(t)
	global, _, _ := strings.Cut(config, "[LoadBalancer]")
	s.testGoodLeader(t, func(t *testing.T) time.Time { return s.setCloudConfig(t, global+withoutBalancers) })
	for i, service := range []string{openstack.LoadBalancerService, openstack.NetworkService} {
		s.testBadLeader(t, badLeader{
			name: "no " + service + " API",
			// A change that was rejected is not tried again for an hour.
			change:    func(t *testing.T) { s.setCloudConfig(t, global+fmt.Sprintf(withBalancers, 3+i)) },
			meanwhile: func(away bool) { s.Cloud().Withdraw(service, away) },
			undo:      func(t *testing.T) { s.setCloudConfig(t, global+withoutBalancers) },
			says:      "No suitable endpoint could be found in the service catalog",
		})
	}
}

// TestARevisionLeadsBeforeTheSecondNodeOnAWS changes flags that a preflight does not pass on, because their controllers
// write to the cloud.
func TestARevisionLeadsBeforeTheSecondNodeOnAWS(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-leading-aws", Platform: configv1.AWSPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.testGoodLeader(t, func(t *testing.T) time.Time {
		began := time.Now()
		s.setArgument(t, "concurrent-service-syncs", "2")
		return began
	})
	for _, b := range []badLeader{
		{
			name: "routes without a cluster CIDR", says: "invalid CIDR",
			change: func(t *testing.T) { s.setArgument(t, "configure-cloud-routes", "true") },
		},
		{
			name: "tagging without tags", says: "Tagging controller inputs are not properly set",
			change: func(t *testing.T) { s.setArgument(t, "controllers", "*,tagging") },
		},
	} {
		b.undo = func(t *testing.T) {
			s.setOverrides(t, map[string]any{"extendedArguments": map[string]any{"concurrent-service-syncs": []any{"2"}}})
		}
		s.testBadLeader(t, b)
	}
}

// badLeader is a change with which a cloud-controller-manager ends once it leads.
type badLeader struct {
	name   string
	change func(*testing.T)
	// meanwhile is what happens to the cloud between the preflight and the rollout, nil for nothing.
	meanwhile func(away bool)
	undo      func(*testing.T)
	// says are the last words of the process.
	says string
}

func (s *suite) testGoodLeader(t *testing.T, change func(*testing.T) time.Time) {
	before := s.revision(t)
	s.awaitSettledLeader(t)
	former := s.requireOneLeader(t)
	s.monitor.Begin("a good change")
	s.monitor.Expect(monitor.Rollout("a good change"), monitor.NewLeader("the first node proves it").Times(mostMoves))
	sample := s.sampleLeaders(t)
	began := change(t)
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("a good change to %d nodes: %s", nodes, rounded(began))
	s.requireLed(t, sample, "the rollout")
	require.NotEqual(t, former, s.requireOneLeader(t), "the lead stays where the revision was proved")
	s.requireAnnounced(t.Context(), t)
}

func (s *suite) testBadLeader(t *testing.T, b badLeader) {
	before := s.revision(t)
	s.awaitSettledLeader(t)
	s.requireOneLeader(t)
	s.monitor.Begin(b.name)
	s.monitor.Expect(monitor.Degraded("", b.name), monitor.Rollout(b.name), monitor.Rollout("back from "+b.name),
		monitor.NewLeader("it is to prove itself").Times(mostMoves), monitor.NewLeader("back"),
		monitor.NewLeader("the leader's node goes back"))
	sample, began := s.sampleLeaders(t), time.Now()
	b.change(t)
	s.await(t, "the revision", goodLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	if b.meanwhile != nil {
		b.meanwhile(true)
		t.Cleanup(func() { b.meanwhile(false) })
	}
	revised := time.Now()
	s.await(t, "the revision to be rejected", namedLimit, func(ctx context.Context) error {
		return s.degradedWith(ctx, fmt.Sprintf("the cloud-controller-manager of revision %d on node/", before+1), b.says,
			fmt.Sprintf("the nodes go back to what revision %d has", before))
	})
	rejected := time.Now()
	require.LessOrEqual(t, s.operands.reached(before+1), 1, "only the first node has it")
	s.figure("%s: rejected %s after the revision", b.name, rejected.Sub(revised).Round(100*time.Millisecond))
	s.await(t, "the first node with what works", fallbackLimit, func(ctx context.Context) error {
		_, err := s.wentBack(ctx, before+2)
		return err
	})
	s.await(t, "every node with what works", rolloutLimit, func(ctx context.Context) error { return s.areAt(ctx, before+2) })
	s.figure("... every node is at one revision %s after the change", rounded(began))
	s.awaitSettledLeader(t)
	s.requireLedThereAndBack(t, sample, rejected)
	if b.meanwhile != nil {
		b.meanwhile(false)
	}
	b.undo(t)
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit))
	s.requireAnnounced(t.Context(), t)
}

// requireLed requires that nobody led for a short time only because of a rollout.
func (s *suite) requireLed(t *testing.T, sample *leaderSample, rollout string) {
	t.Helper()
	sample.finish()
	s.figure("... led by %s", sample.order())
	s.requireShort(t, gapsOf(sample.seen), rollout)
}

// requireLedThereAndBack requires it of the rollout of a revision, and of the one that takes it back: a gap is of the rollout
// in which it began.
func (s *suite) requireLedThereAndBack(t *testing.T, sample *leaderSample, back time.Time) {
	t.Helper()
	sample.finish()
	s.figure("... led by %s", sample.order())
	gaps := gapsOf(sample.seen)
	there := slices.IndexFunc(gaps, func(g gap) bool { return g.since.After(back) })
	if there < 0 {
		there = len(gaps)
	}
	s.requireShort(t, gaps[:there], "the proof")
	s.requireShort(t, gaps[there:], "the way back")
}

func (s *suite) requireShort(t *testing.T, gaps []gap, rollout string) {
	t.Helper()
	var without time.Duration
	var each []string
	for _, g := range gaps {
		without += g.length()
		each = append(each, g.length().String())
	}
	s.figure("... without a leader: %s in total (%s) because of %s", without,
		cmp.Or(strings.Join(each, ", "), "never"), rollout)
	require.Less(t, without, leaderlessLimit)
}

// areAt returns nil if the operator has settled each node at a revision.
func (s *suite) areAt(ctx context.Context, revision int32) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	for _, node := range resource.Status.NodeStatuses {
		if node.CurrentRevision != revision {
			return fmt.Errorf("node/%s is at revision %d", node.NodeName, node.CurrentRevision)
		}
	}
	return nil
}

// leaderSample has which nodes' controllers run, asked some times a second.
type leaderSample struct {
	stop  func()
	group sync.WaitGroup
	mutex sync.Mutex
	seen  []sighting
}

// sighting says when the controllers of a process were seen to run. A node and the time of its start identify it.
type sighting struct {
	at            time.Time
	node, process string
}

// gap is a time in which nobody led.
type gap struct{ since, until time.Time }

func (g gap) length() time.Duration { return g.until.Sub(g.since).Round(100 * time.Millisecond) }

// gapsOf returns the gaps between sightings, which are in their order. A process that has lost the lead ends, so if the
// same one is seen again, it was only slow to answer. What is shorter than a second is a slow answer, too.
func gapsOf(seen []sighting) (gaps []gap) {
	for i := 1; i < len(seen); i++ {
		last, next := seen[i-1], seen[i]
		isSame := last.node == next.node && last.process == next.process
		if !isSame && next.at.Sub(last.at) > time.Second {
			gaps = append(gaps, gap{last.at, next.at})
		}
	}
	return gaps
}

func (s *suite) sampleLeaders(t *testing.T) *leaderSample {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &leaderSample{stop: cancel, seen: []sighting{{at: time.Now()}}}
	client, err := operandprobe.Client(ctx, s.kube, s.RESTConfig())
	require.NoError(t, err)
	for _, n := range s.Nodes() {
		l.group.Go(func() {
			for ctx.Err() == nil {
				asked := time.Now()
				if leads, process, err := operandprobe.Leader(ctx, client, n.IP()); err == nil && leads {
					l.see(sighting{asked, n.Name(), process})
				}
				<-time.After(probeInterval)
			}
		})
	}
	t.Cleanup(func() { cancel(); l.group.Wait() })
	return l
}

func (l *leaderSample) see(s sighting) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.seen = append(l.seen, s)
}

// finish ends the sample, and puts the sightings in the order in which the processes were asked.
func (l *leaderSample) finish() {
	l.stop()
	l.group.Wait()
	slices.SortStableFunc(l.seen, func(a, b sighting) int { return a.at.Compare(b.at) })
}

// order returns the nodes in the order in which they led, each with the second at which it was seen first.
func (l *leaderSample) order() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var texts []string
	last := ""
	for _, s := range l.seen[1:] {
		if s.node != last {
			texts = append(texts, fmt.Sprintf("%s at %s", s.node, s.at.Sub(l.seen[0].at).Round(100*time.Millisecond)))
		}
		last = s.node
	}
	return strings.Join(texts, ", ")
}
