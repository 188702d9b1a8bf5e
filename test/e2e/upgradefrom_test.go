package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const formerVersion = "4.98.0-dev"

// TestUpgradeFrom goes back to the release of a former commit, which FROM names, and forth again, twice. The first time
// the cloud rejects the credentials and the operator is killed in each direction, the second time a preflight is
// interrupted. Settings stay, and what one release has rejected never reaches a node with the other one.
func TestUpgradeFrom(t *testing.T) {
	commit := os.Getenv("FROM")
	if commit == "" {
		t.Skip("FROM is not set: name a commit of this repository")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-upgrade-from", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	former, err := s.NextRelease(t.Context(), formerVersion, checkOut(t.Context(), s.Repository(), commit))
	require.NoError(t, err)
	s.addFeatureGates(t, formerVersion)

	s.monitor.Begin("settings")
	s.expectRollout("the log level, and an argument")
	s.monitor.Expect(monitor.Rollout("the other one, if it is later"))
	before := s.revision(t)
	s.setLogLevel(t)
	s.setArgument(t, "concurrent-service-syncs", "3")
	s.await(t, "the settings", rolloutLimit, s.hasSettings)
	s.awaitSettled(t, before+1, rolloutLimit)

	s.monitor.Begin("a wrong password")
	s.monitor.Expect(monitor.Degraded("secret/openstack-cloud-credentials", "a wrong password"))
	clouds := s.Cloud().CloudsYAML()
	s.setCredentials(t, passwordLine.ReplaceAll(clouds, []byte("$1 "+wrongPassword)))
	s.awaitDegraded(t, namedLimit, "the cloud rejects the credentials")
	for _, to := range []devcluster.Release{former, s.Release()} {
		s.monitor.Begin("the release " + to.Version + ", whose operator is killed")
		s.expectRollout("its image")
		s.monitor.Expect(monitor.Degraded("secret/openstack-cloud-credentials", "a wrong password").Times(3))
		s.testKilledUpgrade(t, to)
		s.awaitDegraded(t, namedLimit, "the cloud rejects the credentials")
		s.requireNowhere(t, wrongPassword)
	}
	s.setCredentials(t, clouds)
	s.await(t, "a clean ClusterOperator", cleanLimit, s.clean)

	s.testUnwatchedPreflight(t, former, "")
	s.testUnwatchedPreflight(t, s.Release(), "")
	require.NoError(t, s.hasSettings(t.Context()))
}

// testKilledUpgrade kills the first operator of a release that acts.
func (s *suite) testKilledUpgrade(t *testing.T, to devcluster.Release) {
	t.Helper()
	holder, err := s.operatorHolder(t.Context())
	require.NoError(t, err)
	s.monitor.Expect(monitor.Gap("the resource's definition changes, which ends its watches").Times(3))
	require.NoError(t, s.ApplyRelease(t.Context(), to))
	s.awaitOperatorLeads(t, holder)
	s.await(t, "one operator", briefly, func(context.Context) error {
		pids := s.processes(t, operatorBinary, "operator")
		if len(pids) != 1 {
			return fmt.Errorf("%d processes run", len(pids))
		}
		return syscall.Kill(pids[0], syscall.SIGKILL)
	})
	s.upgrade(t, to, "")
}

// hasSettings returns nil when every static pod has the settings.
func (s *suite) hasSettings(ctx context.Context) error {
	pods, err := s.kube.CoreV1().Pods(targetNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + operand})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if err := contains(given(&pod.Spec.Containers[0]), "--v=4", "--concurrent-service-syncs=3"); err != nil {
			return fmt.Errorf("pod/%s: %w", pod.Name, err)
		}
	}
	return nil
}

// checkOut returns a function that replaces the sources of a release in a directory by those of a commit.
func checkOut(ctx context.Context, repository, commit string) func(dir string) error {
	return func(dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		archive := []string{"-C", repository, "archive", commit, "--"}
		for _, entry := range entries {
			archive = append(archive, entry.Name())
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
		var errors bytes.Buffer
		git, tar := exec.CommandContext(ctx, "git", archive...), exec.CommandContext(ctx, "tar", "-x", "-C", dir)
		git.Stderr, tar.Stderr = &errors, &errors
		if tar.Stdin, err = git.StdoutPipe(); err != nil {
			return err
		}
		if err := git.Start(); err != nil {
			return err
		}
		errTar, errGit := tar.Run(), git.Wait()
		if errTar != nil || errGit != nil {
			return fmt.Errorf("commit %s: %w, %w: %s", commit, errGit, errTar, errors.String())
		}
		return nil
	}
}
