package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/pki"
)

func parse(t *testing.T, pair pki.Pair) *x509.Certificate {
	t.Helper()
	_, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err, "certificate and key must belong together")
	certificates, err := cert.ParseCertsPEM(pair.Certificate)
	require.NoError(t, err)
	require.Len(t, certificates, 1)
	return certificates[0]
}

func roots(authority *pki.Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Certificate)
	return pool
}

func TestAServingCertificateVerifiesForItsHostsOnly(t *testing.T) {
	authority, err := pki.NewAuthority("server-ca", time.Now())
	require.NoError(t, err)
	pair, err := authority.Server("kube-apiserver", "10.96.0.1", "kubernetes.default.svc")
	require.NoError(t, err)
	certificate := parse(t, pair)
	for _, host := range []string{"10.96.0.1", "kubernetes.default.svc"} {
		_, err = certificate.Verify(x509.VerifyOptions{Roots: roots(authority), DNSName: host})
		require.NoError(t, err, host)
	}
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots(authority), DNSName: "127.0.0.1"})
	require.EqualError(t, err, "x509: certificate is valid for 10.96.0.1, not 127.0.0.1")
	require.True(t, certificate.IPAddresses[0].Equal(net.ParseIP("10.96.0.1")))
}

func TestAClientCertificateNamesUserAndGroupsAndCannotServe(t *testing.T) {
	authority, err := pki.NewAuthority("client-ca", time.Now())
	require.NoError(t, err)
	pair, err := authority.Client("system:node:master-0", "system:nodes")
	require.NoError(t, err)
	certificate := parse(t, pair)
	require.Equal(t, "system:node:master-0", certificate.Subject.CommonName)
	require.Equal(t, []string{"system:nodes"}, certificate.Subject.Organization)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots(authority),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots(authority),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.EqualError(t, err, "x509: certificate specifies an incompatible key usage")
}

func TestCertificatesLastAYear(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	authority, err := pki.NewAuthority("client-ca", now)
	require.NoError(t, err)
	pair, err := authority.Client("admin")
	require.NoError(t, err)
	certificate := parse(t, pair)
	require.Equal(t, time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC), certificate.NotBefore)
	require.Equal(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC), certificate.NotAfter)
}

func TestTheSigningKeyHoldsItsPublicHalf(t *testing.T) {
	key, err := pki.NewSigningKey()
	require.NoError(t, err)
	keys, err := keyutil.ParsePublicKeysPEM(key)
	require.NoError(t, err)
	require.Len(t, keys, 1)
}

func TestAKubeconfigIsSelfContainedAndPrivate(t *testing.T) {
	authority, err := pki.NewAuthority("client-ca", time.Now())
	require.NoError(t, err)
	user, err := authority.Client("admin", "system:masters")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, pki.Kubeconfig{Server: "https://127.0.0.1:6443", ServerCA: authority.Certificate,
		User: user}.Write(path))

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	require.Equal(t, "https://127.0.0.1:6443", config.Host)
	require.Equal(t, authority.Certificate, config.CAData)
	require.Equal(t, user.Certificate, config.CertData)
	require.Equal(t, user.Key, config.KeyData)
}
