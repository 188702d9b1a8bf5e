package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARegistryServesAnImageByTagAndByDigestUnlessItIsMissing(t *testing.T) {
	const docker = "application/vnd.docker.distribution.manifest.v2+json"
	var archive bytes.Buffer
	files := tar.NewWriter(&archive)
	for _, file := range []struct{ name, content string }{
		{"blobs/sha256/aa", `{"layers":[]}`},
		{"blobs/sha256/bb", "a layer"},
		{"index.json", `{"manifests":[{"mediaType":"` + docker + `","digest":"sha256:aa"}]}`},
	} {
		require.NoError(t, files.WriteHeader(&tar.Header{Name: file.name, Size: int64(len(file.content))}))
		_, err := io.WriteString(files, file.content)
		require.NoError(t, err)
	}
	require.NoError(t, files.Close())
	image, err := newRegistry(archive.Bytes())
	require.NoError(t, err)

	for _, tc := range []struct {
		method, path string
		code         int
		mediaType    string
		body         string
	}{
		{http.MethodHead, "/v2/some/image/manifests/1", http.StatusOK, docker, ""},
		{http.MethodGet, "/v2/some/image/manifests/sha256:aa", http.StatusOK, docker, `{"layers":[]}`},
		{http.MethodGet, "/v2/some/image/blobs/sha256:bb", http.StatusOK, "application/octet-stream", "a layer"},
		{http.MethodGet, "/v2/some/image/blobs/sha256:cc", http.StatusNotFound, "text/plain; charset=utf-8", "404 page not found\n"},
	} {
		w := httptest.NewRecorder()
		image.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
		require.Equal(t, tc.code, w.Code, tc.path)
		require.Equal(t, tc.mediaType, w.Header().Get("Content-Type"), tc.path)
		require.Equal(t, tc.body, w.Body.String(), tc.path)
	}

	image.missing.Store(true)
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		w := httptest.NewRecorder()
		image.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/v2/some/image/manifests/1", nil))
		require.Equal(t, http.StatusNotFound, w.Code)
	}
	require.EqualValues(t, 1, image.failedPulls.Load())
}
