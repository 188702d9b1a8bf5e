package filesyncer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

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
		last = Report{}
		if json.Unmarshal([]byte(data["master-0"]), &last) != nil || last.At.IsZero() {
			return false
		}
		last.At = want.At
		return last == want
	}, time.Minute, 5*time.Millisecond, "the report is %v", &last)
}

func TestWhatCannotBeReadIsReportedAsMissing(t *testing.T) {
	n := newReporting(t)
	parent := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(parent, nil, 0o600))
	n.Manifest = filepath.Join(parent, "pod.yaml")
	n.start(t)
	n.awaitReport(t, Report{Directory: nodefiles.Digest(revision)})
}

func TestTheReportNamesTheLastCause(t *testing.T) {
	n := newReporting(t)
	require.NoError(t, os.RemoveAll(n.path("secrets")))
	require.NoError(t, os.WriteFile(n.path("secrets"), nil, 0o600)) // the second fault
	asked := 0
	n.client.PrependReactor("get", secrets, func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return asked == 1, nil, errors.New("connection refused") // the first fault
	})
	n.start(t)
	staging := n.path("secrets/.kube-token.new")
	n.awaitReport(t, Report{
		Directory: nodefiles.Digest(revision), Manifest: nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Pod")}),
		NotWritten: "secret/kube-token: removing " + staging + ": unlinkat " + staging + ": not a directory",
	})
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
	n.awaitReport(t, Report{Directory: sound.Directory, Manifest: nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Edited")})})
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

// The report does not wait for the next comparison.
func TestWhatCannotBeWrittenIsReported(t *testing.T) {
	n := newReporting(t)
	n.RepairPeriod = time.Hour
	unlock, err := nodefiles.LockDirectory(t.Context(), n.Directory)
	require.NoError(t, err)
	unlock()
	require.NoError(t, os.RemoveAll(n.path("secrets")))
	require.NoError(t, os.WriteFile(n.path("secrets"), nil, 0o600))
	n.start(t)
	sound := Report{
		Directory: nodefiles.Digest(revision),
		Manifest:  nodefiles.Digest(nodefiles.Files{"pod.yaml": []byte("kind: Pod")}),
	}
	failing := sound
	failing.NotWritten = "secret/kube-token: removing " + n.path("secrets/.kube-token.new") + ": unlinkat " +
		n.path("secrets/.kube-token.new") + ": not a directory"
	n.awaitReport(t, failing)
	require.NoError(t, os.Remove(n.path("secrets")))
	n.awaitReport(t, sound)
}

func TestAnUnchangedReportIsRepeated(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		stored string
		want   bool
	}{
		"the same, just now":              {`{"directory": "d", "manifest": "m", "at": "2026-11-22T08:55:01Z"}`, true},
		"the same, five minutes ago":      {`{"directory": "d", "manifest": "m", "at": "2026-11-22T08:55:00Z"}`, false},
		"the same, from the future":       {`{"directory": "d", "manifest": "m", "at": "2026-11-22T09:00:01Z"}`, false},
		"another one, just now":           {`{"directory": "d", "manifest": "", "at": "2026-11-22T09:00:00Z"}`, false},
		"none":                            {"", false},
		"one that is not a file-syncer's": {"?", false},
	} {
		t.Run(name, func(t *testing.T) {
			stored := newObject("ConfigMap", "node-files", "1", map[string]any{"master-0": tc.stored})
			s := &syncer{Options: Options{StaticPod: StaticPod{Node: "master-0"}}}
			require.Equal(t, tc.want, s.isCurrent(stored, Report{Directory: "d", Manifest: "m", At: now}))
		})
	}
}
