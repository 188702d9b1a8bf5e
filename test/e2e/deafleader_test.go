package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// skipped is what a cloud-controller-manager logs that runs without the controller of nodes.
const skipped = `Skipping "cloud-node-controller"`

// deafLimit is how long a deaf leader may keep the lead: half a minute until the node counts, two minutes of patience,
// two reads of the log, and the move.
const deafLimit = 4 * time.Minute

// TestADeafLeaderIsReplacedOnce lets the version of Neutron's API fail for the moment in which a process begins to
// lead. OpenStack's provider then offers no interface to instances, so the process runs without the controller of
// nodes. The controller of Services would end the process instead, so load balancers are off.
func TestADeafLeaderIsReplacedOnce(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-deaf", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.expectRollout("load balancers are off")
	s.setCloudConfig(t, strings.Replace(s.cloudConfig(t), "[LoadBalancer]\n", "[LoadBalancer]\nenabled = false\n", 1))
	s.awaitSettled(t, 2, rolloutLimit)
	s.runSteps(t, []step{
		{"a deaf leader is replaced", s.testDeafLeader},
		{"the next deaf leader stays for an hour, also when the operator is killed", s.testNextDeafLeader},
	})
}

func (s *suite) testDeafLeader(t *testing.T) {
	deaf := s.deafen(t)
	waiting, began := s.waitFor(t, deaf)
	s.awaitDeaf(t, "LeaderDeaf", waiting)
	s.figure("uninitialized node to DeafLeaderNotices: %s", rounded(began))
	s.await(t, "another leader", deafLimit, func(ctx context.Context) error { return s.leadsInstead(ctx, deaf) })
	s.figure("uninitialized node to another leader: %s", rounded(began))
	s.await(t, "the node to be initialized", briefly, func(ctx context.Context) error { return s.initialized(ctx, waiting) })
	s.figure("uninitialized node to initialized, the deaf leader replaced: %s", rounded(began))
	s.requireOneLeader(t)
	s.await(t, "the notice to end", cleanLimit, func(ctx context.Context) error {
		if condition, err := s.deafCondition(ctx); err != nil || condition.Status != operatorv1.ConditionFalse {
			return fmt.Errorf("%v, %w", condition, err)
		}
		return nil
	})
	s.awaitSettled(t, 2, rolloutLimit)
}

func (s *suite) testNextDeafLeader(t *testing.T) {
	deaf := s.deafen(t)
	waiting, began := s.waitFor(t, deaf)
	s.awaitDeaf(t, "LeaderDeafAgain", waiting)
	s.killOperator(t)
	s.monitor.Expect(monitor.Degraded("not initialized by the cloud-controller-manager", "no other leader within the hour"))
	require.Never(t, func() bool { return s.leadsInstead(t.Context(), deaf) == nil }, deafLimit, 5*time.Second,
		"a second leader was replaced within the hour")
	s.awaitDeaf(t, "LeaderDeafAgain", waiting)
	s.figure("a second deaf leader, the operator killed meanwhile: still leads after %s", rounded(began))

	s.monitor.Expect(monitor.NewLeader("the deaf leader is ended by hand"),
		monitor.Degraded("keeps exiting", "the process may have ended before, while the cloud was away"))
	s.killLeader(t)
	s.await(t, "the node to be initialized", leaderLimit, func(ctx context.Context) error { return s.initialized(ctx, waiting) })
	// A crash loop ends when the container has run twice as long as before.
	s.awaitSettled(t, 2, 2*rolloutLimit)
}

// TestALeaderThatBeginsWithoutItsCloudHears lets the whole cloud fail while a process begins to lead. The providers of
// AWS and vSphere offer their interfaces to instances whatever the cloud answers, so no process is deaf there.
func TestALeaderThatBeginsWithoutItsCloudHears(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes minutes")
	}
	for _, p := range causePlatforms {
		if p.platform == configv1.OpenStackPlatformType {
			continue // TestADeafLeaderIsReplacedOnce
		}
		t.Run(string(p.platform), func(t *testing.T) { testHearingLeader(t, p) })
	}
}

func testHearingLeader(t *testing.T, p causePlatform) {
	s := startSuite(t, devcluster.Options{
		Name: "e2e-hears", Platform: p.platform, Nodes: nodes, QuickRestarts: true, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))
	cloud := p.api(s)
	s.awaitSettled(t, 1, rolloutLimit)
	former := s.requireHolder(t)

	s.monitor.Expect(monitor.NewLeader("the leader is killed while the cloud fails").Times(2),
		monitor.Degraded("", "a process may not start without its cloud").Times(4))
	require.NoError(t, cloud.Fail(devcluster.AllEndpoints, http.StatusServiceUnavailable))
	s.killLeader(t)
	s.await(t, "another leader", leaderLimit, func(ctx context.Context) error { return s.leadsInstead(ctx, former) })
	s.requireOneLeader(t)
	s.monitor.Expect(monitor.Uninitialized("", "a worker joins while the cloud fails"))
	began := time.Now()
	waiting, err := s.AddWorker(t.Context())
	require.NoError(t, err)
	s.await(t, "the leader to ask the cloud about the worker", briefly, func(ctx context.Context) error {
		log, err := s.leaderLog(ctx)
		if err != nil {
			return err
		}
		require.NotContains(t, log, skipped)
		return contains(log, "error syncing '"+waiting.Name()+"'")
	})
	s.figure("%s: worker started to the leader's first error about it: %s", p.platform, rounded(began))

	require.NoError(t, cloud.Fail(devcluster.AllEndpoints, 0))
	began = time.Now()
	s.await(t, "the worker to be initialized", briefly, func(ctx context.Context) error {
		object, err := s.kube.CoreV1().Nodes().Get(ctx, waiting.Name(), metav1.GetOptions{})
		if err == nil && len(object.Spec.Taints) > 0 {
			err = fmt.Errorf("it has the taints %v", object.Spec.Taints)
		}
		return err
	})
	s.figure("%s: the cloud answers again to the worker initialized: %s", p.platform, rounded(began))
	s.awaitSettled(t, 1, rolloutLimit)
}

// requireHolder returns the identity of the one process that leads.
func (s *suite) requireHolder(t *testing.T) string {
	t.Helper()
	s.requireOneLeader(t)
	_, lease, err := s.leader(t.Context())
	require.NoError(t, err)
	return *lease.Spec.HolderIdentity
}

// leaderLog returns the log of the process that leads.
func (s *suite) leaderLog(ctx context.Context) (string, error) {
	node, _, err := s.leader(ctx)
	if err != nil {
		return "", err
	}
	log, err := s.kube.CoreV1().Pods(targetNamespace).GetLogs(operand+"-"+node,
		&corev1.PodLogOptions{Container: operand}).Do(ctx).Raw()
	return string(log), err
}

// deafen makes the next leader deaf, and returns its identity. The cloud works again when it returns.
func (s *suite) deafen(t *testing.T) (identity string) {
	t.Helper()
	former := s.requireHolder(t)
	s.monitor.Expect(monitor.NewLeader("the leader is killed, the next one is deaf").Times(2),
		monitor.NewLeader("a deaf leader is replaced").Times(2))
	require.NoError(t, s.Cloud().Fail(openstack.NetworkVersions, http.StatusServiceUnavailable))
	s.killLeader(t)
	s.await(t, "a leader without the controller of nodes", leaderLimit, func(ctx context.Context) error {
		if err := s.leadsInstead(ctx, former); err != nil {
			return err
		}
		_, lease, err := s.leader(ctx)
		if err != nil {
			return err
		}
		identity = *lease.Spec.HolderIdentity
		log, err := s.leaderLog(ctx)
		if err != nil {
			return err
		}
		return contains(log, skipped)
	})
	require.NoError(t, s.Cloud().Fail(openstack.NetworkVersions, 0))
	require.NotEmpty(t, s.requireOneLeader(t), "it is healthy, and leads")
	return identity
}

// killLeader ends the process that leads.
func (s *suite) killLeader(t *testing.T) {
	t.Helper()
	leader, _, err := s.leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(s.operandOn(t, leader), syscall.SIGKILL))
}

// operandOn returns the process of the cloud-controller-manager on a node, whatever the platform.
func (s *suite) operandOn(t *testing.T, node string) (pid int) {
	t.Helper()
	pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(t.Context(), operand+"-"+node, metav1.GetOptions{})
	require.NoError(t, err)
	pids := s.processesOn(t, node, pod.Spec.Containers[0].Command[0], "")
	require.Len(t, pids, 1)
	return pids[0]
}

// waitFor lets a node wait for the deaf leader, and requires that this keeps the lease.
func (s *suite) waitFor(t *testing.T, deaf string) (waiting *node.Node, began time.Time) {
	t.Helper()
	leader, lease, err := s.leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, deaf, *lease.Spec.HolderIdentity)
	waiting = s.follower(t, leader)
	s.monitor.Expect(monitor.Uninitialized(waiting.Name(), "it waits for the deaf leader"))
	s.taintUninitialized(t, waiting)
	return waiting, time.Now()
}

// awaitDeaf waits for the notice about the deaf leader.
func (s *suite) awaitDeaf(t *testing.T, reason string, waiting *node.Node) {
	t.Helper()
	s.await(t, "DeafLeaderNotices", namedLimit, func(ctx context.Context) error {
		condition, err := s.deafCondition(ctx)
		if err != nil {
			return err
		}
		if condition.Status != operatorv1.ConditionTrue || condition.Reason != reason {
			return fmt.Errorf("it is %s, %s: %s", condition.Status, condition.Reason, condition.Message)
		}
		return contains(condition.Message, "looks at no node, while node/"+waiting.Name()+" waits")
	})
}

func (s *suite) deafCondition(ctx context.Context) (operatorv1.OperatorCondition, error) {
	resource, err := s.resource(ctx)
	if err != nil {
		return operatorv1.OperatorCondition{}, err
	}
	for _, condition := range resource.Status.Conditions {
		if condition.Type == "DeafLeaderNotices" {
			return condition, nil
		}
	}
	return operatorv1.OperatorCondition{}, errors.New("there is no such condition")
}

// leadsInstead returns nil if another process holds the lease.
func (s *suite) leadsInstead(ctx context.Context, former string) error {
	_, lease, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if holder := *lease.Spec.HolderIdentity; holder == "" || holder == former {
		return fmt.Errorf("the holder is %q", holder)
	}
	return nil
}
