package e2e

import (
	"os"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// TestCloudControllerManagersThatEndWhenTheyLeadAreNamed takes the load-balancer API away from a cloud whose
// configuration asks for it. Each process that leads then ends within a second, and the lease changes hands.
func TestCloudControllerManagersThatEndWhenTheyLeadAreNamed(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-leaderless", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("each process that leads ends").Times(100),
		monitor.Degraded("", "each process that leads ends").Times(10), monitor.Unavailable("", "no process leads").Times(10),
		monitor.NoneReady("the test kills all processes at once"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	s.Cloud().Withdraw(openstack.LoadBalancerService, true)
	// A process keeps the catalog that it was started with.
	for _, pid := range s.processes(t, operandBinary, "") {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	began := time.Now()
	s.awaitDegraded(t, namedLimit, "CrashLoopDegraded", "Failed to create an OpenStack LoadBalancer client",
		"set enabled = false in [LoadBalancer] of the cloud configuration, or install Octavia")
	s.figure("each process that leads ends: named after %s", rounded(began))
	s.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionFalse, 2*time.Minute)
	s.figure("each process that leads ends: Available=False after %s", rounded(began))

	s.Cloud().Withdraw(openstack.LoadBalancerService, false)
	began = time.Now()
	s.awaitCondition(t, "CloudControllerManagerAvailable", operatorv1.ConditionTrue, rolloutLimit)
	s.figure("the API is back: Available=True after %s", rounded(began))
	s.awaitSettled(t, 1, rolloutLimit)
}
