package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxies are proxies of the cluster that do not let the cloud-controller-manager through.
var proxies = []preflightChange{
	{name: "a proxy that denies the cloud", class: "ProxyRefused", do: setProxy(http.StatusForbidden), undo: (*cloudStory).removeProxy},
	{name: "a proxy that wants credentials", class: "ProxyRefused", do: setProxy(http.StatusProxyAuthRequired), undo: (*cloudStory).removeProxy},
	{name: closedProxy, class: "Unreachable", do: func(t *testing.T, s *cloudStory) {
		s.setProxyAt(t, net.JoinHostPort(s.host(), "1"))
	}, undo: (*cloudStory).removeProxy},
}

const closedProxy = "a proxy whose port is closed"

// setProxy returns a change to a proxy that answers each request with a status.
func setProxy(status int) func(t *testing.T, s *cloudStory) {
	return func(t *testing.T, s *cloudStory) {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(s.host(), "0"))
		require.NoError(t, err)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) },
		)}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		s.setProxyAt(t, listener.Addr().String())
	}
}

// setProxyAt makes all but the API server and the metadata of instances be asked through a proxy. The stand-in for the
// cloud may have the API server's address, at another port.
func (s *suite) setProxyAt(t *testing.T, address string) {
	t.Helper()
	direct := strings.TrimPrefix(s.URL(), "https://") + ",169.254.169.254"
	proxy := strconv.Quote("http://" + address)
	s.patches("proxies", fmt.Sprintf(`{"spec":{"httpsProxy":%s},"status":{"httpsProxy":%s,"noProxy":%q}}`,
		proxy, proxy, direct))(t)
}

// removeProxy lets everything be asked directly.
func (s *cloudStory) removeProxy(t *testing.T) {
	t.Helper()
	s.patches("proxies", `{"spec":{"httpsProxy":""},"status":{"httpsProxy":"","noProxy":""}}`)(t)
}

// host is the address of this machine that the nodes reach.
func (s *suite) host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(s.URL(), "https://"), ":")
	return host
}
