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
	for name, config := range map[string]configv1.LeaderElection{"several nodes": nodes, "a single node": single} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				LeaseDurationSeconds: ptr.To(int32(config.LeaseDuration.Seconds())),
			}}
			require.Equal(t, config.LeaseDuration.Duration, Duration(lease))
			require.Equal(t, config.RetryPeriod.Duration, RetryPeriod(lease))
			require.Equal(t, 2*config.RetryPeriod.Duration+2*time.Second, Silence(lease))
		})
	}
	kubernetes := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To(int32(15))}}
	require.GreaterOrEqual(t, RetryPeriod(kubernetes), 2*time.Second)
	require.Zero(t, RetryPeriod(&coordinationv1.Lease{}))
}
