package standin_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const list = "GET /list"

// start starts a server with one endpoint, which takes the credential from the query.
func start(t *testing.T, options standin.Options) *standin.Server {
	t.Helper()
	server, err := standin.New(t.Context(), "example", options)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc(list, server.Endpoint(list, refuse, func(w http.ResponseWriter, r *http.Request) {
		standin.Identify(r, r.URL.Query().Get("as"))
		w.WriteHeader(http.StatusAccepted)
	}))
	server.Serve(t.Context(), mux)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func startDefault(t *testing.T) *standin.Server {
	t.Helper()
	return start(t, standin.Options{Listen: "127.0.0.1:0"})
}

func refuse(w http.ResponseWriter, status int) { w.WriteHeader(status) }

// newClient returns a client that trusts the bundle.
func newClient(t *testing.T, bundle []byte) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func requireStatus(t *testing.T, want int, client *http.Client, url string) {
	t.Helper()
	status, err := get(t, client, url)
	require.NoError(t, err)
	require.Equal(t, want, status)
}

func TestEveryCallIsRecordedWithItsCredential(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	s := start(t, standin.Options{Listen: "127.0.0.1:0", Dir: dir})
	client := newClient(t, s.CABundle())
	before := time.Now()
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list?as=one")
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	calls := s.Calls()
	require.Len(t, calls, 2)
	for i, credential := range []string{"one", ""} {
		require.WithinRange(t, calls[i].Time, before, time.Now())
		require.Equal(t, "127.0.0.1", calls[i].Source)
		calls[i].Time, calls[i].Source = time.Time{}, ""
		require.Equal(t, standin.Call{Endpoint: list, Credential: credential, Status: http.StatusAccepted}, calls[i])
	}
	require.Equal(t, map[string]int{list: 2}, s.Requests())

	content, err := os.ReadFile(filepath.Join(dir, "requests.log"))
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(content)) {
		lines = append(lines, strings.Join(strings.Fields(line)[2:], " "))
	}
	require.Equal(t, []string{"GET /list /list?as=one 202 one", "GET /list /list 202 -"}, lines)
}

func TestEndpointsFailAndWait(t *testing.T) {
	s := startDefault(t)
	client := newClient(t, s.CABundle())
	require.NoError(t, s.Fail(standin.AllEndpoints, http.StatusServiceUnavailable))
	requireStatus(t, http.StatusServiceUnavailable, client, s.URL()+"/list")
	require.NoError(t, s.Fail(list, http.StatusForbidden))
	requireStatus(t, http.StatusForbidden, client, s.URL()+"/list")
	require.NoError(t, s.Fail(list, 0))
	require.NoError(t, s.Fail(standin.AllEndpoints, 0))

	const wait = 50 * time.Millisecond
	require.NoError(t, s.Delay(list, wait))
	began := time.Now()
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	require.GreaterOrEqual(t, time.Since(began), wait)
	require.NoError(t, s.Delay(list, 0))

	require.NoError(t, s.Throttle(3*time.Second))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/list", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "3", response.Header.Get("Retry-After"))
	require.NoError(t, s.Fail(standin.AllEndpoints, 0))
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")

	require.EqualError(t, s.Fail("GET /other", 500), `example stand-in: no endpoint "GET /other"`)
	require.EqualError(t, s.Delay("GET /other", wait), `example stand-in: no endpoint "GET /other"`)
}

func TestTheCAIsRenewedOnceItIsUsed(t *testing.T) {
	dir := t.TempDir()
	s := start(t, standin.Options{Listen: "127.0.0.1:0", Dir: dir})
	former := s.CABundle()
	formerly := newClient(t, former)
	bundle, use, err := s.RenewCA()
	require.NoError(t, err)
	require.NotEqual(t, former, bundle)
	require.Equal(t, former, s.CABundle())
	requireStatus(t, http.StatusAccepted, formerly, s.URL()+"/list")

	require.NoError(t, use())
	require.Equal(t, bundle, s.CABundle())
	written, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	require.NoError(t, err)
	require.Equal(t, bundle, written)
	requireStatus(t, http.StatusAccepted, newClient(t, bundle), s.URL()+"/list")
	// The connection that the client had is gone.
	require.Eventually(t, func() bool {
		_, err := get(t, formerly, s.URL()+"/list")
		var unknown x509.UnknownAuthorityError
		return errors.As(err, &unknown)
	}, 10*time.Second, 10*time.Millisecond)
}

func TestTheCertificateExpiresAndIsGoodAgain(t *testing.T) {
	s := startDefault(t)
	client := newClient(t, s.CABundle())
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	s.ExpireCertificate(true)
	require.Eventually(t, func() bool {
		_, err := get(t, client, s.URL()+"/list")
		var invalid x509.CertificateInvalidError
		return errors.As(err, &invalid) && invalid.Reason == x509.Expired
	}, 10*time.Second, 10*time.Millisecond)
	s.ExpireCertificate(false)
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
}

func TestAServerRejectsUnusableOptions(t *testing.T) {
	taken := strings.TrimPrefix(startDefault(t).URL(), "https://")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		options standin.Options
		err     string
	}{
		"no port": {standin.Options{Listen: "127.0.0.1"},
			`example stand-in: listen address "127.0.0.1": address 127.0.0.1: missing port in address`},
		"every address": {standin.Options{Listen: "0.0.0.0:0"},
			`example stand-in: listen address "0.0.0.0:0": must be an IP that clients can reach`},
		"a name": {standin.Options{Listen: "localhost:0"},
			`example stand-in: listen address "localhost:0": must be an IP that clients can reach`},
		"a port that is taken": {standin.Options{Listen: taken}, "example stand-in: listen on " + taken +
			": listen tcp " + taken + ": bind: address already in use"},
		"a directory that is a file": {standin.Options{Listen: "127.0.0.1:0", Dir: file},
			"example stand-in: mkdir " + file + ": not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := standin.New(t.Context(), "example", test.options)
			require.EqualError(t, err, test.err)
		})
	}
}

func TestAServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, err := standin.New(ctx, "example", standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	server.Serve(ctx, http.NotFoundHandler())
	client := newClient(t, server.CABundle())
	requireStatus(t, http.StatusNotFound, client, server.URL())
	cancel()
	require.Eventually(t, func() bool {
		_, err := get(t, client, server.URL())
		return err != nil
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, server.Close())
	require.NoError(t, server.Close())
}

func TestAServerThatServedNothingIsClosed(t *testing.T) {
	server, err := standin.New(t.Context(), "example", standin.Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	require.NoError(t, server.Close())
}

func TestClientsReachAServerByItsNames(t *testing.T) {
	ctx := t.Context()
	server, err := standin.New(ctx, "example", standin.Options{Listen: "127.0.0.1:0"}, "a.example.com", "b.example.com")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.Equal(t, map[string]string{"a.example.com": "127.0.0.1", "b.example.com": "127.0.0.1"}, server.Hosts())
	require.Equal(t, "https://a.example.com:"+server.Port()+"/x", server.URLAt("a.example.com", "/x"))
	require.Nil(t, startDefault(t).Hosts())
}

func TestPlainServingEndsWithTheServer(t *testing.T) {
	s := startDefault(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.ServePlain(t.Context(), listener, s.Endpoint("GET /plain", refuse, func(w http.ResponseWriter, _ *http.Request) {
		standin.WriteJSON(w, "application/json", http.StatusCreated, map[string]int{"a": 1})
	}))
	url := "http://" + listener.Addr().String()
	ask := func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		require.NoError(t, err)
		return http.DefaultClient.Do(request)
	}
	response, err := ask()
	require.NoError(t, err)
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, []any{http.StatusCreated, "application/json", `{"a":1}`},
		[]any{response.StatusCode, response.Header.Get("Content-Type"), string(content)})
	require.Equal(t, map[string]int{"GET /plain": 1}, s.Requests())

	require.NoError(t, s.Close())
	response, err = ask()
	if err == nil {
		require.NoError(t, response.Body.Close())
	}
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAnAnswerWithoutABodyIsEmpty(t *testing.T) {
	recorder := httptest.NewRecorder()
	standin.WriteJSON(recorder, "application/json", http.StatusNoContent, nil)
	require.Equal(t, http.StatusNoContent, recorder.Code)
	require.Empty(t, recorder.Body.Bytes())
	require.Empty(t, recorder.Header())
}

func TestOnlyTheWriterMayChangeTheCloud(t *testing.T) {
	s := startDefault(t)
	client := newClient(t, s.CABundle())
	writes := func(string) bool { return false }
	s.OnlyWriter("127.0.0.2", writes)
	requireStatus(t, http.StatusForbidden, client, s.URL()+"/list?as=preflight")
	require.Len(t, s.RefusedWrites(), 1)
	require.Equal(t, list, s.RefusedWrites()[0].Endpoint)
	require.Equal(t, "127.0.0.1", s.RefusedWrites()[0].Source)

	s.OnlyWriter("127.0.0.1", writes)
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	s.OnlyWriter("127.0.0.2", func(endpoint string) bool { return endpoint == list })
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	s.OnlyWriter("127.0.0.2", nil)
	requireStatus(t, http.StatusAccepted, client, s.URL()+"/list")
	require.Len(t, s.RefusedWrites(), 1)
}
