// Package standintest has what the tests of the stand-ins for clouds have in common: a client, and the record of its
// calls.
package standintest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

// NewClient returns a client that trusts the CA that a stand-in has now, and reaches it by its names.
func NewClient(t *testing.T, s interface {
	CABundle() []byte
	Hosts() map[string]string
	Port() string
},
) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(s.CABundle()))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			name, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			host := cmp.Or(s.Hosts()[name], name)
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, s.Port()))
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Do sends a request and returns the status and the body of the answer.
func Do(t *testing.T, client *http.Client, request *http.Request) (status int, body []byte) {
	t.Helper()
	response, err := client.Do(request) //nolint:gosec // the request is a test's own
	require.NoError(t, err)
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, body
}

// Made returns the endpoint, the credential and the status of each call.
func Made(calls []standin.Call) []string {
	var made []string
	for _, call := range calls {
		made = append(made, fmt.Sprint(call.Endpoint, " ", call.Credential, " ", call.Status))
	}
	return made
}
