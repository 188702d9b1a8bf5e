package snapshot_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

const (
	index = "objects: [node.yaml]\nlog: ccm.log\nlogPod: ccm\n"
	node  = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
	pod   = "namespaces/openshift-cloud-controller-manager/pods/ccm"
)

// leader chooses the pod of these tests.
func leader(*snapshot.Snapshot) string { return "ccm" }

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

// sparse creates a file of 4 GiB that occupies no disk.
func sparse(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 4<<30))
}

func TestADirectoryWithAFileThatNeverEndsIsRejected(t *testing.T) {
	dump := map[string]string{"index.yaml": index, "node.yaml": node, "ccm.log": "I1121"}
	gathered := map[string]string{
		"namespaces/openshift-cloud-controller-manager/core/pods.yaml": "kind: EventList\napiVersion: v1\nitems: []\n",
		"timestamp":       "",
		pod + "/ccm.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: ccm}\n",
	}
	logFile := filepath.Join(pod, operand.Name, operand.Name, "logs", "current.log")
	for name, tc := range map[string]struct {
		files map[string]string
		make  func(*testing.T, string)
		at    string
		want  string // empty if the directory is read without the file
	}{
		"the index of a dump is a pipe": {
			dump, pipe, "index.yaml",
			"DIR was neither written by dump nor by oc adm must-gather: read index.yaml: it is a named pipe; give a regular file",
		},
		"the index of a dump is huge": {
			dump, sparse, "index.yaml",
			"DIR was neither written by dump nor by oc adm must-gather: read index.yaml: it is larger than 67108864 bytes",
		},
		"an object of a dump is a pipe": {
			dump, pipe, "node.yaml",
			"reading what the index has: read node.yaml: it is a named pipe; give a regular file",
		},
		"an object of a dump is huge": {
			dump, sparse, "node.yaml", "reading what the index has: read node.yaml: it is larger than 67108864 bytes",
		},
		"the log of a dump is a pipe": {
			dump, pipe, "ccm.log", "reading what the index has: read ccm.log: it is a named pipe; give a regular file",
		},
		"the log of a dump is huge": {
			dump, sparse, "ccm.log", "reading what the index has: read ccm.log: it is larger than 67108864 bytes",
		},
		"a list of a must-gather is a pipe": {
			gathered, pipe, "namespaces/openshift-cloud-controller-manager/core/pods.yaml",
			"reading the must-gather: read namespaces/openshift-cloud-controller-manager/core/pods.yaml: it is a named pipe; give a regular file",
		},
		"a list of a must-gather is huge": {
			gathered, sparse, "namespaces/openshift-cloud-controller-manager/core/pods.yaml",
			"reading the must-gather: read namespaces/openshift-cloud-controller-manager/core/pods.yaml: it is larger than 67108864 bytes",
		},
		"a directory of a must-gather is a pipe": {gathered, pipe, "namespaces/openshift-cloud-controller-manager/core/pods", ""},
		"the time of a must-gather is a pipe":    {gathered, pipe, "timestamp", ""},
		"the log of a must-gather is a pipe": {
			gathered, pipe, logFile,
			"reading the must-gather: read " + logFile + ": it is a named pipe; give a regular file",
		},
		"the log of a must-gather is huge": {gathered, sparse, logFile, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				if file != tc.at {
					require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
					require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
				}
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, tc.at)), 0o700))
			tc.make(t, filepath.Join(dir, tc.at))
			t.Chdir(filepath.Dir(dir))
			require.NoError(t, os.Symlink(dir, "DIR"))
			defer func() { require.NoError(t, os.Remove("DIR")) }()
			_, err := snapshot.ReadDirectory("DIR", leader)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestAnEmptyFileIsNoMissingObject(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"of a dump": {
			map[string]string{"index.yaml": "objects: [node.yaml]\n", "node.yaml": ""},
			"node.yaml in DIR is not an object in YAML: it was edited or cut, dump again",
		},
		"the index": {
			map[string]string{"index.yaml": ""}, "index.yaml in DIR is not what dump writes: it was edited or cut, dump again",
		},
		"of a must-gather": {
			map[string]string{"cluster-scoped-resources/core/nodes/a.yaml": "---\n"},
			"cluster-scoped-resources/core/nodes/a.yaml is not an object in YAML: the file may be cut, gather again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range tc.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join("DIR", file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join("DIR", file), []byte(text), 0o600))
			}
			_, err := snapshot.ReadDirectory("DIR", nil)
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestADirectoryThatIsNoneIsRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	pipe(t, "pipe")
	sparse(t, "sparse")
	for dir, want := range map[string]string{
		"pipe":      "opening the directory: open pipe: not a directory",
		"sparse":    "opening the directory: open sparse: not a directory",
		"/dev/zero": "opening the directory: open /dev/zero: not a directory",
		"gone":      "opening the directory: open gone: no such file or directory",
	} {
		_, err := snapshot.ReadDirectory(dir, nil)
		require.EqualError(t, err, want)
	}
}
