package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// secretNames are the suffixes of the names of secret values in any cloud, in normalized form.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "secretkey", "secretaccesskey", "apikey", "privatekey",
	"accesskey", "token", "tokenbody", "accesskeysecret", "secretdata", "saskey", "storagekey", "certpassword",
}

// switchNames are the prefixes of names that end like a secret's but are booleans.
var switchNames = []string{"use", "enable", "disable"}

// plainKeys are the suffixes of keys in a credentials Secret whose values are not secret.
var plainKeys = []string{"region", "resourcegroup", "resourceprefix", "tenantid", "subscriptionid", "clientid",
	"tokenfile"}

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
	isSwitch := slices.ContainsFunc(switchNames,
		func(start string) bool { return strings.HasPrefix(normalize(name), start) })
	return endsIn(name, secretNames) && !isSwitch
}

// redactor removes secrets from files. A secret is a value of the credentials Secret, or any value whose name is a
// secret's name.
type redactor struct {
	// names are the names of the known secrets by value.
	names map[string]string
	// embedded are the spellings of the known secrets that are also redacted inside other values.
	embedded secretIndex
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
	r.embedded = newSecretIndex(r.names)
	return r
}

// addSecretsOf adds the secrets in a file. A boolean value is a secret only under its own name.
func (r *redactor) addSecretsOf(text []byte) {
	values, _, ok := valuesOf(text)
	for _, v := range values {
		i := slices.IndexFunc(v.names, isSecret)
		isSwitch := slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "~", "0", "1"},
			strings.ToLower(v.text))
		if ok && i >= 0 && !v.isKey && !v.isComment && !isSwitch {
			r.addSecret(v.text, v.names[i])
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

// redact returns the data without secrets and comments. YAML loses its layout. Data in an unknown format is replaced by
// its size.
func (r *redactor) redact(data []byte) string {
	if len(bytes.TrimSpace(data)) == 0 {
		return string(data)
	}
	values, documents, ok := valuesOf(data)
	redacted := ""
	switch {
	case ok && documents == nil:
		redacted = r.redactInPlace(data, values)
	case ok:
		redacted, ok = r.redactYAML(documents, values)
	}
	if !ok {
		return fmt.Sprintf("<%d bytes that are neither INI, JSON nor YAML>\n", len(data))
	}
	return r.embedded.replace(redacted) // secrets outside values too, for example in names
}

// redactInPlace redacts INI or JSON and keeps its layout.
func (r *redactor) redactInPlace(data []byte, values []value) string {
	var out strings.Builder
	at := 0
	for _, v := range values {
		out.Write(data[at:v.start])
		out.WriteString(r.redactedValue(string(data[v.start:v.end]), v))
		at = v.end
	}
	out.Write(data[at:])
	return out.String()
}

func (r *redactor) redactedValue(raw string, v value) string {
	if v.isComment {
		return raw[:1] + " <comment>"
	}
	name := r.nameOf(v)
	masked, escaped := r.mask(raw, v.text)
	if name = cmp.Or(name, escaped); name != "" {
		return v.quote + marker(name) + v.quote
	}
	return masked
}

// redactYAML redacts the nodes and encodes them again: only the library knows where a scalar ends.
func (r *redactor) redactYAML(documents []*yaml.Node, values []value) (redacted string, ok bool) {
	// An alias puts one value in several places, each of which may make it a secret.
	names := map[*yaml.Node]string{}
	for _, v := range values {
		names[v.node] = cmp.Or(names[v.node], r.nameOf(v))
	}
	for node, name := range names {
		if node.Style&yaml.TaggedStyle == 0 {
			node.Tag = "" // it is the tag of the former value
		}
		if name == "" {
			node.Value, _ = r.mask(node.Value, node.Value)
			continue
		}
		node.Value = marker(name)
		node.Style &^= yaml.LiteralStyle | yaml.FoldedStyle
	}
	var out strings.Builder
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return "", false
		}
	}
	return out.String(), encoder.Close() == nil
}

// mask replaces the secrets inside a value, and also returns the name of one that raw has only with escape sequences.
func (r *redactor) mask(raw, text string) (masked, escaped string) {
	masked = raw
	for _, password := range passwordsInURLs(text) {
		name := cmp.Or(r.names[password], "password")
		if !strings.Contains(masked, password) {
			return "", name
		}
		text = strings.ReplaceAll(text, password, marker(name))
		masked = strings.ReplaceAll(masked, password, marker(name))
	}
	for _, found := range r.embedded.find(text) {
		if !strings.Contains(masked, text[found.start:found.end]) {
			return "", found.name
		}
	}
	return r.embedded.replace(masked), ""
}

// nameOf returns the name of the secret if the value is one, otherwise "".
func (r *redactor) nameOf(v value) string {
	text := strings.TrimSpace(v.text)
	if name := r.names[text]; name != "" || text == "" || v.isKey {
		return name
	}
	if i := slices.IndexFunc(v.names, isSecret); i >= 0 {
		return v.names[i]
	}
	return ""
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
