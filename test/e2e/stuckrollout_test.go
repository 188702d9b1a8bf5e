package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

// passLimit exceeds the node controller's grace period, 40 seconds, the three minutes that a rollout waits for the lead
// to move to its first node, and the time to install two nodes.
const passLimit = 5 * time.Minute

const progressing = "NodeInstallerProgressing"

// A rollout goes on without a node that cannot be installed, and holds up no repair.
func TestRolloutsWithoutANode(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes ten minutes")
	}
	s := startSuite(t, devcluster.Options{
		Name: "e2e-rollouts", Platform: configv1.OpenStackPlatformType, Nodes: nodes, QuickRestarts: true,
		Progress: os.Stderr,
	}, monitor.Rollout("the first revision"), monitor.NewLeader("the first leader"))
	s.awaitSettled(t, 1, rolloutLimit)
	s.runSteps(t, []step{
		{"the kubelet of the leader's node hangs before a change", s.testHungLeadersKubelet},
		{"a machine dies while it is being installed", s.testDeadMachine},
		{"the manifest of a node is deleted while another one is stuck", s.testRepairBesideAStuckNode},
	})
}

func (s *suite) testHungLeadersKubelet(t *testing.T) {
	leader := s.requireOneLeader(t)
	revision := s.revision(t) + 1
	s.expectRollout("a change while the kubelet of the leader's node hangs")
	s.signalKubelet(t, s.Node(leader), syscall.SIGSTOP)
	began := s.setSharedBalancers(t, "max-shared-lb = 2")
	s.awaitOthers(t, leader, revision)
	s.figure("change while the leader's kubelet hangs to the other nodes at the revision: %s", rounded(began))
	s.awaitCondition(t, progressing, operatorv1.ConditionTrue, namedLimit,
		fmt.Sprintf("revision %d is not on node/%s: its kubelet is silent", revision, leader))
	s.figure("change to Progressing naming the silent node: %s", rounded(began))
	require.Equal(t, leader, s.requireOneLeader(t), "its process runs on, and leads")
	s.signalKubelet(t, s.Node(leader), syscall.SIGCONT)
	began = time.Now()
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("return of the leader's kubelet to clean: %s", rounded(began))
	s.requireOneLeader(t)
	s.figure("return of the leader's kubelet to one leader: %s", rounded(began))
}

func (s *suite) testDeadMachine(t *testing.T) {
	leader := s.requireOneLeader(t)
	dying := s.follower(t, leader)
	revision := s.revision(t) + 1
	s.expectRollout("a change in which a machine dies")
	s.monitor.Expect(monitor.Degraded("", "a control-plane node is away for longer than a reboot takes"))
	s.setSharedBalancers(t, "max-shared-lb = 3")
	s.awaitTarget(t, dying, revision)
	began := time.Now()
	require.NoError(t, dying.Kill())
	s.awaitOthers(t, dying.Name(), revision)
	s.figure("death of a machine in its installation to the other nodes at the revision: %s", rounded(began))
	s.awaitCondition(t, progressing, operatorv1.ConditionTrue, namedLimit,
		fmt.Sprintf("revision %d is not on node/%s: its kubelet is silent", revision, dying.Name()))
	began = time.Now()
	require.NoError(t, dying.Restart(t.Context()))
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("return of the machine to clean: %s", rounded(began))
	s.requireOneLeader(t)
}

func (s *suite) testRepairBesideAStuckNode(t *testing.T) {
	leader := s.requireOneLeader(t)
	stuck := s.follower(t, leader)
	var other *node.Node
	for _, n := range s.ControlPlane() {
		if n.Name() != leader && n.Name() != stuck.Name() {
			other = n
		}
	}
	containerd, err := exec.LookPath("containerd")
	require.NoError(t, err)
	pids := s.processesOn(t, stuck.Name(), containerd, "")
	require.NotEmpty(t, pids)
	signal := func(signal syscall.Signal) {
		for _, pid := range pids {
			require.NoError(t, syscall.Kill(pid, signal))
		}
	}
	revision := s.revision(t) + 1
	s.expectRollout("a change that is stuck on a node")
	s.monitor.Expect(monitor.Degraded("", "a container runtime does not start an installer"))
	s.setSharedBalancers(t, "max-shared-lb = 4")
	s.awaitTarget(t, stuck, revision)
	signal(syscall.SIGSTOP)
	began := time.Now()
	require.NoError(t, os.Remove(filepath.Join(other.Root(), manifestPath)))
	s.await(t, "the event NodeFilesRepaired", visibleLimit, func(ctx context.Context) error {
		list, err := s.kube.CoreV1().Events(operatorNamespace).List(
			ctx, metav1.ListOptions{FieldSelector: "reason=" + nodeFilesRepaired},
		)
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if strings.Contains(event.Message, "node/"+other.Name()) {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(list.Items))
	})
	s.figure("manifest deleted beside a stuck node to the event: %s", rounded(began))
	s.await(t, "the static pod of "+other.Name(), briefly, func(ctx context.Context) error {
		return s.podReady(ctx, operand+"-"+other.Name())
	})
	s.figure("manifest deleted beside a stuck node to a Ready CCM there: %s", rounded(began))
	signal(syscall.SIGCONT)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.requireOneLeader(t)
}

// setSharedBalancers changes one line of the cloud configuration and returns when it did.
func (s *suite) setSharedBalancers(t *testing.T, line string) time.Time {
	t.Helper()
	text, _, _ := strings.Cut(s.cloudConfig(t), "max-shared-lb")
	return s.setCloudConfig(t, text+line+"\n")
}

// awaitTarget waits until a revision is being installed on a node.
func (s *suite) awaitTarget(t *testing.T, n *node.Node, revision int32) {
	t.Helper()
	s.await(t, fmt.Sprintf("revision %d to be installed on "+
		"%s", revision, n.Name()), briefly, func(ctx context.Context) error {
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		for _, status := range resource.Status.NodeStatuses {
			if status.NodeName == n.Name() && status.TargetRevision == revision {
				return nil
			}
		}
		return fmt.Errorf("the status is %+v", resource.Status.NodeStatuses)
	})
}

// awaitOthers waits until every node but one has a revision.
func (s *suite) awaitOthers(t *testing.T, but string, revision int32) {
	t.Helper()
	s.await(t, fmt.Sprintf("revision %d on every node but %s", revision, but), passLimit, func(ctx context.Context) error {
		resource, err := s.resource(ctx)
		if err != nil {
			return err
		}
		for _, status := range resource.Status.NodeStatuses {
			if (status.CurrentRevision == revision) == (status.NodeName == but) {
				return fmt.Errorf("the status is %+v", resource.Status.NodeStatuses)
			}
		}
		return nil
	})
}

// podReady returns nil if a pod of the operand's namespace is Ready.
func (s *suite) podReady(ctx context.Context, name string) error {
	pod, err := s.kube.CoreV1().Pods(targetNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return nil
		}
	}
	return fmt.Errorf("pod/%s is not Ready", name)
}
