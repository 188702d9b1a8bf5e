package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// allDirs have the objects that reach a cluster.
var allDirs = []string{"manifests", "bindata", "bootstrap"}

func TestNoRuleIsAWildcard(t *testing.T) {
	for _, rules := range roles(t) {
		for _, rule := range rules.rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
				require.NotContains(t, list, "*", rules.name)
			}
			require.NotContains(t, rule.Verbs, "escalate", rules.name)
			require.NotContains(t, rule.Verbs, "impersonate", rules.name)
		}
	}
}

func TestNothingIsBoundToABroadRole(t *testing.T) {
	for _, b := range bindings(t) {
		require.NotContains(t, []string{"cluster-admin", "admin", "edit"}, b.role.Name, b.name)
		for _, subject := range b.subjects {
			require.Equal(t, rbacv1.ServiceAccountKind, subject.Kind, "%s: a group or a user is not ours to give rights to", b.name)
			require.NotEqual(t, "default", subject.Name, "%s: each job has a ServiceAccount of its own", b.name)
		}
	}
}

// A binding to a missing role would grant nothing, and only the operand's failure would show it.
func TestEveryBindingRefersToARoleOfThePayload(t *testing.T) {
	known := map[string]bool{"Role/extension-apiserver-authentication-reader": true} // Kubernetes' own, in kube-system
	for _, r := range roles(t) {
		known[r.kind+"/"+r.role] = true
	}
	for _, b := range bindings(t) {
		require.True(t, known[b.role.Kind+"/"+b.role.Name], "%s refers to %s/%s", b.name, b.role.Kind, b.role.Name)
	}
}

// The operator has no right of the operand; it may bind these roles and no others.
func TestTheOperatorMayBindExactlyTheOperandsRoles(t *testing.T) {
	var operandRoles, bindable []string
	for _, r := range roles(t) {
		// The bootstrap node has copies of some. Administrators bind the roles for support.
		isSupport := strings.HasPrefix(r.role, "system:openshift:cloud-controller-manager:support")
		if r.kind == "ClusterRole" && r.role != "system:openshift:operator:cloud-controller-manager" && !isSupport &&
			!slices.Contains(operandRoles, r.role) {
			operandRoles = append(operandRoles, r.role)
		}
		for _, rule := range r.rules {
			if !slices.Contains(rule.Verbs, "bind") {
				continue
			}
			require.Equal(t, []string{"bind"}, rule.Verbs, "%s: a rule that binds does nothing else", r.name)
			require.Equal(t, []string{"clusterroles"}, rule.Resources, r.name)
			require.NotEmpty(t, rule.ResourceNames, "%s: bind without names is cluster-admin", r.name)
			bindable = append(bindable, rule.ResourceNames...)
		}
	}
	require.ElementsMatch(t, operandRoles, bindable)
}

func TestTheOperatorMayBindWhatItsAssetsBind(t *testing.T) {
	bindable := map[string][]string{}
	for _, r := range roles(t) {
		for _, rule := range r.rules {
			if slices.Contains(rule.Verbs, "bind") {
				bindable[r.kind] = append(bindable[r.kind], rule.ResourceNames...)
			}
		}
	}
	for _, b := range bindings(t) {
		if !b.asset {
			continue
		}
		allowed := bindable["ClusterRole"]
		if b.kind == "RoleBinding" {
			allowed = append(slices.Clone(allowed), bindable["Role"]...)
		}
		require.Contains(t, allowed, b.role.Name, b.name)
	}
}

// The operator deletes a platform's bindings on other platforms; without the right to delete one it would stay
// forever.
func TestTheOperatorMayChangeAndRemoveWhatPlatformsBind(t *testing.T) {
	rights := operatorRights(t)
	for _, m := range objectsIn(t, "bindata/assets/platforms") {
		resource, known := map[string]string{
			"ClusterRoleBinding":               "clusterrolebindings",
			"RoleBinding":                      "rolebindings",
			"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		}[m.object.GetObjectKind().GroupVersionKind().Kind]
		require.True(t, known, "%s: what is bound is in the payload, the operator only binds it", m.name(t))
		require.Equal(t, "cloud-controller-manager-operator", m.meta(t).GetLabels()["app.kubernetes.io/managed-by"], m.name(t))
		namespace, name := m.meta(t).GetNamespace(), m.meta(t).GetName()
		for _, verb := range []string{"create", "update", "delete"} {
			require.True(t, allows(rights[namespace], verb, resource, name) || allows(rights[""], verb, resource, name),
				"%s: the operator may not %s %s/%s in %q", m.name(t), verb, resource, name, namespace)
		}
	}
}

// operatorRights are the operator's rules by namespace; cluster-wide rules have the empty one.
func operatorRights(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rights := map[string][]rbacv1.PolicyRule{}
	for _, m := range payload(t) {
		switch object := m.object.(type) {
		case *rbacv1.ClusterRole:
			if object.Name == "system:openshift:operator:cloud-controller-manager" {
				rights[""] = append(rights[""], object.Rules...)
			}
		case *rbacv1.Role:
			rights[object.Namespace] = append(rights[object.Namespace], object.Rules...)
		}
	}
	return rights
}

func allows(rules []rbacv1.PolicyRule, verb, resource, name string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.Resources, resource) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}

// The token of the file-syncer does not expire.
func TestTheFileSyncerMayReadExactlyTheSyncedObjects(t *testing.T) {
	all := roles(t)
	i := slices.IndexFunc(all, func(r role) bool { return r.role == "system:openshift:cloud-controller-manager:file-syncer" })
	require.GreaterOrEqual(t, i, 0)
	read := []string{"get", "list", "watch"}
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: read, ResourceNames: operand.DeliveredBy(operand.ConfigMap, operand.Synced)},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch", "patch"}, ResourceNames: []string{"node-files"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: read, ResourceNames: operand.DeliveredBy(operand.Secret, operand.Synced)},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}, all[i].rules)
}

// constraintsOf are the constraints of pods that write to no file of the host, by their roles.
var constraintsOf = map[string]string{
	"cluster-cloud-controller-manager":                                 "cloud-controller-manager-operator",
	"system:openshift:cloud-controller-manager:node-manager-admission": "cloud-node-manager",
	"system:openshift:cloud-controller-manager:preflight-lease":        "hostnetwork-v2",
}

func TestSecurityContextConstraintsAreNamed(t *testing.T) {
	for _, r := range roles(t) {
		for _, rule := range r.rules {
			if slices.Contains(rule.Verbs, "use") {
				want, isOwn := constraintsOf[r.role]
				if !isOwn {
					want = "privileged"
				}
				require.Equal(t, []string{want}, rule.ResourceNames, "%s: the pods name this one in openshift.io/required-scc", r.name)
			}
		}
	}
}

type role struct {
	name, kind, role string
	rules            []rbacv1.PolicyRule
}

type binding struct {
	name, kind string
	role       rbacv1.RoleRef
	subjects   []rbacv1.Subject
	asset      bool // applied by the operator, not by the cluster-version-operator
}

func roles(t *testing.T) []role {
	t.Helper()
	var found []role
	for _, folder := range allDirs {
		for _, m := range objectsIn(t, folder) {
			switch object := m.object.(type) {
			case *rbacv1.ClusterRole:
				found = append(found, role{m.name(t), "ClusterRole", object.Name, object.Rules})
			case *rbacv1.Role:
				found = append(found, role{m.name(t), "Role", object.Name, object.Rules})
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

func bindings(t *testing.T) []binding {
	t.Helper()
	var found []binding
	for _, folder := range allDirs {
		for _, m := range objectsIn(t, folder) {
			switch object := m.object.(type) {
			case *rbacv1.ClusterRoleBinding:
				found = append(found, binding{m.name(t), "ClusterRoleBinding", object.RoleRef, object.Subjects, folder == "bindata"})
			case *rbacv1.RoleBinding:
				found = append(found, binding{m.name(t), "RoleBinding", object.RoleRef, object.Subjects, folder == "bindata"})
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}
