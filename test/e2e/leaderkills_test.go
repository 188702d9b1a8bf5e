package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/operandprobe"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	leaderKills = 100
	// freezeEvery is how often the leader is frozen and thawed before it is killed.
	freezeEvery = 10
	// probeInterval is how often each process is asked whether it leads.
	probeInterval = 100 * time.Millisecond
)

// TestLeaderKills kills the leading process again and again, and freezes it in between. The processes themselves tell
// whether their controllers run: at no time those of two.
func TestLeaderKills(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes half an hour")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true, Progress: os.Stderr,
	},
		monitor.Rollout("the first revision"),
		monitor.NewLeader("the leader is killed").Times(3*leaderKills),
		monitor.Degraded("", "a process is killed again and again").Times(leaderKills),
		monitor.Unavailable("", "no process leads for half a minute").Times(leaderKills),
	)
	s.awaitSettled(t, 1, rolloutLimit)
	leads := s.watchLeaders(t)
	var gaps []time.Duration
	for kill := range leaderKills {
		leader := s.requireOneLeader(t)
		s.awaitHeld(t)
		pids := s.processesOn(t, leader, operandBinary, "")
		require.Len(t, pids, 1)
		if kill%freezeEvery == 0 {
			_, lease, err := s.leader(t.Context())
			require.NoError(t, err)
			s.freeze(t, pids[0], *lease.Spec.HolderIdentity)
			// The kubelet may have replaced a process that did not answer its startup probe.
			require.Equal(t, leader, s.requireOneLeader(t))
			s.awaitHeld(t)
			pids = s.processesOn(t, leader, operandBinary, "")
			require.Len(t, pids, 1)
		}
		began := time.Now()
		require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
		s.await(t, "another process to lead", briefly, func(context.Context) error {
			if now := leads.since(began); len(now) == 0 {
				return fmt.Errorf("none leads since %s", began)
			}
			return nil
		})
		gaps = append(gaps, time.Since(began))
		require.Empty(t, leads.doubles(), "two processes led")
	}
	slices.Sort(gaps)
	s.figure("%d kills of the leader to another leader: median %s, longest %s", leaderKills,
		gaps[len(gaps)/2].Round(100*time.Millisecond), gaps[len(gaps)-1].Round(100*time.Millisecond))
}

// awaitHeld waits until the lease has been held for longer than the precision of a container's times. The operator
// cannot prove the end of a process that ends and is started again within the second in which it acquired the lease.
func (s *suite) awaitHeld(t *testing.T) {
	t.Helper()
	s.awaitHeldFor(t, 2*time.Second)
}

// awaitSettledLeader waits until the leader counts as one. The lease of a process that ends earlier is released only once
// its container is Ready again, so the others do not fail one after the other.
func (s *suite) awaitSettledLeader(t *testing.T) {
	t.Helper()
	s.awaitHeldFor(t, settles)
}

func (s *suite) awaitHeldFor(t *testing.T, duration time.Duration) {
	t.Helper()
	s.await(t, fmt.Sprintf("the leader to hold the lease for %s", duration), briefly, func(ctx context.Context) error {
		_, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if held := time.Since(lease.Spec.AcquireTime.Time); held < duration {
			return fmt.Errorf("it has been held for %s", held)
		}
		return nil
	})
}

// leaders records which processes lead.
type leaders struct {
	mutex   sync.Mutex
	leading map[string]time.Time
	double  []string
}

// watchLeaders asks each process until the end of the test.
func (s *suite) watchLeaders(t *testing.T) *leaders {
	t.Helper()
	l := &leaders{leading: map[string]time.Time{}}
	for _, n := range s.Nodes() {
		s.watchLeader(t, l, n)
	}
	return l
}

// watchLeader asks the process of a node until the end of the test.
func (s *suite) watchLeader(t *testing.T, l *leaders, n *node.Node) {
	t.Helper()
	client, err := operandprobe.Client(t.Context(), s.kube, s.RESTConfig())
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for t.Context().Err() == nil {
			asked := time.Now()
			leads, err := operandprobe.Leads(t.Context(), client, n.IP())
			l.answered(n.Name(), asked, err == nil && leads)
			<-time.After(probeInterval)
		}
	})
	t.Cleanup(group.Wait)
}

// answered records an answer, and all that lead if they are two. An answer tells of the time after the question.
func (l *leaders) answered(node string, asked time.Time, leads bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.leading, node)
	if !leads {
		return
	}
	for other, at := range l.leading {
		// One that has ended since it answered did so more than a second ago: no other one leads sooner.
		if time.Since(at) < 3*probeInterval {
			l.double = append(l.double, fmt.Sprintf("%s: %s and %s", asked.Format(time.TimeOnly), node, other))
		}
	}
	l.leading[node] = asked
}

// since returns the nodes whose process led at a moment after begin.
func (l *leaders) since(begin time.Time) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var nodes []string
	for node, at := range l.leading {
		if at.After(begin) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (l *leaders) doubles() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.double, "; ")
}
