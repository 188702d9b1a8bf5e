package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

const (
	otherSetting = "max-shared-lb = 7"
	firstSetting = "max-shared-lb = 1"
	electionNS   = operatorNamespace
	election     = "cluster-cloud-controller-manager-operator-lock"
)

func useOtherSetting(s string) string { return s + otherSetting + "\n" }

func TestACandidateOfWhichOnlyAPartWasWrittenNeverBecomesARevision(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)
	allow := c.forbidUpdates(t, "configmaps", "cloud-controller-manager-pod", "false")

	cloudConfigText(useOtherSetting)(t, c)
	c.awaitCondition(t, "TargetConfigControllerDegraded", operatorv1.ConditionTrue, "")
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config"), otherSetting)
	first.awaitLog(t, "Not creating a revision yet")
	require.Equal(t, int32(1), c.awaitRevision(t, 1))

	// The next process sees the same incomplete candidate.
	first.kill(t)
	c.releaseElection(t)
	second := c.startOperator(t)
	second.awaitLog(t, "Not creating a revision yet")
	require.Equal(t, int32(1), c.awaitRevision(t, 1))

	allow()
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-2"), otherSetting)
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-1"), firstSetting)
	c.awaitCondition(t, "TargetConfigControllerDegraded", operatorv1.ConditionFalse, "")
}

func TestTheOperatorConvergesWhenItIsKilledDuringAChange(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)

	cloudConfigText(useOtherSetting)(t, c)
	await(t, "the first write of the candidate", func(ctx context.Context) error {
		secret, err := c.kube.CoreV1().Secrets(targetNamespace).Get(ctx, "cloud-config", metav1.GetOptions{})
		if err == nil && !strings.Contains(string(secret.Data["cloud.conf"]), otherSetting) {
			err = fmt.Errorf("it is still the former one")
		}
		return err
	})
	first.kill(t)
	c.releaseElection(t)

	c.startOperator(t)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-2"), otherSetting)
}

func TestOnlyOneOfTwoOperatorsActs(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)
	second := c.startOperator(t)
	second.awaitLog(t, "Attempting to acquire leader lease")

	cloudConfigText(useOtherSetting)(t, c)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.False(t, second.log.contains("Starting the static-pod controllers"), "the second operator acts beside the first")

	// A terminated leader releases its lease, and the other process takes over.
	first.terminate(t)
	second.awaitLog(t, "Starting the static-pod controllers")
	cloudConfigText(func(s string) string { return strings.Replace(s, otherSetting, firstSetting, 1) })(t, c)
	require.Equal(t, int32(3), c.awaitRevision(t, 3))
}

func TestAForcedRedeploymentIsARevision(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"because I say so"}}`)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
}

// forbidUpdates rejects updates of an object in the target namespace until the returned function is called. unless is
// the CEL expression that allows an update.
func (c *cluster) forbidUpdates(t *testing.T, resource, name, unless string) (allow func()) {
	t.Helper()
	remove, err := c.RejectUpdates(t.Context(), devcluster.UpdateRejection{
		Resource: resource, Namespace: targetNamespace, Name: name, Unless: unless,
	})
	require.NoError(t, err)
	return func() { require.NoError(t, remove(t.Context())) }
}

// releaseElection releases the lease of a killed operator, so that a test need not wait for its expiry.
func (c *cluster) releaseElection(t *testing.T) {
	t.Helper()
	require.NoError(t, c.kube.CoordinationV1().Leases(electionNS).Delete(t.Context(), election, metav1.DeleteOptions{}))
}

func (c *cluster) deliveredCloudConfig(t *testing.T, secret string) string {
	t.Helper()
	object, err := c.kube.CoreV1().Secrets(targetNamespace).Get(t.Context(), secret, metav1.GetOptions{})
	require.NoError(t, err)
	return string(object.Data["cloud.conf"])
}
