package operand

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"regexp"

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

// headers matches the start of each PEM block, including a cut or changed one, which pem.Decode skips.
var headers = regexp.MustCompile(`-{5}BEGIN|-+ *BEGIN [A-Z0-9 ]*CERTIFICATE`)

// IsUsable reports whether the source has a certificate. Render reports and omits sources without one.
func (s TrustSource) IsUsable() bool {
	certificates, _ := s.certificates()
	return s.Diagnostic == "" && len(certificates) > 0
}

func (s TrustSource) certificates() ([][]byte, []diagnostic.Diagnostic) {
	var certificates [][]byte
	var diagnostics diagnostic.List
	for rest := s.Data; ; {
		block, next := pem.Decode(rest)
		if block == nil {
			next = nil
		}
		line, incomplete := 0, headers.FindAllIndex(rest[:len(rest)-len(next)], -1)
		lineAt := func(header []int) int {
			return 1 + bytes.Count(s.Data[:len(s.Data)-len(rest)+header[0]], []byte("\n"))
		}
		if last := len(incomplete) - 1; block != nil {
			line, incomplete = lineAt(incomplete[last]), incomplete[:last]
		}
		for _, header := range incomplete {
			diagnostics = append(diagnostics, s.newDiagnostic(lineAt(header),
				"incomplete PEM block, which is ignored; paste the whole certificate"))
		}
		if block == nil {
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
	return certificates, diagnostics.Sorted() // a broken bundle may have thousands
}

// certificatesOnly keeps the certificates and empty lines of a bundle. Everything else may be a secret, such as a
// private key pasted with its certificate, and must not get into a ConfigMap. Certificates alone keep their bytes.
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
