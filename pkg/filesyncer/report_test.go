package filesyncer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
)

var revision = nodefiles.Files{"secrets/cloud-config/cloud.conf": []byte("[Global]")}

// newReporting returns a node with an installed revision and the ConfigMap for its report.
func newReporting(t *testing.T) *node {
	t.Helper()
	other := newObject("ConfigMap", "node-files", "1", map[string]any{"master-1": "{}"})
	n := newNode(t, 100*time.Millisecond, clientCA(), token("1", "first"), other)
	n.prime(t)
	n.RevisionDirectory, n.Manifest = filepath.Join(t.TempDir(), "pod-7"), filepath.Join(t.TempDir(), "pod.yaml")
	_, err := nodefiles.ReplaceDirectory(n.RevisionDirectory, revision)
	require.NoError(t, err)
	require.NoError(t, nodefiles.ReplaceFile(n.Manifest, []byte("kind: Pod")))
	return n
}

func (n *node) awaitReport(t *testing.T, want Report) {
	t.Helper()
	var last Report
	require.Eventually(t, func() bool {
		stored, err := n.client.Resource(resourceOf(configMaps)).Namespace(namespace).Get(t.Context(), ReportConfigMap, metav1.GetOptions{})
		require.NoError(t, err)
		data, _, err := unstructured.NestedStringMap(stored.Object, "data")
		require.NoError(t, err)
		require.Equal(t, "{}", data["master-1"], "another node's report stays")
		return json.Unmarshal([]byte(data["master-0"]), &last) == nil && last == want
	}, 30*time.Second, 5*time.Millisecond, "the report is %v", &last)
}

func TestTheFilesOfTheInstallerAreReported(t *testing.T) {
	n := newReporting(t)
	n.start(t)
	sound := Report{
		Directory: nodefiles.Digest(revision),
		Manifest:  nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Pod")}),
	}
	n.awaitReport(t, sound)

	require.NoError(t, os.WriteFile(n.Manifest, []byte("kind: Edited"), 0o600))
	n.awaitReport(t, Report{sound.Directory, nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Edited")})})
	require.NoError(t, os.Remove(n.Manifest))
	require.NoError(t, os.RemoveAll(n.RevisionDirectory))
	n.awaitReport(t, Report{})
	require.NoDirExists(t, n.RevisionDirectory, "it is reported, not repaired")
	require.Empty(t, n.events(t))
}

func TestAnUnchangedReportIsWrittenOnce(t *testing.T) {
	n := newReporting(t)
	n.start(t)
	n.awaitReport(t, Report{
		Directory: nodefiles.Digest(revision),
		Manifest:  nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Pod")}),
	})
	patches := func() (count int) {
		for _, action := range n.client.Actions() {
			if action.GetVerb() == "patch" {
				count++
			}
		}
		return count
	}
	require.Never(t, func() bool { return patches() > 2 }, time.Second, 50*time.Millisecond, "the first may be repeated until the cache has it")
}
