package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	otherRegion = "region = RegionTwo"
	firstRegion = "region = RegionOne"
	electionNS  = operatorNamespace
	election    = "cluster-cloud-controller-manager-operator-lock"
)

func useOtherRegion(s string) string { return strings.Replace(s, firstRegion, otherRegion, 1) }

func TestACandidateOfWhichOnlyAPartWasWrittenNeverBecomesARevision(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)
	allow := c.forbidUpdates(t, "configmaps", "cloud-controller-manager-pod", "false")

	cloudConfigText(useOtherRegion)(t, c)
	c.awaitCondition(t, "TargetConfigControllerDegraded", operatorv1.ConditionTrue, "")
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config"), otherRegion)
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
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-2"), otherRegion)
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-1"), firstRegion)
	c.awaitCondition(t, "TargetConfigControllerDegraded", operatorv1.ConditionFalse, "")
}

func TestTheOperatorConvergesWhenItIsKilledDuringAChange(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)

	cloudConfigText(useOtherRegion)(t, c)
	await(t, "the first write of the candidate", func(ctx context.Context) error {
		secret, err := c.kube.CoreV1().Secrets(targetNamespace).Get(ctx, "cloud-config", metav1.GetOptions{})
		if err == nil && !strings.Contains(string(secret.Data["cloud.conf"]), otherRegion) {
			err = fmt.Errorf("it is still the former one")
		}
		return err
	})
	first.kill(t)
	c.releaseElection(t)

	c.startOperator(t)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.Contains(t, c.deliveredCloudConfig(t, "cloud-config-2"), otherRegion)
}

func TestOnlyOneOfTwoOperatorsActs(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	first := c.startOperator(t)
	c.awaitRevision(t, 1)
	second := c.startOperator(t)
	second.awaitLog(t, "Attempting to acquire leader lease")

	cloudConfigText(useOtherRegion)(t, c)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
	require.False(t, second.log.contains("Starting the static-pod controllers"), "the second operator acts beside the first")

	// A terminated leader releases its lease, and the other process takes over.
	first.terminate(t)
	second.awaitLog(t, "Starting the static-pod controllers")
	cloudConfigText(func(s string) string { return strings.Replace(s, otherRegion, firstRegion, 1) })(t, c)
	require.Equal(t, int32(3), c.awaitRevision(t, 3))
}

func TestAForcedRedeploymentIsARevision(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	c.startOperator(t)
	c.awaitRevision(t, 1)
	c.patchSpec(t, `{"spec":{"forceRedeploymentReason":"because I say so"}}`)
	require.Equal(t, int32(2), c.awaitRevision(t, 2))
}

// forbidUpdates rejects updates of the named ConfigMap or Secret in any namespace until the returned function is
// called, unless the CEL expression is true. The expression must be false for the current object.
func (c *cluster) forbidUpdates(t *testing.T, resource, name, unless string) (allow func()) {
	t.Helper()
	policies, bindings := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	meta := metav1.ObjectMeta{Name: "forbid-updates"}
	_, err := policies.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{name},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: unless, Message: "not today"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        meta.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	await(t, "the policy", func(ctx context.Context) error {
		_, err := c.dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(targetNamespace).Patch(ctx, name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"changed":"yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return fmt.Errorf("an update is still allowed")
		}
		if !strings.Contains(err.Error(), "not today") {
			return err
		}
		return nil
	})
	return func() {
		require.NoError(t, bindings.Delete(t.Context(), meta.Name, metav1.DeleteOptions{}))
		require.NoError(t, policies.Delete(t.Context(), meta.Name, metav1.DeleteOptions{}))
	}
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
