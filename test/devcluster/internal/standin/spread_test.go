package standin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

func TestMachinesAreSpreadOverTheZonesAndKeepTheirs(t *testing.T) {
	spread := standin.NewSpread("x", "y")
	var got []string
	for _, name := range []string{"a", "b", "a", "c", "d", "b"} {
		got = append(got, spread.Zone(name))
	}
	require.Equal(t, []string{"x", "y", "x", "x", "y", "y"}, got)
}
