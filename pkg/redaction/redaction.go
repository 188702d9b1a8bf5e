// Package redaction removes secrets from files and from text that quotes them.
//
// A value of a file is shown only if its name is known to be public; any other value is replaced by its name. A value
// with a public name is replaced too if it equals or contains a secret, or if its form is secret.
package redaction

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// minEmbedded is the minimum length of a secret that is redacted in other values: a shorter one may be in any word.
const minEmbedded = 8

// Redactor removes secrets. A secret is a value of the credentials Secret, or any value whose name is a secret's name.
type Redactor struct {
	// public are the normalized names whose values may be shown.
	public map[string]bool
	// names maps the known secrets to their names.
	names map[string]string
	// embedded finds the known secrets that are also redacted inside other values.
	embedded secretIndex
	// words are the known secrets that Line redacts as words.
	words []string
}

// New collects the secrets of the credentials Secret and of the configurations. A secret is redacted everywhere,
// because an alias or the conversion may copy it to another place. public are the names whose values may be shown:
// "name", or "name.*" for all names directly below a mapping. Their case and separators do not matter.
func New(public []string, credentials map[string][]byte, configs ...[]byte) *Redactor {
	r := &Redactor{public: map[string]bool{}, names: map[string]string{}}
	for _, name := range public {
		parent, isMap := strings.CutSuffix(name, ".*")
		key := normalize(parent)
		if isMap {
			key += ".*"
		}
		r.public[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		if !endsIn(key, plainKeys) {
			r.addSecret(string(credentials[key]), key)
			r.addSecretsOf(credentials[key], 0)
		}
	}
	r.addAll(configs)
	return r
}

// Named is a secret, and the name that replaces it.
type Named struct {
	Name  string
	Value []byte
}

// ForText returns a Redactor for Line and Text. It knows the secrets and those that the documents contain.
func ForText(secrets []Named, documents ...[]byte) *Redactor {
	r := &Redactor{names: map[string]string{}}
	for _, secret := range secrets {
		if text := strings.ToLower(strings.TrimSpace(string(secret.Value))); !slices.Contains(switchValues, text) {
			r.addSecret(string(secret.Value), secret.Name)
		}
	}
	r.addAll(documents)
	return r
}

func (r *Redactor) addAll(documents [][]byte) {
	for _, document := range documents {
		r.addSecretsOf(document, 0)
	}
	r.embedded, r.words = newSecretIndex(r.names), wordsOf(r.names)
}

func (r *Redactor) isPublic(v value) bool {
	last := len(v.names) - 1
	if last < 0 || slices.ContainsFunc(v.names, v.isSecretUnder) || v.continues && !r.public[normalize(v.names[0])] {
		return false
	}
	return r.public[normalize(v.names[last])] || last > 0 && r.public[normalize(v.names[last-1])+".*"]
}

// maxDepth limits documents nested in the values of documents.
const maxDepth = 4

// addSecretsOf adds the secrets of a file, and of the documents that are its values. It does not add booleans, which
// are redacted only under their own name.
func (r *Redactor) addSecretsOf(text []byte, depth int) {
	values, _, ok := valuesOf(text)
	if !ok || depth > maxDepth {
		return
	}
	for _, v := range values {
		if v.isKey || v.isComment {
			continue
		}
		isBool := slices.Contains(switchValues, strings.ToLower(v.text))
		if i := slices.IndexFunc(v.names, v.isSecretUnder); i >= 0 && !isBool {
			r.addSecret(v.text, v.names[i])
		}
		if _, isDocument := documentIn(v.text); isDocument {
			r.addSecretsOf([]byte(v.text), depth+1)
		}
	}
}

// addSecret adds a secret, plain and in base64, which some providers use.
func (r *Redactor) addSecret(secret, name string) {
	if secret = strings.TrimSpace(secret); secret != "" {
		r.names[secret] = cmp.Or(r.names[secret], name)
		r.names[base64.StdEncoding.EncodeToString([]byte(secret))] = r.names[secret]
	}
}

// File returns a file without secrets and comments. YAML loses its layout, and an unknown format all but its size.
func (r *Redactor) File(data []byte) string {
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

func (r *Redactor) redactInPlace(data []byte, values []value) string {
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

func (r *Redactor) redactedValue(raw string, v value) string {
	if v.isComment {
		return raw[:1] + " <comment>"
	}
	if name := r.nameOf(v); name != "" {
		return v.quote + marker(name) + v.quote
	}
	masked, hidden := r.mask(raw, v)
	if hidden != "" {
		return v.quote + marker(hidden) + v.quote
	}
	return masked
}

// redactYAML redacts the nodes and encodes them again: only the library knows where a scalar ends.
func (r *Redactor) redactYAML(documents []*yaml.Node, values []value) (redacted string, ok bool) {
	// An alias puts one value in several places, each of which may make it a secret.
	names := map[*yaml.Node]string{}
	texts := map[*yaml.Node]string{}
	for _, v := range values {
		name := r.nameOf(v)
		if name == "" {
			texts[v.node], name = r.mask(v.node.Value, v)
		}
		names[v.node] = cmp.Or(names[v.node], name)
	}
	for node, name := range names {
		if node.Style&yaml.TaggedStyle == 0 {
			node.Tag = "" // the tag of the former value
		}
		if name == "" {
			node.Value = texts[node]
			continue
		}
		node.Value = marker(name)
		node.Style &^= yaml.LiteralStyle | yaml.FoldedStyle
	}
	hideMarks(documents)
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

// hideMarks numbers anchors and removes custom tags: an unquoted secret that starts with & or ! is parsed as one.
func hideMarks(documents []*yaml.Node) {
	anchors := map[*yaml.Node]string{}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Anchor != "" {
			anchors[n] = fmt.Sprintf("a%d", len(anchors)+1)
			n.Anchor = anchors[n]
		}
		if n.Kind == yaml.AliasNode {
			n.Value = anchors[n.Alias]
		}
		if n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.Tag, "!!") {
			n.Tag, n.Style = "", n.Style&^yaml.TaggedStyle
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	for _, document := range documents {
		visit(document)
	}
}

// mask replaces the secrets inside a value. hidden is the name for the whole value if a part cannot be replaced,
// because raw contains it only with escape sequences, or because the value's form is secret.
func (r *Redactor) mask(raw string, v value) (masked, hidden string) {
	masked, text := raw, v.text
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
	if r.looksSecret(text, 0) {
		return "", v.name()
	}
	return r.embedded.replace(masked), ""
}

// maskedLogin matches a URL's login whose password is a marker.
var maskedLogin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^\s/@:]*:<[\w.-]+>@`) })

// looksSecret reports whether a value has a secret form, or is a document with a value that must not be shown.
func (r *Redactor) looksSecret(text string, depth int) bool {
	if LooksSecret(maskedLogin().ReplaceAllString(text, "//")) || depth > maxDepth {
		return true
	}
	values, isDocument := documentIn(text)
	return isDocument && slices.ContainsFunc(values, func(v value) bool {
		return !v.isKey && !v.isComment &&
			(len(v.names) > 0 && !r.isPublic(v) || v.text != text && r.looksSecret(v.text, depth+1))
	})
}

func (r *Redactor) nameOf(v value) string {
	text := strings.TrimSpace(v.text)
	if name := r.names[text]; name != "" || text == "" || v.isKey || r.isPublic(v) {
		return name
	}
	return v.name()
}

func marker(name string) string {
	return "<" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name) + ">"
}

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
