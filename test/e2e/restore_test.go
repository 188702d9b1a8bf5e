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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// restoreLimit exceeds the time until a standby acquires the lease of the snapshot and until every node is repaired.
const restoreLimit = 10 * time.Minute

// TestRestore restores etcd from a snapshot of two revisions ago. The operator runs meanwhile.
func TestRestore(t *testing.T) {
	testRestore(t, func(*suite, *testing.T) {}, func(*suite, *testing.T) {})
}

// TestRestoreWithoutTheOperator does so while no operator runs: another process starts on the restored cluster.
func TestRestoreWithoutTheOperator(t *testing.T) {
	testRestore(t, func(s *suite, t *testing.T) {
		s.scale(t, 0)
		s.awaitOperator(t, "", 0)
	}, func(s *suite, t *testing.T) {
		// The snapshot has the Deployment with one replica, and the kubelet starts its pod again.
		s.awaitOperator(t, "", 1)
	})
}

func testRestore(t *testing.T, before, after func(*suite, *testing.T)) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	leads := s.watchLeaders(t)
	snapshot := filepath.Join(t.TempDir(), "etcd.db")
	var restored int32
	s.runSteps(t, []step{
		{"a snapshot is taken, and two more revisions roll out", func(t *testing.T) {
			restored = s.change(t, "max-shared-lb = 2")
			require.NoError(t, s.SaveEtcd(t.Context(), snapshot))
			for _, line := range []string{"max-shared-lb = 3", "max-shared-lb = 4"} {
				s.change(t, line)
			}
		}},
		{"etcd is restored", func(t *testing.T) {
			s.monitor.Expect(
				monitor.Gap("etcd is restored").Times(10),
				// An operator that runs may create another one: the status may claim the lost revision.
				monitor.Rollout("the latest revision is that of the snapshot").Times(3),
				monitor.NewLeader("the lease is that of the snapshot, and every process is replaced").Times(6),
				monitor.NoneReady("every kubelet's last heartbeat is that of the snapshot").Times(3),
			)
			before(s, t)
			began := time.Now()
			require.NoError(t, s.RestoreEtcd(t.Context(), snapshot))
			s.figure("restore of etcd: %s", rounded(began))
			after(s, t)
			began = time.Now()
			s.await(t, "every node to run the restored revision", restoreLimit, func(ctx context.Context) error {
				resource, err := s.resource(ctx)
				if err != nil {
					return err
				}
				return s.nodesHave(ctx, resource.Status.LatestAvailableRevision, "max-shared-lb = 2")
			})
			restored = s.awaitSettled(t, restored, restoreLimit)
			require.NoError(t, s.nodesHave(t.Context(), restored, "max-shared-lb = 2"))
			s.figure("etcd restored to clean: %s", rounded(began))
			s.requireOneLeader(t)
		}},
		{"the numbers of lost revisions mean something else", func(t *testing.T) {
			for i, line := range []string{"max-shared-lb = 5", "max-shared-lb = 6"} {
				revision := s.change(t, line)
				require.Equal(t, restored+int32(i)+1, revision)
				require.NoError(t, s.nodesHave(t.Context(), revision, line))
			}
			s.requireOneLeader(t)
		}},
	})
	require.Empty(t, leads.doubles(), "two processes led")
}

// change sets one line of the cloud configuration and waits until the revision has rolled out.
func (s *suite) change(t *testing.T, line string) int32 {
	t.Helper()
	revision := s.revision(t) + 1
	s.expectRollout(line)
	text := s.cloudConfig(t)
	if i := strings.Index(text, "max-shared-lb"); i >= 0 {
		text = text[:i]
	}
	s.setCloudConfig(t, text+line+"\n")
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.requireOneLeader(t)
	return revision
}

// nodesHave returns nil if the manifest of every node is that of the revision, whose cloud configuration has the line
// and equals the file that the static pod reads.
func (s *suite) nodesHave(ctx context.Context, revision int32, line string) error {
	secret, err := s.kube.CoreV1().Secrets(targetNamespace).Get(ctx, fmt.Sprintf("cloud-config-%d", revision),
		metav1.GetOptions{})
	if err != nil {
		return err
	}
	configured := string(secret.Data["cloud.conf"])
	if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(configured, `"`, "")), " "), line) {
		return fmt.Errorf("revision %d does not have %q: %s", revision, line, configured)
	}
	directory := fmt.Sprintf("cloud-controller-manager-pod-%d", revision)
	for _, n := range s.Nodes() {
		manifest, err := os.ReadFile(filepath.Join(n.Root(), manifestPath))
		if err != nil {
			return err
		}
		if !strings.Contains(string(manifest), directory+"/") {
			return fmt.Errorf("the manifest on %s is not that of revision %d", n.Name(), revision)
		}
		file, err := os.ReadFile(filepath.Join(n.Root(), "etc/kubernetes/static-pod-resources", directory,
			"secrets/cloud-config/cloud.conf"))
		if err != nil {
			return err
		}
		if string(file) != configured {
			return fmt.Errorf("cloud.conf of revision %d on %s differs", revision, n.Name())
		}
	}
	return nil
}
