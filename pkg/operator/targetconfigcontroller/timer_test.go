package targetconfigcontroller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/internal/controllertest"
)

func TestItComesBackByItselfWhenANewClusterHadItsTime(t *testing.T) {
	f := newFixture(t, goodInputs(without(secret("openstack-cloud-credentials", nil)))...)
	calls, err := controllertest.NewTimer(f.clock, f.recorder).Run(t.Context(), f.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, time.Minute}, calls)
	require.Len(t, f.trueConditions(t), 1)
}
