package node_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// readTar returns the contents of a tar's files, and the names of its entries with their modes in order.
func readTar(t *testing.T, content []byte) (files map[string][]byte, entries []string) {
	t.Helper()
	files = map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, entries
		}
		require.NoError(t, err)
		require.True(t, header.ModTime.IsZero() || header.ModTime.Unix() == 0, header.Name)
		files[header.Name], err = io.ReadAll(reader)
		require.NoError(t, err)
		entries = append(entries, fs.FileMode(header.Mode).String()+" "+header.Name)
	}
}

func TestWriteImage(t *testing.T) {
	folder := t.TempDir()
	program, data := filepath.Join(folder, "program"), filepath.Join(folder, "data")
	require.NoError(t, os.WriteFile(program, []byte("program"), 0o700))
	require.NoError(t, os.WriteFile(data, []byte("data"), 0o600))
	spec := node.ImageSpec{
		Ref:        "localhost/devcluster/image:dev",
		Files:      map[string]string{"/usr/bin/program": program, "/usr/share/data": data, "/a": data},
		Entrypoint: []string{"/usr/bin/program", "run"},
		Env:        []string{"A=B"},
		WorkingDir: "/tmp",
	}
	first, second := filepath.Join(folder, "1.tar"), filepath.Join(folder, "2.tar")
	require.NoError(t, node.WriteImage(first, spec))
	require.NoError(t, node.WriteImage(second, spec))
	content, err := os.ReadFile(first)
	require.NoError(t, err)
	again, err := os.ReadFile(second)
	require.NoError(t, err)
	require.Equal(t, content, again)

	files, _ := readTar(t, content)
	require.Len(t, files, 3)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	require.NoError(t, json.Unmarshal(files["manifest.json"], &manifest))
	require.Len(t, manifest, 1)
	require.Equal(t, []string{"localhost/devcluster/image:dev"}, manifest[0].RepoTags)
	require.Len(t, manifest[0].Layers, 1)
	digest := filepath.Dir(manifest[0].Layers[0])
	require.Equal(t,
		`{"architecture":"`+runtime.GOARCH+`","os":"linux","config":{"Entrypoint":["/usr/bin/program","run"],`+
			`"Env":["A=B"],"WorkingDir":"/tmp"},"rootfs":{"type":"layers","diff_ids":["sha256:`+digest+`"]}}`,
		string(files[manifest[0].Config]))

	inside, entries := readTar(t, files[manifest[0].Layers[0]])
	require.Equal(t, []string{
		"-rwxrwxrwx tmp/", "-rw-r--r-- a", "-rwxr-xr-x usr/", "-rwxr-xr-x usr/bin/", "-rwxr-xr-x usr/bin/program",
		"-rwxr-xr-x usr/share/", "-rw-r--r-- usr/share/data",
	}, entries)
	require.Equal(t, "program", string(inside["usr/bin/program"]))
}

func TestWriteImageRejects(t *testing.T) {
	folder := t.TempDir()
	tests := map[string]struct {
		spec node.ImageSpec
		want string
	}{
		"a name without a registry": {
			node.ImageSpec{Ref: "image:dev"},
			"image image:dev: the name must have a registry and a tag, such as localhost/name:tag",
		},
		"a name with a port and without a tag": {
			node.ImageSpec{Ref: "localhost:5000/image"},
			"image localhost:5000/image: the name must have a registry and a tag, such as localhost/name:tag",
		},
		"a relative path in the image": {
			node.ImageSpec{Ref: "localhost/image:dev", Files: map[string]string{"program": "/bin/true"}},
			`image localhost/image:dev: "program" is not a clean absolute path in the image`,
		},
		"a file that does not exist": {
			node.ImageSpec{Ref: "localhost/image:dev", Files: map[string]string{"/program": "/does/not/exist"}},
			"image localhost/image:dev: open /does/not/exist: no such file or directory",
		},
		"a directory in place of a file": {
			node.ImageSpec{Ref: "localhost/image:dev", Files: map[string]string{"/program": "/etc"}},
			"image localhost/image:dev: /etc is not a file",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tarPath := filepath.Join(folder, "image.tar")
			require.EqualError(t, node.WriteImage(tarPath, test.spec), test.want)
			require.NoFileExists(t, tarPath)
		})
	}
}
