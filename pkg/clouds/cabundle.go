package clouds

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// HasCABundle reports whether there is a CA bundle that is not empty. An empty file would make most providers exit.
func (r Run) HasCABundle() bool { return len(bytes.TrimSpace(r.CABundle)) > 0 }

// IsInTrustStore reports whether the path is in the trust store of the provider's image. Such a file cannot be checked
// here and is assumed to exist.
func IsInTrustStore(path string) bool {
	return strings.HasPrefix(path, "/etc/pki/") || strings.HasPrefix(path, "/etc/ssl/")
}

// CheckCABundle reports the mistakes for which client-go's certificate reader, which the cloud-controller-managers use,
// rejects a CA file: a certificate that cannot be parsed, or no certificate at all. It does not check expiry.
func (r Run) CheckCABundle() {
	d := &confdoc.Document{Findings: r.Findings}
	d.Input, d.DataKey = diagnostic.CloudConfig, diagnostic.CABundleKey
	count, broken := Certificates(r.CABundle)
	for _, offset := range broken {
		d.ReportAt(confdoc.PositionAt(r.CABundle, offset), diagnostic.Invalid,
			"this certificate cannot be parsed, so the cloud-controller-manager would exit: replace or remove it")
	}
	if count == 0 {
		d.Rejectf(nil, "it contains no PEM certificate, so the cloud-controller-manager would exit: "+
			"write the CA certificates in PEM format")
	}
}

// Certificates returns the number of certificates in a PEM bundle, and the offsets of those that cannot be parsed. It
// ignores other blocks, as the readers of client-go and crypto/x509 do.
func Certificates(bundle []byte) (count int, broken []int) {
	for rest := bundle; ; {
		block, after := pem.Decode(rest)
		if block == nil {
			return count, broken
		}
		rest = after
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		count++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			read := bundle[:len(bundle)-len(after)]
			broken = append(broken, bytes.LastIndex(read, []byte("-----BEGIN CERTIFICATE-----")))
		}
	}
}
