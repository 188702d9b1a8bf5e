package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline/document"
)

// secretNames are the suffixes of the names of secret values in any cloud, in normalized form.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "secretaccesskey", "apikey", "privatekey", "accesskey", "token",
	"tokenbody", "accesskeysecret", "secretdata", "saskey", "storagekey", "certpassword",
}

// switchNames are the prefixes of names that end like a secret's but are booleans.
var switchNames = []string{"use", "enable", "disable"}

// plainKeys are the suffixes of keys in a credentials Secret whose values are not secret.
var plainKeys = []string{"region", "resourcegroup", "resourceprefix", "tenantid", "subscriptionid", "clientid", "tokenfile"}

// minEmbedded is the minimum length of a secret that is redacted inside other values: a shorter one may be part of
// any word.
const minEmbedded = 8

// normalize returns a name in lower case without dashes, underscores and dots.
func normalize(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(normalize(name), end) })
}

// isSecret reports whether a name is the name of a secret.
func isSecret(name string) bool {
	isSwitch := slices.ContainsFunc(switchNames, func(start string) bool { return strings.HasPrefix(normalize(name), start) })
	return endsIn(name, secretNames) && !isSwitch
}

// redactor removes secrets from files. A secret is a value of the credentials Secret, or any value whose name is a
// secret's name.
type redactor struct {
	// names are the names of the known secrets by value.
	names map[string]string
	// longest are the known secrets that are also redacted inside other values, the longest first, because one may be
	// part of another.
	longest []string
}

// newRedactor collects the secrets of the credentials Secret and of the configurations. An alias or the conversion
// may copy a secret to another place, so it is redacted everywhere.
func newRedactor(credentials map[string][]byte, configs ...[]byte) *redactor {
	r := &redactor{names: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		if endsIn(key, plainKeys) {
			continue
		}
		r.addSecret(string(credentials[key]), key)
		r.addSecretsOf(credentials[key])
	}
	for _, config := range configs {
		r.addSecretsOf(config)
	}
	r.longest = slices.SortedFunc(maps.Keys(r.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	r.longest = slices.DeleteFunc(r.longest, func(secret string) bool { return len(secret) < minEmbedded })
	return r
}

// addSecretsOf adds the secrets in a file. A boolean value is a secret only under its own name.
func (r *redactor) addSecretsOf(text []byte) {
	values, ok := document.Values(text)
	for _, v := range values {
		i := slices.IndexFunc(v.Names, isSecret)
		isSwitch := slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "~", "0", "1"}, strings.ToLower(v.Text))
		if ok && i >= 0 && !v.Key && !v.Comment && !isSwitch {
			r.addSecret(v.Text, v.Names[i])
		}
	}
}

// addSecret adds a secret, both plain and in base64, which some providers use.
func (r *redactor) addSecret(secret, name string) {
	if secret = strings.TrimSpace(secret); secret != "" {
		r.names[secret] = cmp.Or(r.names[secret], name)
		r.names[base64.StdEncoding.EncodeToString([]byte(secret))] = r.names[secret]
	}
}

// redact returns the data without secrets and comments. Data in an unknown format is not redactedValue at all.
func (r *redactor) redact(data []byte) string {
	if len(bytes.TrimSpace(data)) == 0 {
		return string(data)
	}
	values, ok := document.Values(data)
	if !ok {
		return fmt.Sprintf("<%d bytes that are neither INI, JSON nor YAML>\n", len(data))
	}
	var out strings.Builder
	at := 0
	for len(values) > 0 {
		// A YAML alias puts one value in several places, each of which may make it a secret.
		same := 1
		for same < len(values) && values[same].Start == values[0].Start && values[same].End == values[0].End {
			same++
		}
		out.Write(data[at:values[0].Start])
		out.WriteString(r.redactedValue(data, values[:same]))
		at = values[0].End
		values = values[same:]
	}
	out.Write(data[at:])
	return r.redactKnown(out.String())
}

// redactedValue returns the replacement of a value, which places lists once for each of its places.
func (r *redactor) redactedValue(data []byte, places []document.Value) string {
	v := places[0]
	raw := string(data[v.Start:v.End])
	if v.Comment {
		return raw[:1] + " <comment>"
	}
	if name := r.nameOf(places); name != "" {
		return replacement(v, name)
	}
	text, masked := v.Text, raw
	for _, secret := range append(passwordsInURLs(v.Text), r.longest...) {
		if !strings.Contains(text, secret) {
			continue
		}
		name := cmp.Or(r.names[secret], "password")
		if !strings.Contains(masked, secret) {
			return replacement(v, name) // the secret is escaped in raw, so the whole value is redacted
		}
		text = strings.ReplaceAll(text, secret, marker(name))
		masked = strings.ReplaceAll(masked, secret, marker(name))
	}
	return masked
}

// nameOf returns the name of the secret if the value is one, otherwise "".
func (r *redactor) nameOf(places []document.Value) string {
	text := strings.TrimSpace(places[0].Text)
	if name := r.names[text]; name != "" || text == "" {
		return name
	}
	for _, v := range places {
		if i := slices.IndexFunc(v.Names, isSecret); i >= 0 && !v.Key {
			return v.Names[i]
		}
	}
	return ""
}

// replacement returns the marker in the value's quoting style.
func replacement(v document.Value, name string) string {
	if v.Break {
		return marker(name) + "\n"
	}
	return v.Quote + marker(name) + v.Quote
}

// marker returns the string that replaces a secret.
func marker(name string) string {
	return "<" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name) + ">"
}

// redactKnown redacts the known secrets outside values too, for example in names.
func (r *redactor) redactKnown(text string) string {
	for _, secret := range r.longest {
		text = strings.ReplaceAll(text, secret, marker(r.names[secret]))
		if quoted, err := json.Marshal(secret); err == nil {
			text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), marker(r.names[secret]))
		}
	}
	return text
}

// passwordsInURLs returns the passwords of all URLs in a value.
func passwordsInURLs(text string) []string {
	var passwords []string
	for {
		_, rest, found := strings.Cut(text, "://")
		if !found {
			return passwords
		}
		text = rest
		if stop := strings.IndexAny(rest, " \t\r\n,\"'"); stop >= 0 {
			rest = rest[:stop]
		}
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			continue
		}
		if _, password, hasPassword := strings.Cut(rest[:at], ":"); hasPassword && password != "" {
			passwords = append(passwords, password)
		}
	}
}
