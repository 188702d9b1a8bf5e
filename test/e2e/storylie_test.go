package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// testLie makes the cloud deny every machine while a worker's kubelet is silent; TestTwentyLiesCostNoNode has more
// lies. Where the cloud-controller-manager cannot be asked about living nodes, the kubelet reports that it is not
// ready, which proves that the machine exists.
func (s *cloudStory) testLie(t *testing.T) {
	worker := s.worker(t)
	before, err := s.kube.CoreV1().Nodes().Get(t.Context(), worker.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	s.monitor.Expect(monitor.Degraded(worker.Name(), "the cloud denies every machine").Times(2))
	reason, provoke, restore := "LivingNodesUnknown", s.freezeKubelet, s.thawKubelet
	if s.hasNodeManager {
		reason, provoke, restore = "NodeReports", s.disableCNI, s.enableCNI
	}
	leader := s.requireOneLeader(t)

	require.NoError(t, s.cloud.DenyInstances(true))
	provoke(t, worker)
	began := time.Now()
	s.await(t, "the deletion of "+worker.Name()+" to be refused again and again", briefly, func(context.Context) error {
		const often = 3
		if n := s.refusedDeletions(t, worker.Name()); n < often {
			return fmt.Errorf("it was refused %d times", n)
		}
		return nil
	})
	s.awaitReason(t, reason, lieNamedLimit)
	s.figure("every machine denied to reason %s: %s", reason, rounded(began))
	require.Equal(t, leader, s.requireOneLeader(t))

	require.NoError(t, s.cloud.DenyInstances(false))
	if s.hasNodeManager {
		restore(t, worker) // Only the kubelet's report refutes there what the cloud-controller-manager said.
	}
	began = time.Now()
	s.awaitReason(t, "AsExpected", cleanLimit)
	s.figure("every machine known again to condition False: %s", rounded(began))
	if !s.hasNodeManager {
		restore(t, worker)
	}
	s.awaitInitialized(t, worker)
	after, err := s.kube.CoreV1().Nodes().Get(t.Context(), worker.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, before.UID, after.UID, "the Node stayed")
}

// testRareLie makes the cloud deny every machine while the kubelets of two workers are silent. The
// cloud-controller-manager, which announces no deletion and cannot be asked, deletes one of their Nodes at most.
func (s *cloudStory) testRareLie(t *testing.T) {
	revision := s.revision(t)
	another, err := s.AddWorker(t.Context())
	require.NoError(t, err)
	s.awaitInitialized(t, another)
	silent := []*node.Node{s.worker(t), another}
	before := map[string]types.UID{}
	for _, n := range silent {
		s.monitor.Expect(monitor.NodeDeleted(n.Name(), "the cloud denies its machine"),
			monitor.Uninitialized(n.Name(), "its Node registers again"),
			monitor.Degraded(n.Name(), "the cloud denies every machine").Times(2))
		before[n.Name()] = s.nodeUID(t, n.Name())
	}
	require.NoError(t, s.cloud.DenyInstances(true))
	for _, n := range silent {
		s.freezeKubelet(t, n)
	}
	began := time.Now()
	s.await(t, "the deletion of a Node to be refused", s.noticed(), func(context.Context) error {
		if s.refusedDeletions(t, silent[0].Name())+s.refusedDeletions(t, another.Name()) == 0 {
			return errors.New("none was refused")
		}
		return nil
	})
	s.figure("every machine denied to a refused deletion: %s", rounded(began))

	require.NoError(t, s.cloud.DenyInstances(false))
	gone := 0
	for _, n := range silent {
		s.signalKubelet(t, n, syscall.SIGCONT)
		if s.nodeUID(t, n.Name()) != before[n.Name()] {
			gone++
			require.NoError(t, n.RestartKubelet(t.Context())) // A kubelet registers when it starts.
		}
		s.awaitReady(t, n.Name(), corev1.ConditionTrue)
	}
	s.figure("silent Nodes deleted: %d of %d", gone, len(silent))
	require.LessOrEqual(t, gone, 1)
	for _, n := range silent {
		s.awaitInitialized(t, n)
	}
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
}

// nodeUID returns the UID of a Node, "" if there is none.
func (s *suite) nodeUID(t *testing.T, name string) types.UID {
	t.Helper()
	object, err := s.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(t, err)
	return object.UID
}

// worker returns a node that is no control-plane node.
func (s *cloudStory) worker(t *testing.T) *node.Node {
	t.Helper()
	masters := s.ControlPlane()
	i := slices.IndexFunc(s.Nodes(), func(n *node.Node) bool { return !slices.Contains(masters, n) })
	require.GreaterOrEqual(t, i, 0, "a worker has joined")
	return s.Nodes()[i]
}

// refusedDeletions returns how often the admission policy refused the deletion of a Node by the
// cloud-controller-manager.
func (s *cloudStory) refusedDeletions(t *testing.T, name string) int {
	t.Helper()
	refused := 0
	s.eachRequest(t, brake, func(e *auditEvent) {
		if e.Verb == "delete" && e.ObjectRef.Resource == "nodes" && e.ObjectRef.Name == name &&
			e.ResponseStatus.Code == http.StatusForbidden {
			refused++
		}
	})
	return refused
}
