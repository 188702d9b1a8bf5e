package leaseholder

import (
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/leaderelection"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

func TestTheDurationOfALeaseTellsItsRetryPeriod(t *testing.T) {
	nodes := leaderelection.LeaderElectionDefaulting(configv1.LeaderElection{}, "", "")
	single := leaderelection.LeaderElectionSNOConfig(nodes)
	for name, tc := range map[string]struct {
		config   configv1.LeaderElection
		topology configv1.TopologyMode
	}{
		"several nodes":    {config: nodes, topology: configv1.HighlyAvailableTopologyMode},
		"a single node":    {config: single, topology: configv1.SingleReplicaTopologyMode},
		"unknown topology": {config: nodes},
	} {
		t.Run(name, func(t *testing.T) {
			duration := tc.config.LeaseDuration.Duration
			require.Equal(t, duration, Default(tc.topology))
			require.Equal(t, duration, Duration(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				LeaseDurationSeconds: ptr.To(int32(duration.Seconds())),
			}}))
			require.Equal(t, tc.config.RetryPeriod.Duration, retryPeriod(duration))
			require.Equal(t, 2*tc.config.RetryPeriod.Duration+2*time.Second, Silence(duration))
		})
	}
	require.GreaterOrEqual(t, retryPeriod(15*time.Second), 2*time.Second, "Kubernetes' own timings")
	require.Zero(t, Duration(&coordinationv1.Lease{}))
}
