package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// The steps of a story whose cloud-controller-manager asks for an instance only until its Node is initialized.

// deleteNode deletes a Node as the controller of its Machine does.
func (s *suite) deleteNode(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, s.kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// passes is long enough for three passes of the cloud-controller-manager over the Nodes that are not Ready
// (--node-monitor-period).
const passes = 3 * 5 * time.Second

// testUnnoticedDeletion deletes a machine in the cloud. Its Node is not Ready and stays, and goes with its Machine.
func (s *cloudStory) testUnnoticedDeletion(t *testing.T) {
	revision := s.revision(t)
	lost := s.follower(t, s.requireOneLeader(t))
	s.monitor.Expect(monitor.NodeDeleted(lost.Name(), "its Machine is deleted"),
		monitor.Degraded(lost.Name(), "its machine is gone and its Node is not").Times(2))
	require.NoError(t, s.RemoveNode(t.Context(), lost.Name()))
	s.awaitNotReady(t, lost)
	silent := time.Now()
	added, err := s.AddNode(t.Context())
	require.NoError(t, err)
	s.awaitInitialized(t, added)
	s.figure("another machine started to its Node initialized: %s", rounded(silent))
	require.Never(t, func() bool { return s.exists(t.Context(), lost.Name()) != nil }, passes, interval,
		"the Node of the deleted instance stays")
	s.figure("Node of the deleted instance not Ready, and kept for %s", rounded(silent))

	// A drain precedes the deletion. Without it, the CCM might still run there.
	s.setCordoned(t, lost, true)
	began := time.Now()
	s.deleteNode(t, lost.Name())
	s.await(t, "the replacement's cloud-controller-manager", rolloutLimit, func(ctx context.Context) error {
		_, err := servedCertificate(ctx, added)
		return err
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("Node deleted to clean on %d nodes: %s", nodes, rounded(began))
}

// testRegistrationInOutage makes a Node register while the cloud answers every request with an error.
func (s *cloudStory) testRegistrationInOutage(t *testing.T) {
	revision := s.revision(t)
	require.NoError(t, s.cloud.Fail(devcluster.AllEndpoints, http.StatusServiceUnavailable))
	waiting, began := s.registerUnknown(t)
	asked := 3
	if s.looksEvery != 0 {
		asked = 1 // It drops the failed lookup, and asks again in its next pass.
		s.monitor.Expect(monitor.Degraded(waiting.Name(), "it waits for the next pass").Times(2))
	}
	s.await(t, "the cloud to be asked", briefly, func(context.Context) error {
		if n := s.refusedSince(began); n < asked {
			return fmt.Errorf("it was asked %d times", n)
		}
		return nil
	})
	s.figure("Node registered to %d requests that the cloud did not answer: %s", asked, rounded(began))
	require.Error(t, s.isInitialized(t.Context(), waiting))

	require.NoError(t, s.cloud.Fail(devcluster.AllEndpoints, 0))
	began = time.Now()
	s.awaitInitialized(t, waiting)
	s.figure("cloud back to the Node initialized: %s", rounded(began))
	s.dismiss(t, waiting)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
}

// testUnheardLie makes the cloud deny every machine while a worker's kubelet is silent. The cloud-controller-manager
// hears of it only where a Node is not initialized, so nothing asks for the deletion of a Node.
func (s *cloudStory) testUnheardLie(t *testing.T) {
	revision := s.revision(t)
	worker := s.worker(t)
	before, err := s.kube.CoreV1().Nodes().Get(t.Context(), worker.Name(), metav1.GetOptions{})
	require.NoError(t, err)

	require.NoError(t, s.cloud.DenyInstances(true))
	s.freezeKubelet(t, worker)
	waiting, began := s.registerUnknown(t)
	s.monitor.Expect(monitor.Degraded(waiting.Name(), "the cloud denies every machine").Times(2))
	const answered = 3
	s.await(t, "the cloud to deny the machine again and again", briefly, func(context.Context) error {
		if n := s.answeredSince(began); n < answered {
			return fmt.Errorf("it denied it %d times", n)
		}
		return nil
	})
	s.figure("Node registered to %d answers that its machine does not exist: %s", answered, rounded(began))
	require.Error(t, s.isInitialized(t.Context(), waiting))
	after, err := s.kube.CoreV1().Nodes().Get(t.Context(), worker.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, before.UID, after.UID, "the Node stayed")
	require.Zero(t, s.deletionsOf(t, worker.Name()), "nothing asked for its deletion")

	require.NoError(t, s.cloud.DenyInstances(false))
	began = time.Now()
	s.awaitInitialized(t, waiting)
	s.figure("every machine known again to the Node initialized: %s", rounded(began))
	s.dismiss(t, waiting)
	s.thawKubelet(t, worker)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
}

// answeredSince returns how often the cloud has described instances.
func (s *cloudStory) answeredSince(since time.Time) int {
	answered := 0
	for _, call := range s.cloud.Calls() {
		if call.Endpoint == s.described && call.Time.After(since) && call.Status == http.StatusOK {
			answered++
		}
	}
	return answered
}

// deletionsOf returns how often the deletion of a Node was requested.
func (s *cloudStory) deletionsOf(t *testing.T, name string) int {
	t.Helper()
	requested := 0
	s.eachRequest(t, name, func(e *auditEvent) {
		if e.Verb == "delete" && e.ObjectRef.Resource == "nodes" && e.ObjectRef.Name == name {
			requested++
		}
	})
	return requested
}
