package operandconfig_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandconfig"
)

// net/http decides which profiles a server starts with.
func TestWhichProfilesAllowHTTP2(t *testing.T) {
	versions := map[string]uint16{"VersionTLS10": tls.VersionTLS10, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}
	choices := [][]*tls.CipherSuite{nil, tls.CipherSuites()}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		choices = append(choices, []*tls.CipherSuite{suite})
	}
	for name, version := range versions {
		for _, choice := range choices {
			info := operandconfig.ServingInfo{MinTLSVersion: name}
			config := &tls.Config{MinVersion: version}
			for _, suite := range choice {
				info.CipherSuites = append(info.CipherSuites, suite.Name)
				config.CipherSuites = append(config.CipherSuites, suite.ID)
			}
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			require.NoError(t, listener.Close())
			// It returns, because it has no certificate either.
			err = (&http.Server{TLSConfig: config}).ServeTLS(listener, "", "")
			require.Error(t, err)
			require.Equal(t, !strings.Contains(err.Error(), "HTTP/2-required"), info.AllowsHTTP2(), "%v: %v", info, err)
		}
	}
}
