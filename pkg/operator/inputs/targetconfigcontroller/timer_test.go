package targetconfigcontroller

import (
	"context"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/controllertest"
)

func TestItComesBackByItselfWhenANewClusterHadItsTime(t *testing.T) {
	f := newFixture(t, goodInputs(without(secret("openstack-cloud-credentials", nil)))...)
	calls, err := controllertest.NewTimer(f.clock, f.recorder).Run(t.Context(), f.sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 45 * time.Second}, calls)
	require.Len(t, f.trueConditions(t), 1)
}

func TestItComesBackByItselfWhenTheObserversHaveNothingToWrite(t *testing.T) {
	f := newFixture(t, goodInputs()...)
	f.scribbled = true
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		defer func() { f.scribbled = false }()
		return f.sync(ctx, syncCtx)
	}
	calls, err := controllertest.NewTimer(f.clock, f.recorder).Run(t.Context(), sync, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, userGracePeriod}, calls)
	require.NotEmpty(t, f.writes())
}

// No event of the lease or of a pod wakes the controller, and the next time that none works counts from its own begin.
func TestItComesBackByItselfWhileNoCloudControllerManagerWorks(t *testing.T) {
	f := newWorking(t)
	f.sees(t)
	f.works = false
	calls, err := controllertest.NewTimer(f.clock, f.recorder).Run(t.Context(), f.sync, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute}, calls)
}
