package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/trial"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// outage is how long the cloud answers nobody.
	outage = 10 * time.Minute
	// shortOutage is shorter than a revision is held whose process the outage has ended.
	shortOutage = 2 * time.Minute
	// throttling lasts for two tries of a preflight.
	throttling = 3 * time.Minute
	// slowPull is longer than a preflight's process may take, and shorter than the runtime's patience.
	slowPull  = 3 * time.Minute
	slowImage = "localhost/devcluster/slow:1"
	// againLimit is how long a change may wait after its cloud is back: after the fourth try, a preflight is repeated
	// every five minutes.
	againLimit = 5*time.Minute + goodLimit
	// backOffLimit is the kubelet's longest pause before it starts a container again, and the start.
	backOffLimit = 5*time.Minute + rolloutLimit
)

// TestGoodChangesOutlastOutages makes good changes before, during and after an outage of the cloud of ten minutes,
// while the cloud throttles, and in an outage that ends the process that proves a revision. It also upgrades to an
// image whose pull takes three minutes. Each reaches every node, and none is blamed.
func TestGoodChangesOutlastOutages(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes an hour and a half")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-outages", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.runSteps(t, []step{
		{"the image of an upgrade takes three minutes to pull", s.testSlowImage},
		{"a change while the cloud is down", s.testChangeInOutage},
		{"a change while the cloud throttles", s.testThrottledChange},
		{"the load-balancer API goes down while a revision is proved", s.testBalancersDownInProof},
		{"the cloud goes down while a revision is proved", s.testCloudDownInProof},
		{"the cloud goes down while a change rolls out", s.testOutageInRollout},
		{"the cloud goes down after a change", s.testOutageAfterRollout},
	})
}

func (s *suite) testSlowImage(t *testing.T) {
	s.requireOneLeader(t)
	note := filepath.Join(t.TempDir(), "note")
	require.NoError(t, os.WriteFile(note, []byte("A layer that no node has."), 0o600))
	archive := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, node.WriteImage(archive, node.ImageSpec{Ref: slowImage, Files: map[string]string{
		s.commandOf(t): filepath.Join(s.BinDir(), "openstack-cloud-controller-manager"), "/note": note,
	}}))
	first := s.Nodes()[0]
	require.NoError(t, first.LoadImages(t.Context(), archive))
	exported, err := first.ExportImage(t.Context(), slowImage)
	require.NoError(t, err)
	require.NoError(t, first.RemoveImage(t.Context(), slowImage))
	image, err := newRegistry(exported)
	require.NoError(t, err)
	image.slow.Store(int64(slowPull))
	for _, n := range s.Nodes() {
		image.serveOn(t, n)
	}
	before := s.revision(t)
	s.expectRollout("an upgrade")
	began := time.Now()
	s.setOperandImage(t, slowImage)
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionTrue, slowPull, "the start of pod/preflight")
	s.figure("upgrade to the notice that its image is pulled: %s", rounded(began))
	require.NoError(t, s.clean(t.Context()))
	s.await(t, "a revision", 2*slowPull, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	s.figure("... to the revision: %s", rounded(began))
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.figure("... to %d nodes: %s", nodes, rounded(began))
	s.requireOneLeader(t)
}

func (s *suite) testChangeInOutage(t *testing.T) {
	before := s.revision(t)
	end := s.beginOutage(t, http.StatusServiceUnavailable)
	s.setArgument(t, "min-resync-period", "12h3m")
	s.awaitWaiting(t)
	s.holdsFor(t, outage, before)
	s.expectRollout("the cloud is back")
	end()
	began := time.Now()
	s.await(t, "a revision", againLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	s.figure("the cloud back to the revision: %s", rounded(began))
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.requireOneLeader(t)
}

func (s *suite) testOutageInRollout(t *testing.T) {
	before := s.revision(t)
	s.expectRollout("a good change")
	// Its kubelet backs off, so the revision is not proved.
	s.monitor.Expect(monitor.Degraded("", "a process that starts in an outage ends"))
	s.setArgument(t, "min-resync-period", "12h4m")
	s.await(t, "a revision", goodLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	end := s.beginOutage(t, http.StatusServiceUnavailable)
	s.holdsFor(t, outage, before+1)
	end()
	began := time.Now()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, backOffLimit))
	s.figure("the cloud back to %d nodes at the revision: %s", nodes, rounded(began))
	s.requireOneLeader(t)
}

func (s *suite) testOutageAfterRollout(t *testing.T) {
	before := s.revision(t)
	s.expectRollout("a good change")
	s.setArgument(t, "min-resync-period", "12h5m")
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	end := s.beginOutage(t, http.StatusServiceUnavailable)
	s.holdsFor(t, outage, before+1)
	end()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, cleanLimit))
	s.requireOneLeader(t)
}

// testThrottledChange changes a flag while the cloud throttles, which a timer ends.
func (s *suite) testThrottledChange(t *testing.T) {
	before := s.revision(t)
	end := s.beginOutage(t, http.StatusTooManyRequests)
	ends := time.Now().Add(throttling)
	defer time.AfterFunc(throttling, end).Stop()
	began := time.Now()
	s.setArgument(t, "min-resync-period", "12h6m")
	message := s.awaitWaiting(t)
	require.NoError(t, contains(message, "the cloud throttles requests"))
	s.figure("a change while the cloud throttles to its notice: %s: %s", rounded(began), message)
	s.holdsFor(t, time.Until(ends), before)
	require.NoError(t, s.clean(t.Context()), "the change is not to blame")
	s.expectRollout("the cloud does not throttle any more")
	s.await(t, "a revision", againLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	s.figure("the end of the throttling to the revision: %s", rounded(ends))
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionFalse, cleanLimit)
	s.requireOneLeader(t)
}

// testBalancersDownInProof: only the new revision needs the load-balancer API, so one of the former leads meanwhile.
// The revision then leads once more.
func (s *suite) testBalancersDownInProof(t *testing.T) {
	const why = "the load-balancer API is down in its proof"
	config := s.cloudConfig(t)
	global, _, _ := strings.Cut(config, "[LoadBalancer]")
	s.expectRollout("no load balancers")
	former := s.revision(t) + 1
	s.setCloudConfig(t, global+withoutBalancers)
	require.Equal(t, former, s.awaitSettled(t, former, rolloutLimit))
	s.awaitSettledLeader(t)
	s.requireOneLeader(t)

	s.monitor.Expect(monitor.Rollout(why), monitor.NewLeader(why).Times(2*mostMoves+1))
	sample := s.sampleLeaders(t)
	s.endInProof(t, former+1, func() { s.setCloudConfig(t, config) })
	end := func() { require.NoError(t, s.Cloud().Fail(openstack.BalancerVersions, 0)) }
	defer time.AfterFunc(shortOutage, end).Stop()
	held := s.awaitHeldRevision(t, former+1)
	s.awaitSettledLeader(t)
	s.requireOneLeader(t)
	s.requireLed(t, sample, "the process that ended in its proof")
	s.holdsFor(t, trial.ProofHoldPeriod-time.Since(held), former+1)
	require.NoError(t, s.Cloud().Fail(openstack.BalancerVersions, 0))
	sample = s.sampleLeaders(t)
	s.awaitRolledOut(t, former+1, held)
	s.requireLed(t, sample, "the second proof")
	require.Empty(t, s.unproved(t, former+1))
}

// testCloudDownInProof: neither the former leader, which has ended for the proof, nor another process can lead
// meanwhile.
func (s *suite) testCloudDownInProof(t *testing.T) {
	const why, often = "no process can start in an outage", 50
	revision := s.revision(t) + 1
	s.awaitSettledLeader(t)
	s.monitor.Expect(monitor.Rollout(why), monitor.NewLeader(why).Times(often), monitor.Degraded("", why).Times(often),
		monitor.Unavailable("", why).Times(often), monitor.NoneReady(why).Times(often))
	s.endInProof(t, revision, func() { s.setArgument(t, "min-resync-period", "12h7m") })
	held := s.awaitHeldRevision(t, revision)
	end := s.beginOutage(t, http.StatusServiceUnavailable)
	s.blamesNothingFor(t, shortOutage, revision)
	require.NoError(t, s.Cloud().Fail(openstack.BalancerVersions, 0))
	end()
	began := time.Now()
	s.requireOneLeader(t)
	s.figure("the cloud back to a leader: %s", rounded(began))
	s.blamesNothingFor(t, trial.ProofHoldPeriod-time.Since(held), revision)
	s.awaitRolledOut(t, revision, held)
	// The kubelet of the first node may still back off then.
	s.figure("why revision %d is not proved: %q", revision, s.unproved(t, revision))
}

// endInProof makes a change, and takes the load-balancer API away between its preflight and its proof. It returns when
// the process that is to prove the revision has asked in vain, of which it ends.
func (s *suite) endInProof(t *testing.T, revision int32, change func()) {
	t.Helper()
	change()
	s.await(t, "a revision", goodLimit, func(ctx context.Context) error { return s.isRevision(ctx, revision) })
	require.NoError(t, s.Cloud().Fail(openstack.BalancerVersions, http.StatusServiceUnavailable))
	t.Cleanup(func() { require.NoError(t, s.Cloud().Fail(openstack.BalancerVersions, 0)) })
	asked := s.Cloud().Requests()[openstack.BalancerVersions]
	s.await(t, "the first node to lead", rolloutLimit, func(context.Context) error {
		if s.Cloud().Requests()[openstack.BalancerVersions] == asked {
			return errors.New("nobody has asked for the load-balancer API")
		}
		return nil
	})
}

// awaitHeldRevision waits until a revision is held, and requires that nothing else is to blame. It returns since when.
func (s *suite) awaitHeldRevision(t *testing.T, revision int32) time.Time {
	t.Helper()
	began, text := time.Now(), fmt.Sprintf("no other node gets revision %d before ", revision)
	s.await(t, "the event RevisionHeld", namedLimit, func(context.Context) error {
		return contains(strings.Join(s.messages(t, "RevisionHeld"), "\n"), text)
	})
	held := time.Now()
	s.figure("the end of the process to RevisionHeld: %s", rounded(began))
	s.awaitCondition(t, progressing, operatorv1.ConditionTrue, namedLimit, text,
		"the cloud's API answers with a server error", "; to roll it out unproved, run: oc annotate")
	require.LessOrEqual(t, s.operands.reached(revision), 1, "only the first node has it")
	return held
}

// awaitRolledOut waits until every node has a revision that was held.
func (s *suite) awaitRolledOut(t *testing.T, revision int32, held time.Time) {
	t.Helper()
	require.LessOrEqual(t, s.operands.reached(revision), 1, "only the first node has it")
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("RevisionHeld to %d nodes at the revision: %s", nodes, rounded(held))
	s.blamesNothingFor(t, 0, revision)
	s.requireOneLeader(t)
}

// unproved returns why a revision rolled out unproved, empty if it has led well.
func (s *suite) unproved(t *testing.T, revision int32) []string {
	t.Helper()
	return slices.DeleteFunc(s.messages(t, "RevisionUnproved"), func(message string) bool {
		return !strings.HasPrefix(message, fmt.Sprintf("revision %d ", revision))
	})
}

// beginOutage lets the cloud answer everybody with a status, until the returned function or the end of the test.
func (s *suite) beginOutage(t *testing.T, status int) (end func()) {
	t.Helper()
	require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, status))
	end = func() { require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, 0)) }
	t.Cleanup(end)
	return end
}

// holdsFor requires that for some time nothing is blamed, and that a process leads.
func (s *suite) holdsFor(t *testing.T, d time.Duration, revision int32) {
	t.Helper()
	sample := s.sampleLeaders(t)
	s.blamesNothingFor(t, d, revision)
	s.requireLed(t, sample, "the outage")
}

// blamesNothingFor requires that for some time the latest revision is the given one, and that nothing is rejected.
func (s *suite) blamesNothingFor(t *testing.T, d time.Duration, revision int32) {
	t.Helper()
	began := time.Now()
	s.await(t, fmt.Sprintf("the end of %s", d), max(0, d)+briefly, func(context.Context) error {
		require.Equal(t, revision, s.revision(t))
		require.Empty(t, slices.Concat(s.messages(t, "RevisionFailed"), s.messages(t, "CloudConfigRefused")))
		if left := d - time.Since(began); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
}
