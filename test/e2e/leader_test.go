package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// frozenFor is less than the kubelet waits before it restarts a container that does not answer.
const frozenFor = 20 * time.Second

// testLeaderEnds freezes the leader, which keeps its lease, and then kills it. The operator releases the lease of a
// process that has ended, so another process leads before the lease would have expired.
func (s *suite) testLeaderEnds(t *testing.T) {
	leader := s.requireOneLeader(t)
	pids := s.processesOn(t, leader, operandBinary, "")
	require.Len(t, pids, 1)
	_, lease, err := s.leader(t.Context())
	require.NoError(t, err)
	identity := *lease.Spec.HolderIdentity

	s.freeze(t, pids[0], identity)
	require.Equal(t, leader, s.requireOneLeader(t))
	_, lease, err = s.leader(t.Context())
	require.NoError(t, err)
	expires := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)

	s.monitor.Expect(monitor.NewLeader("the leader is killed"))
	began := time.Now()
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	s.await(t, "another leader", briefly, func(ctx context.Context) error {
		_, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if holder := *lease.Spec.HolderIdentity; holder == "" || holder == identity {
			return fmt.Errorf("the holder is %q", holder)
		}
		return nil
	})
	s.figure("kill of the leader to another holder of the lease: %s", rounded(began))
	require.Less(t, time.Now(), expires, "the lease expired by itself")
	s.requireOneLeader(t)
}

// freeze stops the process that holds the lease for a while, and thaws it. It keeps the lease.
func (s *suite) freeze(t *testing.T, pid int, identity string) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Never(t, func() bool {
		_, lease, err := s.leader(t.Context())
		return err == nil && *lease.Spec.HolderIdentity != identity
	}, frozenFor, interval, "a frozen process may thaw")
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
}
