package staticresources

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

// platformNamed returns the platform of that name.
func platformNamed(t *testing.T, name string) platform.Platform {
	t.Helper()
	p, known := platform.ByName(name)
	require.True(t, known)
	return p
}

func TestRightsAreNamedWithTheRolesThatTheyBind(t *testing.T) {
	const group, prefix = "rbac.authorization.k8s.io", "system:openshift:cloud-controller-manager:"
	rights, err := Rights(platformNamed(t, "powervs"))
	require.NoError(t, err)
	require.Equal(t, []configv1.ObjectReference{
		{Group: group, Resource: "clusterrolebindings", Name: prefix + "operand"},
		{Group: group, Resource: "clusterroles", Name: prefix + "file-syncer"},
		{Group: group, Resource: "clusterroles", Name: prefix + "installer"},
		{Group: group, Resource: "clusterroles", Name: prefix + "operand"},
		{Group: group, Resource: "clusterroles", Name: prefix + "operand-lease"},
		{Group: group, Resource: "rolebindings", Namespace: namespace, Name: prefix + "file-syncer"},
		{Group: group, Resource: "rolebindings", Namespace: namespace, Name: prefix + "installer"},
		{Group: group, Resource: "rolebindings", Namespace: namespace, Name: prefix + "operand-lease"},
	}, rights)
}

func TestAResourceOfAnUnknownKindIsAnError(t *testing.T) {
	c := newWorld(`{"platform":"openstack"}`).controller
	_, err := c.read([]string{"assets/resources/networkpolicy-all.yaml"})
	require.EqualError(t, err, "the static resource assets/resources/networkpolicy-all.yaml has an unsupported kind")
}

func TestAChangeOfAnAssetThatWasReadIsNotReadAgain(t *testing.T) {
	const file = "assets/resources/serviceaccount-installer.yaml"
	first := read(file)
	first.SetName("changed")
	require.NotEqual(t, "changed", read(file).GetName())
}
