package clouds

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// Run is one call of a Rewrite: its source, and the configuration that it changes. Diagnostics go to Findings.
type Run struct {
	Source
	*confdoc.Document
}

// NewRun parses the configuration of a source.
func NewRun(src Source, reader confdoc.Reader) Run {
	reader.Input = diagnostic.CloudConfig
	d := reader.Read(src.Config, &diagnostic.List{})
	checkOtherCloud(d)
	return Run{src, d}
}

// Finish returns the Result of the run. If any diagnostic is Invalid, the Result contains only diagnostics.
func (r Run) Finish(result Result) Result {
	sorted := r.Findings.Sorted()
	if sorted.Has(diagnostic.Invalid) {
		return Result{Diagnostics: sorted}
	}
	result.Diagnostics = sorted
	result.Public = confdoc.PublicNames(append(slices.Clone(r.Fields), r.Also...))
	return result
}

const (
	// MintedToken is the name of the file with the token of the cloud-controller-manager's ServiceAccount.
	MintedToken = "token"
	// OpenshiftAudience is the audience that a cloud's trust in an OpenShift cluster expects.
	OpenshiftAudience = "openshift"
)

// TokenFile returns the path of MintedToken in the container.
func (r Run) TokenFile() string { return path.Join(r.Paths.Tokens, MintedToken) }

// NoCredentialsSecret is the message for a credentials Secret that does not exist.
const NoCredentialsSecret = "there is no credentials Secret: " +
	"check the cloud-credential-operator, or create the Secret if credentials are managed manually"

// ReportCredentials adds a diagnostic about a key of the credentials Secret, or about the Secret if the key is empty.
func (r Run) ReportCredentials(key string, kind diagnostic.Kind, format string, args ...any) {
	r.Findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: kind,
		Message: fmt.Sprintf(format, args...)})
}

// RejectCredentials reports credentials that cannot be used; see ReportCredentials.
func (r Run) RejectCredentials(key, format string, args ...any) {
	r.ReportCredentials(key, diagnostic.Invalid, format, args...)
}

// SecretTexts returns the values of the named keys of the credentials Secret without leading and trailing whitespace,
// which is never part of a credential and would make every login fail. It reports misspelled keys.
func (r Run) SecretTexts(names ...string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(r.Credentials)) {
		if !slices.Contains(names, key) {
			if meant := confdoc.Nearest(key, names); meant != "" && len(r.Credentials[meant]) == 0 {
				r.ReportCredentials(key, diagnostic.Typo, "unknown key; did you mean %q?", meant)
			}
			continue
		}
		text := string(r.Credentials[key])
		if out[key] = strings.TrimSpace(text); out[key] != text && out[key] != "" {
			r.ReportCredentials(key, diagnostic.Rewritten, "leading and trailing whitespace is removed")
		}
		r.CheckTyped(key, out[key])
		r.CheckAssignment(key, text)
		if !utf8.ValidString(text) {
			r.RejectCredentials(key, "%s", NoText)
		} else if strings.ContainsFunc(out[key], isUnprintable) {
			r.RejectCredentials(key, "the value contains a line break or another unprintable character: "+
				"write the credential again without it")
		}
	}
	return out
}

// NoText is the message about a value that is not UTF-8.
const NoText = "it is not text: encode the value in base64 once, or write it below stringData"

// assignment matches a line of a shell's script. A base64 value has no underscore.
var assignment = regexp.MustCompile(`^(export )?[A-Z][A-Z0-9]*_[A-Z0-9_]*=[^=]`)

// CheckAssignment reports a value that starts with the name of a variable.
func (r Run) CheckAssignment(key, text string) {
	if assignment.MatchString(text) {
		r.ReportCredentials(key, diagnostic.Typo, "it starts with the name of a variable: write only the value")
	}
}

// CheckTyped reports a value that is probably not what the cloud issued.
func (r Run) CheckTyped(key, text string) {
	switch {
	case confdoc.IsBase64([]byte(text)):
		r.ReportCredentials(key, diagnostic.Typo, confdoc.TooMuchBase64)
	case confdoc.IsPlaceholder(text):
		r.ReportCredentials(key, diagnostic.Typo, "it is a placeholder: write the value that the cloud issued")
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		r.ReportCredentials(key, diagnostic.Typo, "it is a JSON object: write only the value that belongs here")
	case len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[0] == text[len(text)-1]:
		r.ReportCredentials(key, diagnostic.Typo, "the quotes are part of the value: write it without")
	}
}

// ReportUnread reports other keys of the credentials Secret than the names, for a Secret that only the
// cloud-controller-manager reads. It omits those that SecretTexts reports.
func (r Run) ReportUnread(names ...string) {
	for _, key := range slices.Sorted(maps.Keys(r.Credentials)) {
		meant := confdoc.Nearest(key, names)
		if !slices.Contains(names, key) && (meant == "" || len(r.Credentials[meant]) > 0) {
			r.ReportCredentials(key, diagnostic.Unknown, "unknown key, which nothing reads; the known keys are %s",
				strings.Join(names, ", "))
		}
	}
}

func isUnprintable(r rune) bool { return r == 0xfffd || r < ' ' || !confdoc.Printable(r) }

// SecretKey returns a required key of the credentials Secret. It reports a missing or empty value and returns nil.
func (r Run) SecretKey(key string) []byte {
	text, ok := r.Credentials[key]
	switch {
	case r.Credentials == nil && r.CredentialsUnknown:
	case r.Credentials == nil:
		r.RejectCredentials("", NoCredentialsSecret)
	case !ok && len(r.Credentials) == 0:
		r.RejectCredentials(key, "the credentials Secret is empty: it needs the key %s", key)
	case !ok:
		r.RejectCredentials(key, "the credentials Secret has no such key, only %s",
			strings.Join(slices.Sorted(maps.Keys(r.Credentials)), ", "))
	case len(bytes.TrimSpace(text)) == 0:
		r.RejectCredentials(key, "it is empty: write the credentials that the cloud issued")
	default:
		return text
	}
	return nil
}

// HasCABundle reports whether the CA bundle is not empty. Most providers exit if it is an empty file.
func (r Run) HasCABundle() bool { return len(bytes.TrimSpace(r.CABundle)) > 0 }

// trustStores are the paths of the CA bundles in an image of Red Hat Enterprise Linux (package ca-certificates). The
// pod mounts nothing from its node below /etc/pki and /etc/ssl.
var trustStores = []string{"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/tls/certs/ca-certificates.crt", "/etc/ssl/cert.pem",
	"/etc/ssl/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"}

// IsTrustStore reports whether the path is a CA bundle in the provider's image.
func IsTrustStore(file string) bool { return slices.Contains(trustStores, path.Clean(file)) }

// CheckCABundle reports what makes client-go's certificate reader, which the cloud-controller-managers use, reject a CA
// file: a certificate that cannot be parsed, or no certificate at all. It does not check expiry.
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
// ignores other blocks, as client-go and crypto/x509 do.
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
