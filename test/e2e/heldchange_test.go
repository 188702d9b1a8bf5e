package e2e

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// retryLimit is how long a change waits after its cloud is back: the pause after the first preflight, and the next one.
const retryLimit = time.Minute + goodLimit

// testHeldChange changes a flag while the cloud answers nobody. The change waits, and nothing else does. It rolls out by
// itself when the cloud is back, or when an administrator says so.
func (s *suite) testHeldChange(t *testing.T) {
	s.requireOneLeader(t)
	// library-go's pruner runs once for a revision, and only if there is something to prune: testPruning lets it run.
	s.keepRevisions(t, 10)
	before := s.revision(t)
	require.NoError(t, s.Cloud().Fail(openstack.IdentityTokens, http.StatusServiceUnavailable))
	require.NoError(t, s.Cloud().Fail(openstack.ComputeServer, http.StatusServiceUnavailable))
	began := time.Now()
	s.setArgument(t, "min-resync-period", "12h3m")
	s.awaitWaiting(t)
	s.figure("change in an outage of the cloud to its notice: %s", rounded(began))
	require.NoError(t, s.clean(t.Context()), "the change is not to blame")
	require.Equal(t, before, s.revision(t), "no revision")
	require.NoError(t, s.Cloud().Fail(openstack.IdentityTokens, 0))
	require.NoError(t, s.Cloud().Fail(openstack.ComputeServer, 0))
	began = time.Now()
	s.expectRollout("the cloud is back")
	s.await(t, "a revision", retryLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+1) })
	s.figure("the cloud back to the revision: %s", rounded(began))
	require.Equal(t, before+1, s.awaitSettled(t, before+1, rolloutLimit))
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionFalse, cleanLimit)

	require.NoError(t, s.Cloud().Throttle(0))
	s.setOverrides(t, nil)
	message := s.awaitWaiting(t)
	value := regexp.MustCompile(`=([0-9a-f]{12})$`).FindStringSubmatch(message)
	require.Len(t, value, 2, message)
	s.expectRollout("an administrator accepts it")
	s.annotate(t, "cloudcontrollermanager.operator.openshift.io/accepted-preflight", value[1])
	began = time.Now()
	s.await(t, "a revision", goodLimit, func(ctx context.Context) error { return s.isRevision(ctx, before+2) })
	s.figure("change accepted while the cloud throttles to the revision: %s", rounded(began))
	require.NoError(t, s.Cloud().Fail(openstack.AllEndpoints, 0))
	require.Equal(t, before+2, s.awaitSettled(t, before+2, rolloutLimit))
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionFalse, cleanLimit)
	s.requireOneLeader(t)
}

// awaitWaiting waits for the notice about a change that waits, and returns it.
func (s *suite) awaitWaiting(t *testing.T) (message string) {
	t.Helper()
	s.awaitCondition(t, "PreflightNotices", operatorv1.ConditionTrue, visibleLimit,
		"; what ran before stays in use; it is tried again at ", "; to roll the change out unproved, run: oc annotate")
	resource, err := s.resource(t.Context())
	require.NoError(t, err)
	for _, c := range resource.Status.Conditions {
		if c.Type == "PreflightNotices" {
			message = c.Message
		}
	}
	return message
}

// annotate sets an annotation of the operator's resource.
func (s *suite) annotate(t *testing.T, name, value string) {
	t.Helper()
	_, err := s.dynamic.Resource(ccmv1.Resource).Patch(t.Context(), ccmv1.InstanceName, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+name+`":"`+value+`"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}

// TestCredentialsThatBecomeValidLate revokes the former password before the new one is valid, as where the cloud takes a
// moment to know a new key. Nothing else is the cure, so the new one is tried again soon.
func TestCredentialsThatBecomeValidLate(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes minutes")
	}
	const late, next = time.Minute, "rotated-late-7d41c0b9e2f3"
	d := &deadMachines{suite: startSuite(t, devcluster.Options{
		Name: "e2e-late", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	d.awaitSettled(t, 1, rolloutLimit)
	d.addWorkers(t, 1)
	waiting := d.Node(d.workers[0])
	d.monitor.Expect(monitor.Degraded("", "neither password is valid").Times(3),
		monitor.Uninitialized(waiting.Name(), "the leader cannot log in"))
	d.expectRollout("the new password is valid")
	require.NoError(t, d.Cloud().SetPassword("revoked-"+next))
	d.taintUninitialized(t, waiting)
	d.setCredentials(t, passwordLine.ReplaceAll(d.Cloud().CloudsYAML(), []byte("$1 "+next)))
	began := time.Now()
	d.awaitCondition(t, "CredentialsDegraded", operatorv1.ConditionTrue, goodLimit, "it is tried again")
	d.figure("credentials that are not valid yet to CredentialsDegraded: %s", rounded(began))
	<-time.After(time.Until(began.Add(late)))

	require.NoError(t, d.Cloud().SetPassword(next))
	began = time.Now()
	d.await(t, "a revision", retryLimit, func(ctx context.Context) error { return d.isRevision(ctx, 2) })
	d.figure("credentials valid to the revision: %s", rounded(began))
	d.await(t, waiting.Name()+" to be initialized", rolloutLimit, func(ctx context.Context) error {
		return d.initialized(ctx, waiting)
	})
	d.figure("… to the waiting node initialized: %s", rounded(began))
	d.awaitSettled(t, 2, rolloutLimit)
	d.figure("… to three nodes and a clean ClusterOperator: %s", rounded(began))
}
