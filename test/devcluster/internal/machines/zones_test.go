package machines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
)

func TestMachinesAreSpreadOverTheZonesAndKeepTheirs(t *testing.T) {
	zones := machines.NewZones("x", "y")
	var got []string
	for _, name := range []string{"a", "b", "a", "c", "d", "b"} {
		got = append(got, zones.Zone(name))
	}
	require.Equal(t, []string{"x", "y", "x", "x", "y", "y"}, got)
}

func TestWithoutZonesNoMachineHasOne(t *testing.T) {
	require.Empty(t, machines.NewZones().Zone("a"))
}
