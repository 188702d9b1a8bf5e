package machines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

func TestAMachineStopsAndGoesAndCanBeDenied(t *testing.T) {
	m := machines.New("example", "droplet", "x", "y")
	a, b := machines.Instance{Name: "a", Addresses: []string{"10.0.0.1"}}, machines.Instance{Name: "b"}
	given := []machines.Instance{a, b}
	require.NoError(t, m.SetInstances(given))
	given[0].Addresses[0] = "10.0.0.9"
	a.Addresses = []string{"10.0.0.1"}
	require.Equal(t, []machines.Machine{{Instance: a}, {Instance: b}}, m.Known(), "what the caller changes later")

	require.NoError(t, m.StopInstance("a"))
	require.Equal(t, []machines.Machine{{Instance: a, Stopped: true}, {Instance: b}}, m.Known())
	require.NoError(t, m.DenyInstances(true))
	require.True(t, m.Denied())
	require.Empty(t, m.Known())
	require.Len(t, m.All(), 2)
	require.NoError(t, m.DenyInstances(false))

	require.NoError(t, m.SetInstances([]machines.Instance{b}))
	require.Equal(t, []machines.Machine{{Instance: b}}, m.Known())
	require.EqualError(t, m.StartInstance("a"), `example stand-in: no droplet "a"`)
	require.NoError(t, m.SetInstances([]machines.Instance{a}))
	require.Equal(t, []machines.Machine{{Instance: a, Stopped: true}}, m.Known(), "another machine with its name")
	require.NoError(t, m.StartInstance("a"))
	require.Equal(t, []machines.Machine{{Instance: a}}, m.Known())
}

func TestAUUIDDependsOnTheNameAlone(t *testing.T) {
	const a = "ca978112-ca1b-4dca-bac2-31b39a23dc4d"
	require.Equal(t, a, machines.UUID("a"))
	require.Equal(t, a, machines.New("example", "droplet").SystemUUID("a"))
	require.NotEqual(t, a, machines.UUID("b"))
}
