package integration_test

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
)

// A difference is an update of that object at every sync, for ever; one of the Deployment also restarts the operator.
func TestTheClusterVersionOperatorHasNothingToWriteAtItsNextSync(t *testing.T) {
	t.Parallel()
	c := startCluster(t, configv1.NonePlatformType)
	drift, err := c.Drift(t.Context(), c.Release())
	require.NoError(t, err)
	require.Empty(t, drift)
}
