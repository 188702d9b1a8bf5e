package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// manifestPath is the path of the static pod's manifest on a node.
const manifestPath = "etc/kubernetes/manifests/cloud-controller-manager-pod.yaml"

// testTamperedNodes changes what the installer wrote to two nodes that do not lead. The operator installs the revision
// on them again, on one after the other.
func (s *suite) testTamperedNodes(t *testing.T) {
	leader, revision := s.requireOneLeader(t), s.revision(t)
	var others []*node.Node
	for _, n := range s.Nodes() {
		if n.Name() != leader {
			others = append(others, n)
		}
	}
	require.Len(t, others, nodes-1)
	manifest := func(n *node.Node) string {
		return filepath.Join(n.Root(), manifestPath)
	}
	sound, err := os.ReadFile(manifest(others[0]))
	require.NoError(t, err)
	edited := bytes.Replace(sound, []byte("--v=2"), []byte("--v=3"), 1)
	require.NotEqual(t, sound, edited)
	directory := filepath.Join(others[1].Root(), fmt.Sprintf("etc/kubernetes/static-pod-resources/cloud-controller-manager-pod-%d", revision))

	began := time.Now()
	require.NoError(t, os.WriteFile(manifest(others[0]), edited, 0o600))
	require.NoError(t, os.RemoveAll(directory))
	s.await(t, "the manifest and the directory to be repaired", briefly, func(context.Context) error {
		found, err := os.ReadFile(manifest(others[0]))
		if err == nil && !bytes.Equal(found, sound) {
			err = errors.New("the manifest is the edited one")
		}
		_, missing := os.Stat(filepath.Join(directory, "secrets/cloud-config/cloud.conf"))
		return errors.Join(err, missing)
	})
	s.awaitSettled(t, revision, briefly)
	s.figure("a manifest edited and a revision's directory deleted, to both nodes repaired: %s", rounded(began))

	require.Equal(t, leader, s.requireOneLeader(t))
	require.Equal(t, revision, s.revision(t))
	events, err := s.kube.CoreV1().Events("openshift-cloud-controller-manager-operator").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NodeFilesRepaired"})
	require.NoError(t, err)
	count := int32(0)
	for _, event := range events.Items {
		count += max(event.Count, 1)
	}
	require.EqualValues(t, 2, count, "%v", events.Items)
}

// testDeletedManifest deletes a manifest, and with it the file-syncer that would report that.
func (s *suite) testDeletedManifest(t *testing.T) {
	leader, revision := s.requireOneLeader(t), s.revision(t)
	n := s.follower(t, leader)
	manifest := filepath.Join(n.Root(), manifestPath)
	sound, err := os.ReadFile(manifest)
	require.NoError(t, err)
	require.NoError(t, os.Remove(manifest))
	began := time.Now()
	s.await(t, "the deleted manifest to be written again", briefly, func(context.Context) error {
		found, err := os.ReadFile(manifest)
		if err == nil && !bytes.Equal(found, sound) {
			err = errors.New("the manifest is another one")
		}
		return err
	})
	require.Equal(t, revision, s.awaitSettled(t, revision, briefly))
	s.figure("a manifest deleted to the node repaired: %s", rounded(began))
	require.Equal(t, leader, s.requireOneLeader(t))
}
