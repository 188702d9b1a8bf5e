package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

const nodeFilesRepaired = "NodeFilesRepaired"

// testEditedManifest edits the static pod's manifest on a node that does not lead.
func (s *suite) testEditedManifest(t *testing.T) {
	s.testRepair(t, "manifest", func(t *testing.T, _ *node.Node, manifest string) (repaired func() error) {
		sound, err := os.ReadFile(manifest)
		require.NoError(t, err)
		edited := bytes.Replace(sound, []byte("--v=2"), []byte("--v=3"), 1)
		require.NotEqual(t, sound, edited)
		require.NoError(t, os.WriteFile(manifest, edited, 0o600))
		return func() error { return requireContent(manifest, sound) }
	})
}

// testRepair damages files on a node that does not lead, and waits until the operator has installed the revision there
// again, with an event that says why.
func (s *suite) testRepair(t *testing.T, why string, damage func(t *testing.T, n *node.Node, manifest string) (repaired func() error)) {
	t.Helper()
	leader, revision := s.requireOneLeader(t), s.revision(t)
	n := s.follower(t, leader)
	before := s.messages(t, nodeFilesRepaired)
	began := time.Now()
	repaired := damage(t, n, filepath.Join(n.Root(), "etc/kubernetes/manifests/cloud-controller-manager-pod.yaml"))
	s.await(t, "the files to be repaired", repairLimit, func(context.Context) error { return repaired() })
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly))
	took := rounded(began)
	require.Equal(t, leader, s.requireOneLeader(t))
	after := s.messages(t, nodeFilesRepaired)
	require.Len(t, after, len(before)+1)
	require.Contains(t, after[len(before)], "node/"+n.Name())
	require.Contains(t, after[len(before)], why)
	s.figure("damaged files of a node to repaired: %s: %s", took, after[len(before)])
}

// messages returns the messages of the operator's events with this reason, the oldest first.
func (s *suite) messages(t *testing.T, reason string) []string {
	t.Helper()
	events, err := s.kube.CoreV1().Events(operatorNamespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(t, err)
	var messages []string
	for _, event := range events.Items {
		messages = append(messages, event.Message)
	}
	return messages
}

func requireContent(file string, want []byte) error {
	found, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(found, want) {
		err = errors.New("it has another content")
	}
	return err
}
