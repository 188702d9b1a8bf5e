package clouds

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// CheckCABundle reports the mistakes for which client-go's certificate reader, which the cloud-controller-managers use,
// rejects a CA file: a certificate that cannot be parsed, or no certificate at all. It does not check expiry.
func CheckCABundle(bundle []byte, list *diagnostic.List) {
	certificates := 0
	for rest := bundle; ; {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		offset := len(bundle) - len(after)
		rest = after
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		certificates++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			line, column := confdoc.Position(bundle,
				bytes.LastIndex(bundle[:offset], []byte("-----BEGIN CERTIFICATE-----")))
			list.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Key: diagnostic.CABundleKey, Line: line,
				Column: column, Kind: diagnostic.Invalid,
				Message: "this certificate cannot be parsed, so the cloud-controller-manager would exit: " +
					"replace or remove it"})
		}
	}
	if certificates == 0 {
		list.Add(diagnostic.Diagnostic{Cause: diagnostic.CloudConfig, Key: diagnostic.CABundleKey,
			Kind: diagnostic.Invalid,
			Message: "it contains no PEM certificate, so the cloud-controller-manager would exit: " +
				"write the CA certificates in PEM format"})
	}
}
