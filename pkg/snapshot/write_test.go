package snapshot

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOnlyAPrivateDirectoryIsWrittenTo(t *testing.T) {
	for name, tc := range map[string]struct {
		mode    fs.FileMode
		foreign bool
		want    string
	}{
		"of the user":          {mode: 0o700},
		"readable for all":     {mode: 0o755},
		"writable for a group": {mode: 0o770, want: "its mode is 0770: others could replace what is written; run chmod go-w"},
		"writable for all":     {mode: 0o777, want: "its mode is 0777: others could replace what is written; run chmod go-w"},
		"writable and sticky":  {mode: 0o777 | fs.ModeSticky, want: "its mode is 0777: others could replace what is written; run chmod go-w"},
		"of another user": {
			mode: 0o700, foreign: true,
			want: "it belongs to another user, who could replace what is written; name a directory that does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, tc.mode))
			info, err := os.Stat(dir)
			require.NoError(t, err)
			user := os.Geteuid()
			if tc.foreign {
				user++
			}
			err = checkPrivate(info, user)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := (&Snapshot{}).Write(dir, "v1")
	require.EqualError(t, err, dir+" is not safe: its mode is 0777: others could replace what is written; run chmod go-w")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestOfTheCopiesOfAnObjectTheFirstIsKept(t *testing.T) {
	event := func(name, message string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Event", "message": message, "metadata": map[string]any{"namespace": "a", "name": name},
		}}
	}
	s := &Snapshot{objects: []*unstructured.Unstructured{
		event("b", "1"), event("a", "2"), event("b", "3"), event("a", "4"),
	}}
	s.sort()
	require.Equal(t, []*unstructured.Unstructured{event("a", "2"), event("b", "1")}, s.objects)
}

func TestNoObjectIsWithoutAName(t *testing.T) {
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "m0"},
	}}
	s := &Snapshot{objects: []*unstructured.Unstructured{node}}
	require.NotNil(t, Get[corev1.Node](s, "", "m0"))
	require.Nil(t, Get[corev1.Node](s, "", ""), "explain node ''")
	require.Len(t, List[corev1.Node](s, ""), 1)
}

// Another user of the machine may create these between two files, or a process of the same user.
func TestAWriterFollowsNoLink(t *testing.T) {
	parent := t.TempDir()
	inside, outside := filepath.Join(parent, "inside"), filepath.Join(parent, "outside")
	require.NoError(t, os.Mkdir(inside, 0o700))
	require.NoError(t, os.Mkdir(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "file"), []byte("a"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(inside, "directory")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(inside, "new")))
	require.NoError(t, os.Symlink("file", filepath.Join(inside, "local")))
	root, err := os.OpenRoot(inside)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	for path, want := range map[string]string{
		"a/b/c":          "",
		"file":           "creating a file: openat file: file exists",
		"local":          "creating a file: openat local: file exists",
		"new":            "creating a file: openat new: file exists",
		"directory/file": "creating a directory: mkdirat directory: statat directory: path escapes from parent",
		"../outside/b":   `"../outside/b" is no file below the directory`,
	} {
		err := write(root, path, []byte("b"))
		if want == "" {
			require.NoError(t, err, path)
			continue
		}
		require.EqualError(t, err, want, path)
	}
	data, err := os.ReadFile(filepath.Join(inside, "file"))
	require.NoError(t, err)
	require.Equal(t, "a", string(data))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}
