// Package pki makes the certificate authorities, certificates, keys and kubeconfigs of the development cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	lifetime = 365 * 24 * time.Hour
	// backdate tolerates slightly slow clocks.
	backdate = time.Minute
)

// Pair is a certificate with its key, both PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Write writes the pair into two files, the key with mode 0600.
func (p Pair) Write(certificateFile, keyFile string) error {
	if err := os.WriteFile(certificateFile, p.Certificate, 0o644); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	if err := os.WriteFile(keyFile, p.Key, 0o600); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// Authority is a self-signed certificate authority.
type Authority struct {
	Pair
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority that is valid for a year from now.
func NewAuthority(commonName string, now time.Time) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	pair, certificate, key, err := sign(template, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", commonName, err)
	}
	return &Authority{Pair: pair, certificate: certificate, key: key}, nil
}

// Client issues a client certificate for a Kubernetes user and groups, valid as long as the authority.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.issue(&x509.Certificate{
		NotAfter:    a.certificate.NotAfter,
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Server issues a serving certificate for the hosts, names or addresses, valid as long as the authority.
func (a *Authority) Server(commonName string, hosts ...string) (Pair, error) {
	return a.server(a.certificate.NotAfter, commonName, hosts)
}

// ExpiredServer issues a serving certificate that ended with the first hour of the authority.
func (a *Authority) ExpiredServer(commonName string, hosts ...string) (Pair, error) {
	return a.server(a.certificate.NotBefore.Add(backdate), commonName, hosts)
}

func (a *Authority) server(end time.Time, commonName string, hosts []string) (Pair, error) {
	template := &x509.Certificate{
		NotAfter:    end,
		Subject:     pkix.Name{CommonName: commonName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	template.NotBefore = a.certificate.NotBefore
	template.KeyUsage = x509.KeyUsageDigitalSignature
	pair, _, _, err := sign(template, a.certificate, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", template.Subject.CommonName, err)
	}
	return pair, nil
}

// sign makes a key and a certificate for it; without a parent it is self-signed.
func sign(
	template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey,
) (Pair, *x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Pair{}, nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	certificatePEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return Pair{Certificate: certificatePEM, Key: keyPEM}, certificate, key, nil
}

// NewSigningKey makes the key that signs service account tokens, as PEM; the public half can be read from it.
func NewSigningKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("service account key: %w", err)
	}
	return encodeKey(key)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// Kubeconfig has the user and the server of a kubeconfig file.
type Kubeconfig struct {
	// Server is the API server's URL.
	Server string
	// ServerCA is the PEM bundle that the server's certificate is checked against.
	ServerCA []byte
	// User is the client certificate.
	User Pair
}

// Write writes a self-contained kubeconfig file with mode 0600.
func (k Kubeconfig) Write(path string) error {
	const name = "devcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: k.Server, CertificateAuthorityData: k.ServerCA}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: k.User.Certificate,
		ClientKeyData: k.User.Key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return nil
}
