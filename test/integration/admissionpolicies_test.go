package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const (
	deletionPolicy      = "openshift-cloud-controller-manager-node-deletion"
	admissionPolicies   = "AdmissionPoliciesDegraded"
	nothingHolds        = "nothing holds the cloud-controller-manager's deletions of Nodes, because "
	restoredByTheCVO    = "; the cluster-version-operator restores it within minutes, unless spec.overrides of clusterversion/version excludes it"
	policyNotOfRelease  = "perhaps " + nothingHolds + "spec of validatingadmissionpolicy/" + deletionPolicy + " is not that of this release" + restoredByTheCVO
	bindingNotOfRelease = "perhaps " + nothingHolds + "spec of validatingadmissionpolicybinding/" + deletionPolicy + " is not that of this release" + restoredByTheCVO
)

// The operator, its rights, the payload's policies and the API server are real. The test acts as the administrator who
// removes the brake, and as the cluster-version-operator that puts it back.
func TestTheOperatorNoticesThatNothingHoldsTheDeletionsOfNodes(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	ccm := c.as(t, operandUser)
	c.startOperator(t)
	c.createInitialized(t, "worker-0")
	c.awaitCondition(t, admissionPolicies, operatorv1.ConditionFalse, "")
	held := func(ctx context.Context) error {
		err := ccm.CoreV1().Nodes().Delete(ctx, "worker-0", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), deletionPolicy) {
			return fmt.Errorf("the deletion of a Node is not refused: %w", err)
		}
		return nil
	}
	await(t, "the policy and the right to delete", held)
	policies, bindings := c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	within := func(t *testing.T, began time.Time) {
		t.Helper()
		t.Logf("after %s", time.Since(began).Round(time.Millisecond))
		require.Less(t, time.Since(began), 15*time.Second)
	}

	t.Run("a deleted binding is restored", func(t *testing.T) {
		before, err := bindings.Get(t.Context(), deletionPolicy, metav1.GetOptions{})
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, bindings.Delete(t.Context(), deletionPolicy, metav1.DeleteOptions{}))
		await(t, "the binding", func(ctx context.Context) error {
			again, err := bindings.Get(ctx, deletionPolicy, metav1.GetOptions{})
			if err == nil && again.UID == before.UID {
				return errors.New("it is still there")
			}
			if err == nil {
				require.Equal(t, before.Spec, again.Spec)
				require.Equal(t, before.Labels, again.Labels)
				require.Equal(t, before.Annotations, again.Annotations)
			}
			return err
		})
		await(t, "the refusal", held)
		within(t, began)
		await(t, "the event", func(ctx context.Context) error {
			events, err := c.kube.CoreV1().Events(operatorNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=AdmissionPolicyBound"})
			if err != nil || len(events.Items) != 1 {
				return fmt.Errorf("it is not there: %w", err)
			}
			require.Equal(t, "validatingadmissionpolicybinding/"+deletionPolicy+" was missing, without which nothing holds the "+
				"cloud-controller-manager's deletions of Nodes; the operator created it again", events.Items[0].Message)
			return nil
		})
	})
	t.Run("a deleted policy is reported", func(t *testing.T) {
		policy, err := policies.Get(t.Context(), deletionPolicy, metav1.GetOptions{})
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, policies.Delete(t.Context(), deletionPolicy, metav1.DeleteOptions{}))
		message := nothingHolds + "validatingadmissionpolicy/" + deletionPolicy + " does not exist" + restoredByTheCVO
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionTrue, message)
		c.awaitClusterOperator(t, configv1.OperatorDegraded, configv1.ConditionTrue, message)
		within(t, began)
		policy.ResourceVersion, policy.UID = "", ""
		_, err = policies.Create(t.Context(), policy, metav1.CreateOptions{})
		require.NoError(t, err)
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionFalse, "")
		await(t, "the refusal", held)
	})
	t.Run("a changed policy is reported", func(t *testing.T) {
		began := time.Now()
		restore := change(t, policies, func(p *admissionv1.ValidatingAdmissionPolicy) {
			p.Spec.MatchConditions[0].Expression = "false"
		})
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionTrue, policyNotOfRelease)
		within(t, began)
		restore()
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionFalse, "")
	})
	t.Run("a changed binding is reported", func(t *testing.T) {
		began := time.Now()
		restore := change(t, bindings, func(b *admissionv1.ValidatingAdmissionPolicyBinding) {
			b.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
		})
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionTrue, bindingNotOfRelease)
		within(t, began)
		restore()
		c.awaitCondition(t, admissionPolicies, operatorv1.ConditionFalse, "")
	})
	c.noRequestDenied(t)
}

// updater reads and updates objects of one kind.
type updater[T any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*T, error)
	Update(ctx context.Context, object *T, options metav1.UpdateOptions) (*T, error)
}

// change changes the policy of deletions, or its binding, and returns a function that takes the change back.
func change[T any, P interface {
	*T
	DeepCopy() *T
	metav1.Object
}](t *testing.T, client updater[T], edit func(*T)) (restore func()) {
	t.Helper()
	before, err := client.Get(t.Context(), deletionPolicy, metav1.GetOptions{})
	require.NoError(t, err)
	changed := P(before).DeepCopy()
	edit(changed)
	_, err = client.Update(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	return func() {
		// The API server writes the status of a policy after each change.
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := client.Get(t.Context(), deletionPolicy, metav1.GetOptions{})
			if err != nil {
				return err
			}
			P(before).SetResourceVersion(P(current).GetResourceVersion())
			_, err = client.Update(t.Context(), before, metav1.UpdateOptions{})
			return err
		}))
	}
}

// The test acts as the cluster-version-operator that applies the predecessor's payload, and as the static pod that a
// downgrade left behind.
func TestTheBrakeEndsWithTheOperatorsRights(t *testing.T) {
	c := startCluster(t, configv1.OpenStackPlatformType)
	ccm := c.as(t, operandUser)
	operator := c.startOperator(t)
	c.createInitialized(t, "worker-0")
	c.awaitCondition(t, admissionPolicies, operatorv1.ConditionFalse, "")
	deletion := func(ctx context.Context) error {
		return ccm.CoreV1().Nodes().Delete(ctx, "worker-0", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	}
	refused := func(ctx context.Context) error {
		if err := deletion(ctx); err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), deletionPolicy) {
			return fmt.Errorf("the deletion of a Node is not refused: %w", err)
		}
		return nil
	}
	await(t, "the refusal", refused)
	c.killOperator(t, operator)
	require.NoError(t, refused(t.Context()), "an operator that does not run holds the deletions")
	require.NoError(t, c.config.ConfigV1().ClusterOperators().Delete(
		t.Context(), "cloud-controller-manager", metav1.DeleteOptions{}))
	require.NoError(t, refused(t.Context()), "a ClusterOperator that does not exist changes nothing")

	roles := c.kube.RbacV1().ClusterRoles()
	ours, err := roles.Get(t.Context(), "system:openshift:operator:cloud-controller-manager", metav1.GetOptions{})
	require.NoError(t, err)
	predecessors := ours.DeepCopy()
	predecessors.Rules = []rbacv1.PolicyRule{
		{APIGroups: []string{"config.openshift.io"}, Resources: []string{"clusteroperators/status"}, Verbs: []string{"update", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "patch", "update"}},
	}
	written, err := roles.Update(t.Context(), predecessors, metav1.UpdateOptions{})
	require.NoError(t, err)
	await(t, "the predecessor's rights", deletion)
	ours.ResourceVersion = written.ResourceVersion
	_, err = roles.Update(t.Context(), ours, metav1.UpdateOptions{})
	require.NoError(t, err)
	await(t, "the refusal", refused)
}
