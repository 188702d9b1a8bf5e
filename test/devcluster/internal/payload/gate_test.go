package payload_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/payload"
)

const (
	gate = "StaticPodCloudControllerManager"
	ours = "../../../../manifests"
)

// predecessor are the objects of the predecessor's payload: version, kind, namespace ("-" for none) and name.
const predecessor = `
v1 Namespace - openshift-cloud-controller-manager
v1 Namespace - openshift-cloud-controller-manager-operator
v1 ConfigMap openshift-cloud-controller-manager-operator cloud-controller-manager-images
v1 Service openshift-cloud-controller-manager-operator cloud-controller-manager-operator
v1 ServiceAccount kube-system cloud-controller-manager
v1 ServiceAccount openshift-cloud-controller-manager cloud-controller-manager
v1 ServiceAccount openshift-cloud-controller-manager cloud-node-manager
v1 ServiceAccount openshift-cloud-controller-manager-operator cluster-cloud-controller-manager
apps/v1 Deployment openshift-cloud-controller-manager-operator cluster-cloud-controller-manager-operator
config.openshift.io/v1 ClusterOperator - cloud-controller-manager
networking.k8s.io/v1 NetworkPolicy openshift-cloud-controller-manager default-deny
networking.k8s.io/v1 NetworkPolicy openshift-cloud-controller-manager-operator default-deny
rbac.authorization.k8s.io/v1 ClusterRole - cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRole - cloud-node-manager
rbac.authorization.k8s.io/v1 ClusterRole - openstack-cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRole - system:openshift:operator:cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRoleBinding - cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRoleBinding - cloud-node-manager
rbac.authorization.k8s.io/v1 ClusterRoleBinding - openstack-cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRoleBinding - system:openshift:operator:cloud-controller-manager
rbac.authorization.k8s.io/v1 ClusterRoleBinding - system:openshift:scc:hostaccess:cloud-controller-manager-operator
rbac.authorization.k8s.io/v1 Role kube-system cloud-controller-manager
rbac.authorization.k8s.io/v1 Role kube-system cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 Role openshift-cloud-controller-manager cloud-controller-manager
rbac.authorization.k8s.io/v1 Role openshift-cloud-controller-manager-operator cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 Role openshift-config cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 Role openshift-config-managed cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding kube-system cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding kube-system cloud-controller-manager:apiserver-authentication-reader
rbac.authorization.k8s.io/v1 RoleBinding kube-system cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding openshift-cloud-controller-manager cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding openshift-cloud-controller-manager cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding openshift-cloud-controller-manager-operator cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding openshift-config cluster-cloud-controller-manager
rbac.authorization.k8s.io/v1 RoleBinding openshift-config-managed cluster-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-azure-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-gcp-ccm
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-ibm-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-nutanix-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-openstack-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-powervs-cloud-controller-manager
cloudcredential.openshift.io/v1 CredentialsRequest openshift-cloud-credential-operator openshift-vsphere-cloud-controller-manager
`

// predecessorPayload writes the predecessor's objects as the manifests of a payload.
func predecessorPayload(t *testing.T) string {
	t.Helper()
	var manifests strings.Builder
	for line := range strings.Lines(strings.TrimSpace(predecessor)) {
		field := strings.Fields(line)
		require.Len(t, field, 4, line)
		fmt.Fprintf(&manifests, "---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", field[0], field[1], field[3])
		if field[2] != "-" {
			fmt.Fprintf(&manifests, "  namespace: %s\n", field[2])
		}
		manifests.WriteString("  annotations:\n" + profile)
	}
	return folder(t, map[string]string{"0000_26_predecessor.yaml": manifests.String()})
}

// gated runs hack/gated-payload.sh and returns the directory of its result.
func gated(t *testing.T, manifests, requirement string, tag ...string) string {
	t.Helper()
	out := t.TempDir()
	command := exec.CommandContext(t.Context(), "../../../../hack/gated-payload.sh",
		append([]string{manifests, requirement, out}, tag...)...)
	message, err := command.CombinedOutput()
	require.NoError(t, err, string(message))
	return out
}

// included returns the manifests that a cluster with these feature gates includes.
func included(t *testing.T, dir string, gates ...string) []payload.Manifest {
	t.Helper()
	with := release
	with.FeatureGates = sets.New(gates...)
	manifests, err := payload.Read(dir, with)
	require.NoError(t, err)
	return manifests
}

// identities returns group, kind and name of each manifest, and "delete" before those that are deleted.
func identities(manifests []payload.Manifest) []string {
	var all []string
	for _, manifest := range manifests {
		object := manifest.Object
		identity := fmt.Sprintf("%s %s/%s", object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
		if manifest.Deleted() {
			identity = "delete " + identity
		}
		all = append(all, identity)
	}
	return all
}

func TestAFeatureGateSwapsThePredecessorAndThisOperatorInOnePayload(t *testing.T) {
	successor, before := gated(t, ours, gate), gated(t, predecessorPayload(t), "-"+gate)
	for name, tc := range map[string]struct {
		gates []string
		want  string
	}{
		"the gate is off":         {nil, predecessorPayload(t)},
		"another gate is on":      {[]string{gate + "s"}, predecessorPayload(t)},
		"the gate is on":          {[]string{gate}, ours},
		"the gate and another on": {[]string{"Another", gate}, ours},
	} {
		t.Run(name, func(t *testing.T) {
			merged := identities(slices.Concat(included(t, before, tc.gates...), included(t, successor, tc.gates...)))
			require.ElementsMatch(t, identities(included(t, tc.want)), merged)
			objects := sets.New[string]()
			for _, identity := range merged {
				object := strings.TrimPrefix(identity, "delete ")
				require.False(t, objects.Has(object), "%s is applied or deleted twice", object)
				objects.Insert(object)
			}
		})
	}
}

// Without the annotations the two payloads have the same objects, and this one deletes the other's.
func TestWithoutAFeatureGateTheTwoPayloadsFight(t *testing.T) {
	theirs := sets.New(identities(included(t, predecessorPayload(t)))...)
	applied, deleted := 0, 0
	for _, identity := range identities(included(t, ours)) {
		object, isDeleted := strings.CutPrefix(identity, "delete ")
		switch {
		case theirs.Has(object) && isDeleted:
			deleted++
		case theirs.Has(object):
			applied++
		}
	}
	require.Positive(t, applied)
	require.Positive(t, deleted)
}

// The cluster-version-operator does not delete what it no longer includes.
func TestWhatOnlyThePredecessorShipsIsDeletedWithTheGate(t *testing.T) {
	with := sets.New(identities(included(t, gated(t, ours, gate), gate))...)
	// The operator itself applies the first two. The third has no rights after the swap.
	kept := []string{
		"ServiceAccount openshift-cloud-controller-manager/cloud-controller-manager",
		"ServiceAccount openshift-cloud-controller-manager/cloud-node-manager",
		"ServiceAccount kube-system/cloud-controller-manager",
	}
	for _, identity := range identities(included(t, predecessorPayload(t))) {
		require.True(t, with.HasAny(identity, "delete "+identity) || slices.Contains(kept, identity), identity)
	}
}

func TestAGatedPayloadDiffersOnlyInItsAnnotations(t *testing.T) {
	for _, requirement := range []string{gate, "-" + gate} {
		dir := gated(t, ours, requirement)
		require.Equal(t, fileNames(t, ours), fileNames(t, dir))
		for _, name := range fileNames(t, ours) {
			before, err := os.ReadFile(filepath.Join(ours, name))
			require.NoError(t, err)
			after, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, string(before),
				strings.ReplaceAll(string(after), "    release.openshift.io/feature-gate: \""+requirement+"\"\n", ""), name)
		}
	}
}

// fileNames returns the names of a payload's files. The package that embeds some of them is in no payload.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".go" {
			names = append(names, entry.Name())
		}
	}
	return names
}

// Two images of one payload cannot have the same tag.
func TestAGatedPayloadHasAnotherTagForTheOperator(t *testing.T) {
	const tag = "static-pod-cloud-controller-manager-operator"
	images := map[string]bool{}
	for _, manifest := range included(t, gated(t, ours, gate, tag), gate) {
		if manifest.Object.GetKind() != "Deployment" {
			continue
		}
		content, err := manifest.Object.MarshalJSON()
		require.NoError(t, err)
		require.NotContains(t, string(content), "localhost/openshift/cluster-cloud-controller-manager-operator:")
		require.NotContains(t, string(content), "quay.io/")
		images["localhost/openshift/"+tag+":4.99.0-dev"] = strings.Contains(string(content), tag+":4.99.0-dev")
	}
	require.Equal(t, []bool{true}, slices.Collect(maps.Values(images)))
}

func TestAPayloadThatCannotBeGatedIsRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		manifest, requirement, want string
	}{
		"an object without annotations": {
			"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n", gate, "a.yaml: an object has no metadata.annotations with an indent of two spaces\n",
		},
		"annotations in another form": {
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: n, annotations: {a: b}}\n", gate,
			"a.yaml: an object has no metadata.annotations with an indent of two spaces\n",
		},
		"an object that has a gate": {
			"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n  annotations:\n    release.openshift.io/feature-gate: A\n", gate,
			"a.yaml: an object has a feature gate already\n",
		},
		"a gate that is none": {configMap("a", profile, "a"), "Gate,Other", "\"Gate,Other\" is not a feature gate\n"},
	} {
		t.Run(name, func(t *testing.T) {
			message, err := exec.CommandContext(t.Context(), "../../../../hack/gated-payload.sh",
				folder(t, map[string]string{"a.yaml": tc.manifest}), tc.requirement, t.TempDir()).CombinedOutput()
			require.Error(t, err)
			require.Equal(t, tc.want, string(message))
		})
	}
}
