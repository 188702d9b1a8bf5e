package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const nodeManagerBinding = "system:openshift:cloud-controller-manager:node-manager"

// A node manager's rights without the policy that limits them to its own node amount to root on the control plane.
func TestNoRoleIsBoundWhileItsPolicyCannotBe(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.AzurePlatformType)
	allow := c.forbidPolicyBindings(t)
	c.startOperator(t, "AZURE_IMAGE=localhost/azure:new", "AZURE_NODE_MANAGER_IMAGE=localhost/azure-node-manager:new")
	// WithSyncDegradedOnError writes the condition after the whole sync, so the sync has finished all bindings.
	await(t, "StaticResourcesDegraded to name the roles", func(ctx context.Context) error {
		resource, err := c.resource(ctx)
		if err != nil {
			return err
		}
		for _, condition := range resource.Status.Conditions {
			if condition.Type == "StaticResourcesDegraded" &&
				strings.Contains(condition.Message, "roles are not bound until every admission policy is bound") {
				return nil
			}
		}
		return errors.New(describe(resource.Status.Conditions))
	})
	bindings := c.kube.RbacV1().ClusterRoleBindings()
	_, err := bindings.Get(t.Context(), nodeManagerBinding, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "the role is bound without its policy: %v", err)

	allow()
	await(t, "the node manager's role", func(ctx context.Context) error {
		_, err := bindings.Get(ctx, nodeManagerBinding, metav1.GetOptions{})
		return err
	})
	_, err = c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Get(t.Context(), "openshift-cloud-controller-manager-node-manager", metav1.GetOptions{})
	require.NoError(t, err)
	c.awaitCondition(t, "StaticResourcesDegraded", operatorv1.ConditionFalse, "")
}

// forbidPolicyBindings removes the operator's right to create bindings of admission policies until the returned
// function is called. An admission policy cannot do this, because policies do not apply to themselves.
func (c *cluster) forbidPolicyBindings(t *testing.T) (allow func()) {
	t.Helper()
	const role = "system:openshift:operator:cloud-controller-manager"
	set := func(change func(*rbacv1.PolicyRule)) {
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			current, err := c.kube.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for i, rule := range current.Rules {
				if slices.Contains(rule.Resources, "validatingadmissionpolicybindings") && len(rule.ResourceNames) == 0 {
					change(&current.Rules[i])
					_, err = c.kube.RbacV1().ClusterRoles().Update(t.Context(), current, metav1.UpdateOptions{})
					return err
				}
			}
			return fmt.Errorf("no rule of clusterrole/%s creates bindings of policies", role)
		}))
	}
	set(func(rule *rbacv1.PolicyRule) {
		rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == "create" })
	})
	return func() { set(func(rule *rbacv1.PolicyRule) { rule.Verbs = append(rule.Verbs, "create") }) }
}
