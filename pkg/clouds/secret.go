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
	"check the cloud-credential-operator, or create the Secret if credentials are managed manually"

// SecretTexts returns the values of the named keys of a credentials Secret without leading and trailing whitespace,
// which is never part of a credential and would make every login fail. It reports unknown keys that are close to one of
// the names.
func SecretTexts(credentials map[string][]byte, list *diagnostic.List, names ...string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		report := func(kind diagnostic.Kind, message string) { ReportCredentials(list, key, kind, message) }
		if !slices.Contains(names, key) {
			if meant := confdoc.Nearest(key, names); meant != "" && len(credentials[meant]) == 0 {
				report(diagnostic.Typo, fmt.Sprintf("unknown key; did you mean %q?", meant))
			}
			continue
		}
		text := string(credentials[key])
		if out[key] = strings.TrimSpace(text); out[key] != text && out[key] != "" {
			report(diagnostic.Rewritten, "leading and trailing whitespace is removed")
		}
		if strings.ContainsFunc(out[key], func(r rune) bool {
			return r == 0xfffd || r < ' ' ||
				!confdoc.Printable(r)
		}) {
			report(diagnostic.Invalid,
				"the value contains a line break or another unprintable character: "+
					"write the credential again without it")
		}
	}
	return out
}

// ReportCredentials adds a diagnostic about a key of the credentials Secret, or about the Secret if the key is empty.
func ReportCredentials(list *diagnostic.List, key string, kind diagnostic.Kind, message string) {
	list.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Kind: kind, Message: message})
}

// SecretKey returns the value of the required key of the credentials Secret. It reports a missing or empty value. The
// second result is false if there is no value to check.
func SecretKey(src Source, key string, list *diagnostic.List) ([]byte, bool) {
	text, ok := src.Credentials[key]
	switch {
	case src.Credentials == nil && src.CredentialsUnknown:
	case src.Credentials == nil:
		ReportCredentials(list, "", diagnostic.Invalid, NoCredentialsSecret)
	case !ok && len(src.Credentials) == 0:
		ReportCredentials(list, key, diagnostic.Invalid, "the credentials Secret is empty: it needs the key "+key)
	case !ok:
		has := strings.Join(slices.Sorted(maps.Keys(src.Credentials)), ", ")
		ReportCredentials(list, key, diagnostic.Invalid, "the credentials Secret has no such key, only "+has)
	case len(bytes.TrimSpace(text)) == 0:
		ReportCredentials(list, key, diagnostic.Invalid, "it is empty: write the credentials that the cloud issued")
	default:
		return text, true
	}
	return nil, false
}
