package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// changeEvery is how often an impatient administrator changes something, whether or not the former change is done.
	changeEvery = 2 * time.Minute

	preflightPod = "preflight"

	// unledLimit is how long nobody may lead after the last renewal of the lease, whatever else happens: the lease lasts
	// for 137 s, and a standby asks for it every 26 to 57 s. The seconds in which no operator has its lock do not count.
	unledLimit = 137*time.Second + 58*time.Second
)

// TestNobodyLeadsForNoLongerThanTheLeaseWhateverHappensToTheOperator replaces the operator in each phase of a rollout,
// and switches the leader's machine off in one. A standby counts the lease from its own first look, and an operator
// from its own: neither rollouts nor new operators may start both again and again.
func TestNobodyLeadsForNoLongerThanTheLeaseWhateverHappensToTheOperator(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-replaced", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.runSteps(t, []step{
		{"ten rollouts, and another operator in each phase of one", s.testReplacedOperators},
		{"the leader's machine is off in a rollout, and another operator each minute", s.testLeaderOffInARollout},
	})
}

// phase is a moment of a rollout.
type phase struct {
	name string
	// change begins the rollout.
	change func(t *testing.T, i int)
	// reached returns nil once the revision's rollout is there.
	reached func(ctx context.Context, revision int32) error
}

func (s *suite) phases() []phase {
	return []phase{
		{"the change", s.reconfigure, func(context.Context, int32) error { return nil }},
		{"the preflight", s.reconfigure, func(ctx context.Context, _ int32) error {
			_, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, preflightPod, metav1.GetOptions{})
			return err
		}},
		{"the installer on the first node", s.redeployAgain, s.installing(0)},
		{"the start on the first node", s.redeployAgain, s.starting(0)},
		{"the move of the lead", s.reconfigure, s.leadMoves},
		{"the proof of the first node", s.reconfigure, s.proves},
		{"the installer on the second node", s.redeployAgain, s.installing(1)},
		{"the start on the second node", s.redeployAgain, s.starting(1)},
		{"the installer on the last node", s.redeployAgain, s.installing(2)},
		{"the start on the last node", s.redeployAgain, s.starting(2)},
	}
}

func (s *suite) testReplacedOperators(t *testing.T) {
	phases := s.phases()
	s.awaitSettledLeader(t)
	sample := s.sampleLease(t)
	for i, p := range phases {
		s.expectRollout(p.name)
		s.monitor.Expect(monitor.NewLeader(p.name).Times(mostMoves))
		began, revision := time.Now(), s.revision(t)+1
		p.change(t, i)
		s.await(t, p.name, changeEvery, func(ctx context.Context) error { return p.reached(ctx, revision) })
		how := s.replaceOperator(t, i)
		s.figure("another operator at %s (%s), %s after the change", p.name, how, rounded(began))
		settled := func() error { return s.settled(t.Context(), revision) }
		for settled() != nil && time.Since(began) < changeEvery {
			<-time.After(interval)
		}
	}
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	unled, longest := sample.finishLease()
	s.figure("%d rollouts with another operator each: nobody led for %s at most, %s after the last renewal",
		len(phases), unled, longest)
	require.Less(t, longest, unledLimit)
}

func (s *suite) testLeaderOffInARollout(t *testing.T) {
	s.awaitSettledLeader(t)
	s.monitor.Expect(monitor.Degraded("", "a control-plane node is away for longer than a reboot takes").Times(3),
		monitor.NewLeader("the leader's machine is off").Times(4*mostMoves), monitor.Rollout("each change").Times(5),
		monitor.Unavailable("", "the lease of a machine that is off has to expire"))
	sample, revision := s.sampleLease(t), s.revision(t)+1
	s.reconfigure(t, 100)
	// If another standby is first to take the lease, the lead moves to the first node a minute later.
	s.await(t, "the second node to be installed", rolloutLimit, func(ctx context.Context) error {
		return s.installing(1)(ctx, revision)
	})
	name, _, err := s.leader(t.Context())
	require.NoError(t, err)
	off := s.Node(name)
	require.NoError(t, off.Kill())
	began := time.Now()
	for minute := 1; ; minute++ {
		s.leadsElsewhere(t, off, began.Add(time.Duration(minute)*changeEvery/2))
		if now, err := s.oneOfOthersLeads(t.Context(), off); err == nil {
			s.figure("the leader's machine off to another leader on %s: %s", now, rounded(began))
			break
		}
		require.Less(t, time.Since(began), 2*unledLimit, "nobody leads")
		if minute%2 == 0 {
			s.redeployAgain(t, 100+minute)
		}
		s.replaceOperator(t, forced)
	}
	require.NoError(t, off.Restart(t.Context()))
	began = time.Now()
	s.awaitSettled(t, revision, rolloutLimit)
	s.requireOneLeader(t)
	s.figure("return of the leader's machine to clean: %s", rounded(began))
	unled, longest := sample.finishLease()
	s.figure("the leader's machine off, a change every two minutes and another operator each: nobody led for %s at most, "+
		"%s after the last renewal", unled, longest)
	require.Less(t, longest, unledLimit)
}

// leadsElsewhere returns once a process on another node leads, or at the deadline.
func (s *suite) leadsElsewhere(t *testing.T, off *node.Node, deadline time.Time) {
	t.Helper()
	for time.Now().Before(deadline) {
		if _, err := s.oneOfOthersLeads(t.Context(), off); err == nil {
			return
		}
		<-time.After(interval)
	}
}

// oneOfOthersLeads returns the node of the holder of the lease if it is another one.
func (s *suite) oneOfOthersLeads(ctx context.Context, off *node.Node) (string, error) {
	now, _, err := s.leader(ctx)
	if err == nil && now == off.Name() {
		err = fmt.Errorf("%s holds the lease", now)
	}
	return now, err
}

// reconfigure changes the cloud configuration, which a preflight tries and a leader has to prove.
func (s *suite) reconfigure(t *testing.T, i int) {
	t.Helper()
	s.setSharedBalancers(t, fmt.Sprintf("max-shared-lb = %d", 3+i))
}

// redeployAgain begins a rollout of what runs.
func (s *suite) redeployAgain(t *testing.T, i int) {
	t.Helper()
	_, err := s.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"forceRedeploymentReason": "change %d"}}`, i), metav1.PatchOptions{})
	require.NoError(t, err)
}

// progress returns how many nodes have a revision, and the node that gets it.
func (s *suite) progress(ctx context.Context, revision int32) (done int, next string, err error) {
	resource, err := s.resource(ctx)
	if err != nil {
		return 0, "", err
	}
	for _, status := range resource.Status.NodeStatuses {
		if status.CurrentRevision == revision {
			done++
		}
		if status.TargetRevision == revision {
			next = status.NodeName
		}
	}
	return done, next, nil
}

// installing returns nil once the installer's pod of a node exists, after so many others.
func (s *suite) installing(after int) func(context.Context, int32) error {
	return func(ctx context.Context, revision int32) error {
		done, next, err := s.progress(ctx, revision)
		if err != nil || done != after || next == "" {
			return errors.Join(fmt.Errorf("%d nodes have revision %d, next is %q", done, revision, next), err)
		}
		_, err = s.kube.CoreV1().Pods(targetNamespace).Get(ctx, fmt.Sprintf("installer-%d-%s", revision, next),
			metav1.GetOptions{})
		return err
	}
}

// starting returns nil once the mirror pod of the revision exists on a node, after so many others.
func (s *suite) starting(after int) func(context.Context, int32) error {
	return func(ctx context.Context, revision int32) error {
		done, next, err := s.progress(ctx, revision)
		if err != nil || done != after || next == "" {
			return errors.Join(fmt.Errorf("%d nodes have revision %d, next is %q", done, revision, next), err)
		}
		pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, operand+"-"+next, metav1.GetOptions{})
		if err == nil && pod.Labels["revision"] != fmt.Sprint(revision) {
			err = fmt.Errorf("pod/%s has revision %s", pod.Name, pod.Labels["revision"])
		}
		return err
	}
}

// leadMoves returns nil once a pod of the operator moves the lead.
func (s *suite) leadMoves(ctx context.Context, _ int32) error {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Name, "handover-") && pod.DeletionTimestamp == nil && pod.Status.Phase != "Succeeded" {
			return nil
		}
	}
	return errors.New("there is no such pod")
}

// proves returns nil once the first node of a rollout leads.
func (s *suite) proves(ctx context.Context, revision int32) error {
	resource, err := s.resource(ctx)
	if err != nil {
		return err
	}
	leader, _, err := s.leader(ctx)
	if err != nil {
		return err
	}
	for _, status := range resource.Status.NodeStatuses {
		if status.NodeName == leader && status.CurrentRevision == revision {
			return nil
		}
	}
	return fmt.Errorf("%s leads", leader)
}

// forced is the way in which replaceOperator does not wait for the end of the process.
const forced = 1

// replaceOperator makes another pod of the operator, in one of three ways, and returns its name.
func (s *suite) replaceOperator(t *testing.T, i int) (how string) {
	t.Helper()
	options := metav1.DeleteOptions{}
	switch i % 3 {
	case 2:
		s.patchDeployment(t, types.StrategicMergePatchType,
			fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"test":"%d"}}}}}`, i))
		return "its Deployment is changed"
	case forced:
		how, options.GracePeriodSeconds = "its pod is deleted by force", ptr.To[int64](0)
	default:
		how = "its pod is deleted"
	}
	require.NoError(t, s.kube.CoreV1().Pods(operatorNamespace).DeleteCollection(t.Context(), options,
		metav1.ListOptions{LabelSelector: "k8s-app=cloud-manager-operator"}))
	return how
}

// leaseSample has the processes that lead, the renewals of the lease, and the times in which no operator had its lock.
type leaseSample struct {
	*leaderSample
	mutex     sync.Mutex
	renewals  []time.Time
	unwatched []gap
}

func (s *suite) sampleLease(t *testing.T) *leaseSample {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &leaseSample{leaderSample: s.sampleLeaders(t)}
	stop := l.stop
	l.stop = func() { cancel(); stop() }
	l.group.Go(func() {
		for looked := time.Now(); ctx.Err() == nil; <-time.After(interval) {
			if _, lease, err := s.leader(ctx); err == nil {
				l.renewed(lease.Spec.RenewTime.Time)
			}
			now := time.Now()
			lock, err := s.kube.CoordinationV1().Leases(operatorNamespace).Get(ctx, operatorLock, metav1.GetOptions{})
			if err == nil && ptr.Deref(lock.Spec.HolderIdentity, "") == "" {
				l.unwatched = append(l.unwatched, gap{looked, now})
			}
			looked = now
		}
	})
	return l
}

func (l *leaseSample) renewed(at time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if n := len(l.renewals); n == 0 || l.renewals[n-1].Before(at) {
		l.renewals = append(l.renewals, at)
	}
}

// finishLease returns the longest time in which no controllers ran, and the longest from the last renewal before such a
// time to its end, without the time in which no operator had its lock.
func (l *leaseSample) finishLease() (unled, sinceRenewal time.Duration) {
	l.finish()
	return longestUnled(l.seen, l.renewals, l.unwatched)
}

// longestUnled computes what finishLease returns from what was sampled, which is sorted by time.
func longestUnled(seen []sighting, renewals []time.Time, unwatched []gap) (unled, sinceRenewal time.Duration) {
	for _, g := range gapsOf(seen) {
		unled = max(unled, g.length())
		last := g.since
		for _, renewal := range renewals {
			if !renewal.After(g.since) {
				last = renewal
			}
		}
		watched := g.until.Sub(last)
		for _, u := range unwatched {
			if u.since.After(last) && u.until.Before(g.until) {
				watched -= u.until.Sub(u.since)
			}
		}
		sinceRenewal = max(sinceRenewal, watched.Round(100*time.Millisecond))
	}
	return unled, sinceRenewal
}

func TestTheTimeWithoutALeaderBeginsWithTheLastRenewal(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, tc := range map[string]struct {
		seen          []int
		same          bool
		renewals      []int
		unwatched     []int
		unled, longer time.Duration
	}{
		"somebody always leads":            {seen: []int{0, 1, 2}, renewals: []int{0}},
		"one is slow to answer":            {seen: []int{0, 1, 60}, same: true, renewals: []int{0}},
		"one is followed by the next":      {seen: []int{0, 20, 90, 91}, renewals: []int{0, 10, 20, 89}, unled: 70 * time.Second, longer: 70 * time.Second},
		"one ends long after it renewed":   {seen: []int{0, 25, 60}, renewals: []int{0}, unled: 35 * time.Second, longer: time.Minute},
		"one renews and leads only later":  {seen: []int{0, 50}, renewals: []int{0, 40}, unled: 50 * time.Second, longer: 50 * time.Second},
		"no operator has its lock twice":   {seen: []int{0, 90}, renewals: []int{0}, unwatched: []int{10, 15, 40, 42}, unled: 90 * time.Second, longer: 83 * time.Second},
		"no renewal was seen before a gap": {seen: []int{0, 50}, renewals: []int{40}, unled: 50 * time.Second, longer: 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []sighting
			for i, second := range tc.seen {
				process := "first"
				if !tc.same {
					process = fmt.Sprint(i)
				}
				seen = append(seen, sighting{at(second), "master-0", process})
			}
			var renewals []time.Time
			for _, second := range tc.renewals {
				renewals = append(renewals, at(second))
			}
			var unwatched []gap
			for pair := range slices.Chunk(tc.unwatched, 2) {
				unwatched = append(unwatched, gap{at(pair[0]), at(pair[1])})
			}
			unled, longest := longestUnled(seen, renewals, unwatched)
			require.Equal(t, tc.unled, unled)
			require.Equal(t, tc.longer, longest)
		})
	}
}
