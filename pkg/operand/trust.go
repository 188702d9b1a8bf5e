package operand

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// mergeTrust joins the certificates of all sources, in their order and each once. What cannot be read is reported
// and left out: a broken entry must not take the rest of the trust away.
func mergeTrust(sources []TrustSource) ([]byte, []diagnostic.Diagnostic) {
	var bundle bytes.Buffer
	var problems []diagnostic.Diagnostic
	seen := map[string]bool{}
	for _, source := range sources {
		if source.Problem != "" {
			problems = append(problems, source.problem(0, source.Problem))
			continue
		}
		certificates, found := source.certificates()
		problems = append(problems, found...)
		for _, der := range certificates {
			if seen[string(der)] {
				continue
			}
			seen[string(der)] = true
			// A bytes.Buffer does not fail.
			_ = pem.Encode(&bundle, &pem.Block{Type: certificateType, Bytes: der})
		}
	}
	return bundle.Bytes(), problems
}

const certificateType = "CERTIFICATE"

// IsUsable reports whether the source adds any trust. Render reports and leaves out one that does not.
func (s TrustSource) IsUsable() bool {
	certificates, _ := s.certificates()
	return s.Problem == "" && len(certificates) > 0
}

// certificates returns the certificates in DER and a problem for each block that is none.
func (s TrustSource) certificates() ([][]byte, []diagnostic.Diagnostic) {
	var certificates [][]byte
	var problems []diagnostic.Diagnostic
	for rest := s.Data; ; {
		begin := len(s.Data) - len(rest) + max(bytes.Index(rest, []byte("-----BEGIN")), 0)
		line := 1 + bytes.Count(s.Data[:begin], []byte("\n"))
		block, next := pem.Decode(rest)
		if block == nil {
			if bytes.Contains(rest, []byte("-----BEGIN")) {
				problems = append(problems, s.problem(line, "this is not a complete PEM block, it is left out; paste the whole certificate"))
			}
			break
		}
		rest = next
		switch _, err := x509.ParseCertificate(block.Bytes); {
		case block.Type != certificateType:
			problems = append(problems, s.problem(line, "this PEM block is not a certificate, it is left out; only certificates belong here"))
		case err != nil:
			problems = append(problems, s.problem(line, "this certificate cannot be parsed, it is left out; replace it"))
		default:
			certificates = append(certificates, block.Bytes)
		}
	}
	if len(certificates) == 0 && len(problems) == 0 {
		problems = append(problems, s.problem(0, "there is no PEM certificate in it, so it adds no trust; put the CA certificates there in PEM"))
	}
	return certificates, problems
}

// certificatesOnly drops everything but certificates and empty lines from a bundle: a comment beside them may hold a
// secret, as a private key that was pasted with its certificate is one, and a ConfigMap is no place for it. A bundle
// without either keeps its bytes.
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

func (s TrustSource) problem(line int, message string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		Cause: diagnostic.TrustedCA, Object: s.Source, Key: s.Key, Line: line, Column: min(line, 1), Message: message,
	}
}
