package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/transitions"
)

// TestTransitions plays the stories that test/simulation plays too, and records what changes. `make transitions` makes
// the record that the simulation is compared with.
func TestTransitions(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-transitions", Platform: configv1.OpenStackPlatformType, Nodes: nodes, WithoutPayload: true,
		Progress: os.Stderr,
	})
	s.monitor.Expect(monitor.Rollout("the stories").Times(9), monitor.NewLeader("the stories").Times(99),
		monitor.Degraded("", "a preflight and a machine").Times(9), monitor.Unavailable("", "a machine").Times(9))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &storyRecorder{suite: s, Recorder: transitions.NewRecorder(time.Now)}
	watches := monitor.Record(ctx, s.dynamic, r.See)
	defer watches.Wait()
	defer cancel()

	require.NoError(t, s.LoadImages(t.Context()))
	r.play(t, transitions.Installation, func() { require.NoError(t, s.InstallPayload(t.Context())) })
	for i := range 2 {
		r.play(t, transitions.Rollout, func() { s.reconfigure(t, i); s.awaitRevision(t, int32(i)+2) })
		r.play(t, transitions.Rejected, func() {
			s.setCredentials(t, passwordLine.ReplaceAll(s.Cloud().CloudsYAML(), []byte("$1 wrong-6c1f0a9d")))
			s.awaitDegraded(t, namedLimit, "the cloud rejects the credentials")
			<-time.After(transitions.Afterwards)
			s.setCredentials(t, s.Cloud().CloudsYAML())
		})
	}
	r.play(t, transitions.Reboot, r.drainAndReboot(t))
	r.play(t, transitions.Death, r.leaderDies(t))

	p := s.proof(t)
	r.record.Date, r.record.Commit = time.Now().UTC().Truncate(time.Second), p.commit
	require.NoError(t, os.MkdirAll(p.dir, 0o755))
	require.NoError(t, r.record.Write(filepath.Join(p.dir, "transitions.json")))
}

// storyRecorder plays stories.
type storyRecorder struct {
	*suite
	*transitions.Recorder
	record transitions.Record
}

// play plays a story until the operator is done, and for a few seconds more.
func (r *storyRecorder) play(t *testing.T, name string, story func()) {
	t.Helper()
	fmt.Fprintln(os.Stderr, "== playing:", name)
	r.Begin(name)
	story()
	r.awaitSettled(t, 1, rolloutLimit)
	<-time.After(transitions.Afterwards)
	r.record.Stories = append(r.record.Stories, r.End())
	<-time.After(transitions.Rest)
}

// awaitRevision waits until there is a revision.
func (s *suite) awaitRevision(t *testing.T, revision int32) {
	t.Helper()
	s.await(t, fmt.Sprintf("revision %d", revision), briefly, func(ctx context.Context) error {
		return s.isRevision(ctx, revision)
	})
}

// leadersNode returns the leader's node, where the operator does not run.
func (r *storyRecorder) leadersNode(t *testing.T) *node.Node {
	t.Helper()
	leader := r.Node(r.requireOneLeader(t))
	if pids := r.processes(t, operatorBinary, "operator"); len(pids) == 1 && r.nodeOf(pids[0]) == leader {
		r.moveOperator(t, leader)
		r.awaitSettled(t, 1, briefly)
		<-time.After(transitions.Rest)
		require.Equal(t, leader.Name(), r.requireOneLeader(t))
	}
	return leader
}

func (r *storyRecorder) drainAndReboot(t *testing.T) func() {
	t.Helper()
	leader := r.leadersNode(t)
	return func() {
		r.setCordoned(t, leader, true)
		r.await(t, "another leader", briefly, func(ctx context.Context) error {
			_, err := r.oneOfOthersLeads(ctx, leader)
			return err
		})
		revision := r.revision(t)
		r.await(t, "the former leader to be a standby", briefly, func(context.Context) error {
			return r.operands.allReady(revision, r.size)
		})
		require.NoError(t, leader.Kill())
		<-time.After(transitions.Off)
		require.NoError(t, leader.Restart(context.WithoutCancel(t.Context())))
		r.awaitNodeReady(t, leader)
		r.setCordoned(t, leader, false)
	}
}

func (s *suite) awaitNodeReady(t *testing.T, n *node.Node) {
	t.Helper()
	s.await(t, n.Name()+" to be Ready", briefly, func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Errorf("it is %s", c.Status)
			}
		}
		return nil
	})
}

func (r *storyRecorder) leaderDies(t *testing.T) func() {
	t.Helper()
	leader := r.leadersNode(t)
	return func() {
		require.NoError(t, leader.Kill())
		r.await(t, "another leader", 2*unledLimit, func(ctx context.Context) error {
			_, err := r.oneOfOthersLeads(ctx, leader)
			return err
		})
		require.NoError(t, leader.Restart(context.WithoutCancel(t.Context())))
	}
}
