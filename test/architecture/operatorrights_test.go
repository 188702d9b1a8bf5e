package architecture

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The operator deletes the node manager's objects on platforms without one.
func TestTheOperatorMayDoWithTheNodeManagerWhatItHasTo(t *testing.T) {
	rights := operatorRights(t)
	for _, m := range objectsIn(t, "bindata/assets/node-manager") {
		resource, known := map[string]string{
			"ServiceAccount":                   "serviceaccounts",
			"ClusterRoleBinding":               "clusterrolebindings",
			"RoleBinding":                      "rolebindings",
			"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
			"DaemonSet":                        "daemonsets",
		}[m.object.GetObjectKind().GroupVersionKind().Kind]
		require.True(t, known, m.name(t))
		namespace, name := m.meta(t).GetNamespace(), m.meta(t).GetName()
		for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
			require.True(t, allows(rights[namespace], verb, resource, name) || allows(rights[""], verb, resource, name),
				"%s: the operator may not %s %s/%s in %q", m.name(t), verb, resource, name, namespace)
		}
	}
}

// A right to delete any binding could remove everyone's rights and restrictions.
func TestTheOperatorDeletesNoBindingButThoseOfItsAssets(t *testing.T) {
	var ours []string
	for _, m := range objectsIn(t, "bindata") {
		ours = append(ours, m.meta(t).GetName())
	}
	for namespace, rules := range operatorRights(t) {
		for _, rule := range rules {
			if !slices.Contains(rule.Verbs, "delete") {
				continue
			}
			for _, resource := range []string{"rolebindings", "clusterrolebindings", "validatingadmissionpolicybindings", "daemonsets", "serviceaccounts"} {
				if slices.Contains(rule.Resources, resource) {
					require.NotEmpty(t, rule.ResourceNames, "%s in %q", resource, namespace)
					require.Subset(t, ours, rule.ResourceNames, "%s in %q", resource, namespace)
				}
			}
		}
	}
}
