package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/rights"
)

// Exceptions for removed rights are detected without a cluster.
func TestUnusedRightsAreRights(t *testing.T) {
	granted, err := rights.Granted("../..")
	require.NoError(t, err)
	require.Empty(t, rights.Compare(rights.On("openstack", granted), nil, rights.Unused).Outdated)
}
