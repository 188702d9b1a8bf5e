package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/node"
)

// registry serves one image to container runtimes, whatever name and tag they ask for.
type registry struct {
	// files are the image's manifest, its configuration and its layers by digest.
	files map[string][]byte
	// manifest is the digest of the manifest, and mediaType its type.
	manifest, mediaType string
	// missing makes the registry answer that it does not have the image, and failedPulls counts these answers.
	missing     atomic.Bool
	failedPulls atomic.Int32
	// slow is how long the next pull takes, in nanoseconds.
	slow atomic.Int64
}

// newRegistry reads an image in OCI's layout from a tar archive.
func newRegistry(archive []byte) (*registry, error) {
	r := &registry{files: map[string][]byte{}}
	var index struct {
		Manifests []struct{ MediaType, Digest string }
	}
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return nil, fmt.Errorf("image: %s: %w", header.Name, err)
		}
		if header.Name == "index.json" {
			if err := json.Unmarshal(content, &index); err != nil {
				return nil, fmt.Errorf("image: %s: %w", header.Name, err)
			}
		}
		r.files["sha256:"+path.Base(header.Name)] = content
	}
	if len(index.Manifests) != 1 {
		return nil, fmt.Errorf("image: there are %d manifests", len(index.Manifests))
	}
	r.manifest, r.mediaType = index.Manifests[0].Digest, index.Manifests[0].MediaType
	return r, nil
}

// ServeHTTP implements the part of the distribution specification that a pull needs.
func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if r.missing.Load() {
		if request.Method == http.MethodHead {
			r.failedPulls.Add(1)
		}
		http.NotFound(w, request)
		return
	}
	directory, name := path.Split(request.URL.Path)
	mediaType := "application/octet-stream"
	if path.Base(directory) == "manifests" {
		mediaType = r.mediaType
		if !strings.HasPrefix(name, "sha256:") {
			name = r.manifest
		}
	}
	content, found := r.files[name]
	if !found {
		http.NotFound(w, request)
		return
	}
	if request.Method == http.MethodHead {
		select {
		case <-time.After(time.Duration(r.slow.Swap(0))):
		case <-request.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", name)
	http.ServeContent(w, request, "", time.Time{}, bytes.NewReader(content))
}

// serveOn serves on port 80 of a node's loopback until the end of the test. A runtime speaks plain HTTP with localhost.
func (r *registry) serveOn(t *testing.T, n *node.Node) {
	t.Helper()
	listener, err := listenIn(n, "127.0.0.1:80")
	require.NoError(t, err)
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

// listenIn listens in the network namespace of a node.
func listenIn(n *node.Node, address string) (net.Listener, error) {
	var listener net.Listener
	failed := make(chan error)
	go func() {
		// It is never unlocked, so the thread in the other namespace ends with this function.
		runtime.LockOSThread()
		failed <- func() error {
			namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", n.PID()))
			if err != nil {
				return err
			}
			defer namespace.Close()
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("network namespace of %s: %w", n.Name(), err)
			}
			listener, err = net.Listen("tcp", address)
			return err
		}()
	}()
	err := <-failed
	return listener, err
}
