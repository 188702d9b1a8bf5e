package clouds

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// MintedToken is the file with the token of the cloud-controller-manager's ServiceAccount.
	MintedToken = "token"
	// OpenshiftAudience is the audience that a cloud's trust in an OpenShift cluster expects.
	OpenshiftAudience = "openshift"
)

// NoCredentialsSecret is the message for a credentials Secret that does not exist.
const NoCredentialsSecret = "there is no credentials Secret: " +
	"see whether the cloud-credential-operator makes it, or create it where credentials are managed by hand"

// SecretTexts are the values of a credentials Secret that are used, without the blanks and line breaks around them, which
// no credential has and every login would fail with. Keys that are close to one of the names are reported.
func SecretTexts(credentials map[string][]byte, fs *diagnostic.List, names ...string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		report := func(kind diagnostic.Kind, message string) { ReportCredentials(fs, key, kind, message) }
		if !slices.Contains(names, key) {
			if meant := confdoc.Nearest(key, names); meant != "" && len(credentials[meant]) == 0 {
				report(diagnostic.Typo, fmt.Sprintf("unknown key; did you mean %q?", meant))
			}
			continue
		}
		text := string(credentials[key])
		if out[key] = strings.TrimSpace(text); out[key] != text && out[key] != "" {
			report(diagnostic.Rewritten, "the blanks or line breaks around the value are left out")
		}
		if strings.ContainsFunc(out[key], func(r rune) bool { return r == 0xfffd || r < ' ' || !confdoc.Printable(r) }) {
			report(diagnostic.Invalid, "the value has a line break or another character in it that is no text: write the credential again, without a line break")
		}
	}
	return out
}

// ReportCredentials adds a finding about a key of the credentials Secret, or about the Secret where the key is empty.
func ReportCredentials(fs *diagnostic.List, key string, kind diagnostic.Kind, message string) {
	fs.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: kind, Message: message})
}

// SecretKey returns the one key of the credentials Secret that is needed; false when there is nothing to check in it.
func SecretKey(src Source, key string, fs *diagnostic.List) ([]byte, bool) {
	text, ok := src.Credentials[key]
	switch {
	case src.Credentials == nil && src.CredentialsUnknown:
	case src.Credentials == nil:
		ReportCredentials(fs, "", diagnostic.Invalid, NoCredentialsSecret)
	case !ok && len(src.Credentials) == 0:
		ReportCredentials(fs, key, diagnostic.Invalid, "the credentials Secret is empty: it needs the key "+key)
	case !ok:
		has := strings.Join(slices.Sorted(maps.Keys(src.Credentials)), ", ")
		ReportCredentials(fs, key, diagnostic.Invalid, "the credentials Secret has no such key, only "+has)
	case len(bytes.TrimSpace(text)) == 0:
		ReportCredentials(fs, key, diagnostic.Invalid, "it is empty: write the credentials that the cloud gave")
	default:
		return text, true
	}
	return nil, false
}
