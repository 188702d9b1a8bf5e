package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestSingleNode installs a single node in place: the bootstrap pod runs on it until the first revision replaces it.
func TestSingleNode(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := newStory(startSuite(t, devcluster.Options{
		Name: "e2e", Platform: configv1.OpenStackPlatformType, Nodes: 1, WithoutPayload: true, Progress: os.Stderr,
	}), "openstack")
	s.runSteps(t, []step{
		{"the bootstrap pod initializes the node that it runs on", s.testBootstrapInPlace},
		{"the first revision replaces the bootstrap pod", s.testFirstRevisionInPlace},
		{"a change restarts the only process", s.testRolloutOnOne},
	})
}

func (s *cloudStory) testBootstrapInPlace(t *testing.T) {
	only := s.Nodes()[0]
	require.NoError(t, s.LoadImages(t.Context()))
	dir := t.TempDir()
	s.writeInstallerFiles(t, dir)
	s.runBootkubeStep(t, dir)
	began := time.Now()
	s.putInPlace(t, dir, only)
	s.await(t, "the node to be initialized by its own bootstrap pod", podLimit, func(ctx context.Context) error {
		return s.isInitialized(ctx, only)
	})
	s.figure("bootstrap pod placed to its own node initialized: %s", rounded(began))
}

func (s *suite) testFirstRevisionInPlace(t *testing.T) {
	s.monitor.Expect(
		monitor.Rollout("the first revision"),
		monitor.NewLeader("the first revision replaces the bootstrap pod"),
		// On a busy machine, the kubelet's heartbeat is late at times, and with it the only process counts as not Ready.
		monitor.NoneReady("the first revision replaces the bootstrap pod").Times(3),
	)
	began := time.Now()
	require.NoError(t, s.InstallPayload(t.Context()))
	s.awaitSettled(t, 1, rolloutLimit)
	s.figure("payload applied to Available on a single node: %s", rounded(began))
	s.requireManifest(t, 1)
	s.requireOneLeader(t)
	s.figure("payload applied to a leader on a single node: %s", rounded(began))

	pids := s.processes(t, operandBinary, "")
	require.Len(t, pids, 1)
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[0]))
	require.NoError(t, err)
	for _, flag := range []string{
		"--leader-elect-lease-duration=270s", "--leader-elect-renew-deadline=240s", "--leader-elect-retry-period=60s",
	} {
		require.Contains(t, strings.Split(string(content), "\x00"), flag)
	}
	_, lease, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, int32(270), *lease.Spec.LeaseDurationSeconds)
}

func (s *suite) testRolloutOnOne(t *testing.T) {
	s.monitor.Expect(
		monitor.Rollout("a key of the cloud configuration is changed"),
		monitor.NewLeader("the only process is replaced"),
		monitor.NoneReady("the only process is replaced").Times(3),
	)
	began := s.setCloudConfig(t, s.cloudConfig(t)+"max-shared-lb = 3\n")
	require.Equal(t, int32(2), s.awaitSettled(t, 2, rolloutLimit))
	s.figure("change of a cloud configuration key to a single node at the new revision: %s", rounded(began))
	s.requireManifest(t, 2)
	s.requireOneLeader(t)
	s.figure("change of a cloud configuration key to a leader on a single node: %s", rounded(began))
}

// requireManifest requires that each node has the manifest of the revision, and no other one.
func (s *suite) requireManifest(t *testing.T, revision int32) {
	t.Helper()
	for _, n := range s.Nodes() {
		directory := filepath.Join(n.Root(), filepath.Dir(manifestPath))
		require.Equal(t, []string{filepath.Base(manifestPath)}, names(t, directory))
		content, err := os.ReadFile(filepath.Join(n.Root(), manifestPath))
		require.NoError(t, err)
		require.Contains(t, string(content), fmt.Sprintf("cloud-controller-manager-pod-%d/", revision))
	}
}
