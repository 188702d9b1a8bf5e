package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/monitor"
)

const manifestPath = "etc/kubernetes/manifests/cloud-controller-manager-pod.yaml"

// nodeStory is a cluster whose machines come and go. The processes themselves report whether they lead.
type nodeStory struct {
	*suite
	// test outlives the steps.
	test  *testing.T
	leads *leaders
}

func TestNodesComeAndGo(t *testing.T) {
	if os.Getenv("E2E_LONG") == "" {
		t.Skip("E2E_LONG is not set: this takes a quarter of an hour")
	}
	s := &nodeStory{test: t, suite: startSuite(t, devcluster.Options{
		Name: "e2e", Platform: configv1.OpenStackPlatformType, Nodes: nodes, Progress: os.Stderr,
	}, monitor.Rollout("the first revision"))}
	s.awaitSettled(t, 1, rolloutLimit)
	s.requireOneLeader(t)
	s.leads = s.watchLeaders(t)
	s.runSteps(t, []step{
		{"two nodes join", s.testJoin},
		{"a key reaches five nodes", s.testRolloutOnFive},
		{"two nodes leave", s.testLeave},
		{"a machine is replaced by one with another name", s.testReplacedByAnother},
		{"a machine is replaced under its name", s.testReplaced},
		{"a machine is replaced under its name and Node", s.testReplacedUnderItsNode},
		{"the leader's node loses its role for a while", s.testRole},
	})
	require.Empty(t, s.leads.doubles(), "two processes led")
}

// add starts a further node.
func (s *nodeStory) add(t *testing.T) *node.Node {
	t.Helper()
	added, err := s.AddNode(t.Context())
	require.NoError(t, err)
	s.watchLeader(s.test, s.leads, added)
	return added
}

func (s *nodeStory) testJoin(t *testing.T) {
	revision := s.revision(t)
	began := time.Now()
	added := []*node.Node{s.add(t), s.add(t)}
	s.size = 5
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("two machines started to clean on five nodes: %s", rounded(began))
	for _, n := range added {
		s.await(t, n.Name()+" to be initialized", briefly,
			func(ctx context.Context) error { return s.initialized(ctx, n) })
	}
}

func (s *nodeStory) testRolloutOnFive(t *testing.T) {
	revision := s.revision(t)
	s.expectRollout("a key of the cloud configuration is changed")
	began := s.setCloudConfig(t, s.cloudConfig(t)+"max-shared-lb = 3\n")
	require.Equal(t, revision+1, s.awaitSettled(t, revision+1, rolloutLimit))
	s.figure("change of a cloud configuration key to five nodes at the new revision: %s", rounded(began))
	s.requireOneLeader(t)
}

// testLeave removes nodes as an administrator does: cordon, end the machine, delete the Node.
func (s *nodeStory) testLeave(t *testing.T) {
	revision := s.revision(t)
	leader := s.requireOneLeader(t)
	for range 2 {
		leaving := s.follower(t, leader).Name()
		_, err := s.kube.CoreV1().Nodes().Patch(t.Context(), leaving, types.MergePatchType,
			[]byte(`{"spec": {"unschedulable": true}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		s.await(t, leaving+" to be cordoned", briefly, func(ctx context.Context) error {
			object, err := s.kube.CoreV1().Nodes().Get(ctx, leaving, metav1.GetOptions{})
			if err == nil && !object.Spec.Unschedulable {
				err = errors.New("it is schedulable")
			}
			return err
		})
		s.monitor.Expect(monitor.NodeDeleted(leaving, "its machine is gone"))
		require.NoError(t, s.RemoveNode(t.Context(), leaving))
		s.deleteNode(t, leaving)
	}
	s.size = 3
	began := time.Now()
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("two Nodes deleted to clean on three nodes: %s", rounded(began))
	s.requireStays(t)
	require.Equal(t, leader, s.requireOneLeader(t))
}

// deleteNode deletes a Node unless the cloud-controller-manager did, because its instance is gone.
func (s *nodeStory) deleteNode(t *testing.T, name string) {
	t.Helper()
	err := s.kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		require.ErrorContains(t, err, "not found")
	}
}

// requireStays requires that the cluster stays clean for longer than the inertia of a condition.
func (s *nodeStory) requireStays(t *testing.T) {
	t.Helper()
	const inertia = 2*time.Minute + 10*time.Second
	began := time.Now()
	s.await(t, "the inertia of a condition to pass", 2*inertia, func(ctx context.Context) error {
		require.NoError(t, s.clean(ctx))
		if passed := time.Since(began); passed < inertia {
			return fmt.Errorf("%s have passed", passed)
		}
		return nil
	})
}

func (s *nodeStory) testReplacedByAnother(t *testing.T) {
	revision := s.revision(t)
	lost := s.follower(t, s.requireOneLeader(t)).Name()
	s.monitor.Expect(monitor.NodeDeleted(lost, "its machine is gone"))
	began := time.Now()
	require.NoError(t, s.RemoveNode(t.Context(), lost))
	s.deleteNode(t, lost)
	added := s.add(t)
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	require.FileExists(t, filepath.Join(added.Root(), manifestPath))
	s.figure("machine replaced by one with another name to clean: %s", rounded(began))
}

func (s *nodeStory) testReplaced(t *testing.T) {
	lost := s.follower(t, s.requireOneLeader(t)).Name()
	s.monitor.Expect(monitor.NodeDeleted(lost, "its machine is replaced"),
		monitor.Uninitialized(lost, "another machine registers with its name"))
	s.replace(t, lost, "Node deleted", func() { s.deleteNode(t, lost) })
}

func (s *nodeStory) testReplacedUnderItsNode(t *testing.T) {
	lost := s.follower(t, s.requireOneLeader(t)).Name()
	s.replace(t, lost, "Node kept", func() {})
}

// replace starts another machine with the name of a node and an empty disk.
func (s *nodeStory) replace(t *testing.T, name, how string, between func()) {
	t.Helper()
	revision, formerPod := s.revision(t), s.mirrorPodUID(t, name)
	_, err := s.ReplaceNode(t.Context(), name, func() error { between(); return nil })
	require.NoError(t, err)
	began := time.Now()
	s.await(t, "another static pod on "+name, rolloutLimit, func(context.Context) error {
		if _, err := os.Stat(filepath.Join(s.Node(name).Root(), manifestPath)); err != nil {
			return err
		}
		if uid := s.mirrorPodUID(t, name); uid == "" || uid == formerPod {
			return fmt.Errorf("the mirror pod is %q", uid)
		}
		return nil
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("machine replaced under its name, %s, kubelet started to clean: %s", how, rounded(began))
}

// mirrorPodUID returns the UID of the node's mirror pod, "" if there is none.
func (s *suite) mirrorPodUID(t *testing.T, name string) types.UID {
	t.Helper()
	list, err := s.kube.CoreV1().Pods(targetNamespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app=" + operand, FieldSelector: "spec.nodeName=" + name,
	})
	require.NoError(t, err)
	for _, pod := range list.Items {
		return pod.UID
	}
	return ""
}

// testRole needs a condition's inertia to pass. The leader goes on.
func (s *nodeStory) testRole(t *testing.T) {
	revision, containers := s.revision(t), s.operands.containers()
	leader := s.requireOneLeader(t)
	s.monitor.Expect(monitor.Degraded("node/"+leader+" lost the label", "the label is removed for a while"))
	require.NoError(t, s.SetRole(t.Context(), leader, false))
	s.awaitDegraded(t, giveUpLimit, "node/"+leader+" lost the label", manifestPath)
	require.Equal(t, leader, s.requireOneLeader(t))

	began := time.Now()
	require.NoError(t, s.SetRole(t.Context(), leader, true))
	require.Equal(t, revision, s.awaitSettled(t, revision, rolloutLimit))
	s.figure("role set again to clean: %s", rounded(began))
	require.Equal(t, containers, s.operands.containers(), "no container was restarted")
}
