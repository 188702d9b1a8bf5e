package rights_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

const (
	root     = "../.."
	golden   = root + "/docs/rights.md"
	operator = "system:serviceaccount:openshift-cloud-controller-manager-operator:cluster-cloud-controller-manager"
	operand  = "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager"
)

func TestTheDocumentedRightsAreThoseOfTheManifests(t *testing.T) {
	granted, err := rights.Granted(root)
	require.NoError(t, err)
	offered, err := rights.Offered(root)
	require.NoError(t, err)
	table := rights.Table(granted, offered)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, table, 0o600))
	}
	documented, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(documented), string(table), "a right changed: review it, then run make update-golden")
}

func TestEveryRightHasAReason(t *testing.T) {
	granted, err := rights.Granted(root)
	require.NoError(t, err)
	for _, r := range granted {
		require.NotEmpty(t, r.Reason, r.String())
		require.NotEmpty(t, r.Verbs, r.String())
	}
}

// Support reads. The content of a Secret is for nobody.
func TestTheRolesForSupportOnlyRead(t *testing.T) {
	offered, err := rights.Offered(root)
	require.NoError(t, err)
	require.NotEmpty(t, offered)
	for _, r := range offered {
		require.NotEmpty(t, r.Reason, r.String())
		require.NotEqual(t, "secrets", r.Resource, r.String())
		require.Subset(t, []string{"get", "list"}, r.Verbs, r.String())
	}
}

// Regenerating the table must not add these rights.
func TestNoRightReachesEveryNamespacesSecrets(t *testing.T) {
	granted, err := rights.Granted(root)
	require.NoError(t, err)
	require.Empty(t, tooBroad(granted))
}

// tooBroad returns the rights that let an identity impersonate others or read their secrets.
func tooBroad(granted []rights.Right) []string {
	never := []string{"secrets", "configmaps", "serviceaccounts/token", "nodes/proxy", "pods/exec", "pods/attach", "roles", "certificatesigningrequests/approval"}
	writes := []string{"create", "update", "patch", "delete", "deletecollection"}
	writesNever := []string{"pods", "daemonsets", "deployments", "serviceaccounts", "clusterroles", "validatingadmissionpolicies"}
	var broad []string
	for _, r := range granted {
		writing := slices.ContainsFunc(r.Verbs, func(verb string) bool { return slices.Contains(writes, verb) })
		if r.Namespace == "" && (slices.Contains(never, r.Resource) || writing && slices.Contains(writesNever, r.Resource)) {
			broad = append(broad, r.String())
		}
	}
	return broad
}

func TestAnAddedRightIsSeen(t *testing.T) {
	documented, err := os.ReadFile(golden)
	require.NoError(t, err)
	const secrets = "- apiGroups: [\"\"]\n  resources: [secrets]\n  verbs: [get, list, watch]\n"
	for name, tc := range map[string]struct{ role, added, want string }{
		"Secrets of every namespace for the operator": {
			"system:openshift:operator:cloud-controller-manager", secrets,
			operator + " may get,list,watch secrets by ClusterRole/system:openshift:operator:cloud-controller-manager",
		},
		"Secrets of every namespace for the operand": {
			"system:openshift:cloud-controller-manager:operand", secrets,
			operand + " may get,list,watch secrets by ClusterRole/system:openshift:cloud-controller-manager:operand",
		},
		"pods of every namespace for the operand": {
			"system:openshift:cloud-controller-manager:operand", "- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [create]\n",
			operand + " may create pods by ClusterRole/system:openshift:cloud-controller-manager:operand",
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed, err := rights.Granted(withRule(t, tc.role, tc.added))
			require.NoError(t, err)
			offered, err := rights.Offered(root)
			require.NoError(t, err)
			require.NotEqual(t, string(documented), string(rights.Table(changed, offered)))
			require.Equal(t, []string{tc.want}, tooBroad(changed))
		})
	}
}

// withRule returns a copy of the repository's manifests and assets in which a role has one more rule.
func withRule(t *testing.T, role, rule string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "bindata"), os.DirFS(filepath.Join(root, "bindata"))))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))))
	files, err := filepath.Glob(filepath.Join(dir, "manifests", "*.rbac.yaml"))
	require.NoError(t, err)
	changed := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		head, tail, found := bytes.Cut(content, []byte("kind: ClusterRole\nmetadata:\n  name: "+role+"\n"))
		if !found {
			continue
		}
		changed++
		with := string(head) + "kind: ClusterRole\nmetadata:\n  name: " + role + "\n" + strings.Replace(string(tail), "rules:\n", "rules:\n"+rule, 1)
		require.NoError(t, os.WriteFile(file, []byte(with), 0o600))
	}
	require.Equal(t, 1, changed, "manifests with clusterrole/%s", role)
	return dir
}

func TestARightCoversARequest(t *testing.T) {
	named := rights.Right{Identity: "a", Namespace: "ns", Group: "g", Resource: "things/status", Names: []string{"x"}, Verbs: []string{"get", "update"}}
	everywhere := rights.Right{Identity: "a", Resource: "nodes", Verbs: []string{"list"}}
	for name, tc := range map[string]struct {
		right   rights.Right
		request rights.Request
		want    bool
	}{
		"the same":                   {named, rights.Request{"a", "update", "g", "things/status", "ns", "x"}, true},
		"another identity":           {named, rights.Request{"b", "update", "g", "things/status", "ns", "x"}, false},
		"another verb":               {named, rights.Request{"a", "patch", "g", "things/status", "ns", "x"}, false},
		"another group":              {named, rights.Request{"a", "update", "", "things/status", "ns", "x"}, false},
		"without the subresource":    {named, rights.Request{"a", "update", "g", "things", "ns", "x"}, false},
		"another namespace":          {named, rights.Request{"a", "update", "g", "things/status", "other", "x"}, false},
		"another name":               {named, rights.Request{"a", "update", "g", "things/status", "ns", "y"}, false},
		"a list of all":              {named, rights.Request{"a", "get", "g", "things/status", "ns", ""}, false},
		"everywhere, cluster-scoped": {everywhere, rights.Request{"a", "list", "", "nodes", "", ""}, true},
		"everywhere, in a namespace": {everywhere, rights.Request{"a", "list", "", "nodes", "ns", "x"}, true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.right.Covers(tc.request)) })
	}
}
