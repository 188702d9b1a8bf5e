package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const (
	// outage is how long the cloud answers nobody.
	outage = 10 * time.Minute
	// slowPull is longer than a preflight's process may take, and shorter than the runtime's patience.
	slowPull  = 3 * time.Minute
	slowImage = "localhost/devcluster/slow:1"
	// againLimit is how long a change may wait after its cloud is back: after the fourth try, a preflight is repeated
	// every five minutes.
	againLimit = 5*time.Minute + goodLimit
	// backOffLimit is the kubelet's longest pause before it starts a container again, and the start.
	backOffLimit = 5*time.Minute + rolloutLimit
)

// TestGoodChangesOutlastOutages makes good changes before, during and after an outage of the cloud of ten minutes, and
// upgrades to an image whose pull takes three minutes. Each reaches every node, and none is blamed.
func TestGoodChangesOutlastOutages(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes an hour")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-outages", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.runSteps(t, []step{
		{"the image of an upgrade takes three minutes to pull", s.testSlowImage},
		{"a change while the cloud is down", s.testChangeInOutage},
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
	end := s.beginOutage(t)
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
	end := s.beginOutage(t)
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
	end := s.beginOutage(t)
	s.holdsFor(t, outage, before+1)
	end()
	require.Equal(t, before+1, s.awaitSettled(t, before+1, cleanLimit))
	s.requireOneLeader(t)
}

// beginOutage lets the cloud answer nobody, until the returned function or the end of the test.
func (s *suite) beginOutage(t *testing.T) (end func()) {
	t.Helper()
	require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, http.StatusServiceUnavailable))
	end = func() { require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, 0)) }
	t.Cleanup(end)
	return end
}

// holdsFor requires that for some time the latest revision is the given one, which is not taken back, and that a
// process leads.
func (s *suite) holdsFor(t *testing.T, d time.Duration, revision int32) {
	t.Helper()
	sample := s.sampleLeaders(t)
	began := time.Now()
	s.await(t, fmt.Sprintf("the end of %s", d), d+briefly, func(ctx context.Context) error {
		require.Equal(t, revision, s.revision(t))
		events, err := s.kube.CoreV1().Events(operatorNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			require.False(t, slices.Contains([]string{"RevisionFailed", "CloudConfigRefused"}, event.Reason), event.Message)
		}
		if left := d - time.Since(began); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	s.requireLed(t, sample, "the outage")
}
