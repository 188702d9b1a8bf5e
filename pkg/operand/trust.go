package operand

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// mergeTrust joins the certificates of all sources in their order and drops duplicates. It reports and omits unreadable
// entries, so that they do not affect the other CAs.
func mergeTrust(sources []TrustSource) ([]byte, []diagnostic.Diagnostic) {
	var bundle bytes.Buffer
	var diagnostics []diagnostic.Diagnostic
	seen := map[string]bool{}
	for _, source := range sources {
		if source.Diagnostic != "" {
			diagnostics = append(diagnostics, source.newDiagnostic(0, source.Diagnostic))
			continue
		}
		certificates, found := source.certificates()
		diagnostics = append(diagnostics, found...)
		for _, der := range certificates {
			if seen[string(der)] {
				continue
			}
			seen[string(der)] = true
			// Writing to a bytes.Buffer never fails.
			_ = pem.Encode(&bundle, &pem.Block{Type: certificateType, Bytes: der})
		}
	}
	return bundle.Bytes(), diagnostics
}

const certificateType = "CERTIFICATE"

// IsUsable reports whether the source has a certificate. Render reports and omits sources without one.
func (s TrustSource) IsUsable() bool {
	certificates, _ := s.certificates()
	return s.Diagnostic == "" && len(certificates) > 0
}

func (s TrustSource) certificates() ([][]byte, []diagnostic.Diagnostic) {
	var certificates [][]byte
	var diagnostics []diagnostic.Diagnostic
	for rest := s.Data; ; {
		begin := len(s.Data) - len(rest) + max(bytes.Index(rest, []byte("-----BEGIN")), 0)
		line := 1 + bytes.Count(s.Data[:begin], []byte("\n"))
		block, next := pem.Decode(rest)
		if block == nil {
			if bytes.Contains(rest, []byte("-----BEGIN")) {
				diagnostics = append(diagnostics, s.newDiagnostic(line,
					"incomplete PEM block, which is ignored; paste the whole certificate"))
			}
			break
		}
		rest = next
		switch _, err := x509.ParseCertificate(block.Bytes); {
		case block.Type != certificateType:
			diagnostics = append(diagnostics, s.newDiagnostic(line,
				"this PEM block is not a certificate and is ignored; remove it"))
		case err != nil:
			diagnostics = append(diagnostics, s.newDiagnostic(line,
				"this certificate cannot be parsed and is ignored; replace it"))
		default:
			certificates = append(certificates, block.Bytes)
		}
	}
	if len(certificates) == 0 && len(diagnostics) == 0 {
		diagnostics = append(diagnostics, s.newDiagnostic(0,
			"it has no PEM certificate; add the CA certificates in PEM"))
	}
	return certificates, diagnostics
}

// certificatesOnly drops everything except for certificates and empty lines from a bundle. The rest may have a secret,
// such as a private key that was pasted with its certificate, which must not get into a ConfigMap. A bundle with only
// certificates keeps its bytes.
func certificatesOnly(bundle []byte) []byte {
	var kept, block []byte
	for line := range bytes.Lines(bundle) {
		text := bytes.TrimRight(line, " \t\r\n")
		switch {
		case bytes.Equal(text, []byte("-----BEGIN "+certificateType+"-----")):
			block = bytes.Clone(line)
		case block == nil && len(text) == 0:
			kept = append(kept, line...)
		case block != nil:
			block = append(block, line...)
			if !bytes.HasPrefix(text, []byte("-----END ")) {
				continue
			}
			if decoded, _ := pem.Decode(block); decoded != nil && len(decoded.Headers) == 0 {
				kept = append(kept, block...)
			}
			block = nil
		}
	}
	return kept
}

func (s TrustSource) newDiagnostic(line int, message string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		Cause: diagnostic.TrustedCA, Object: s.Source, Key: s.Key, Line: line, Column: min(line, 1), Message: message,
	}
}
