package redaction

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// minWord is the minimum length of a secret that is redacted as a word. Shorter ones would be found in many texts.
	minWord = 4
	// minRest is the minimum length of the end of a secret that is redacted at the start of a text.
	minRest = 6
)

// Line returns a text without the known secrets. The text may quote them in any spelling, and may start within a
// secret, like the tail of a log. A secret shorter than minEmbedded is redacted only as a word, and one shorter than
// minWord not at all.
func (r *Redactor) Line(text string) string {
	if text == "" {
		return ""
	}
	text = r.withoutRest(text)
	text = r.embedded.replace(text)
	for _, secret := range r.words {
		text = replaceWord(text, secret, marker(r.names[secret]))
	}
	return text
}

// Text is Line for a text of several lines, each of which may start within a secret. It also applies the function Text.
func (r *Redactor) Text(text string) string {
	lines := strings.Split(r.Line(text), "\n") // a secret may have several lines
	for i := range lines {
		lines[i] = r.Line(lines[i])
	}
	return Text(strings.Join(lines, "\n"))
}

// withoutRest replaces the longest end of a secret with which the text starts.
func (r *Redactor) withoutRest(text string) string {
	longest, name := 0, ""
	for _, secret := range r.embedded.sorted {
		for n := min(len(secret), len(text)); n > max(longest, minRest-1); n-- {
			if text[:n] == secret[len(secret)-n:] {
				longest, name = n, r.embedded.names[secret]
				break
			}
		}
	}
	if longest == 0 {
		return text
	}
	return marker(name) + text[longest:]
}

// replaceWord replaces a secret that has no letter, digit or underscore beside it.
func replaceWord(text, secret, replacement string) string {
	var out strings.Builder
	at := 0
	for at < len(text) {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(secret)
		if start > 0 && isWord(text[start-1]) || end < len(text) && isWord(text[end]) {
			out.WriteString(text[at : start+1])
			at = start + 1
			continue
		}
		out.WriteString(text[at:start] + replacement)
		at = end
	}
	return out.String() + text[at:]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func wordsOf(names map[string]string) []string {
	var words []string
	for secret := range names {
		if len(secret) >= minWord && len(secret) < minEmbedded && !slices.Contains(switchValues, strings.ToLower(secret)) {
			words = append(words, secret)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return words
}

// secretIndex finds any number of known secrets in a text in one pass.
type secretIndex struct {
	// names maps the spellings to the names of the secrets.
	names map[string]string
	// byStart maps the first minEmbedded bytes to the spellings that start with them, each before its prefixes.
	byStart map[string][]string
	sorted  []string
}

// secretSpan is the part of a text that a secret, or several overlapping secrets, cover. name is that of the first.
type secretSpan struct {
	start, end int
	name       string
}

func newSecretIndex(names map[string]string) secretIndex {
	index := secretIndex{names: map[string]string{}, byStart: map[string][]string{}}
	for _, secret := range slices.Sorted(maps.Keys(names)) {
		for _, spelling := range spellings(secret) {
			index.names[spelling] = cmp.Or(index.names[spelling], names[secret])
		}
	}
	index.sorted = slices.Sorted(maps.Keys(index.names))
	for _, spelling := range slices.Backward(index.sorted) { // a prefix of another one sorts before it
		start := spelling[:minEmbedded]
		index.byStart[start] = append(index.byStart[start], spelling)
	}
	return index
}

// minLine is the minimum length of a line of a key that is itself a secret. A base64 line of PEM has 64 characters.
const minLine = 24

// spellings returns the secret as programs write it: with the escape sequences of JSON and Go, also nested; as a part
// of a URL; in base64; and each line of a key.
func spellings(secret string) []string {
	if len(secret) < minEmbedded {
		return nil
	}
	quoted := []string{secret}
	for range 2 {
		for _, text := range quoted {
			quoted = append(quoted, inJSON(text, true), inJSON(text, false), unquoted(strconv.Quote(text)))
		}
		slices.Sort(quoted)
		quoted = slices.Compact(quoted)
	}
	all := append(quoted, unquoted(strconv.QuoteToASCII(secret)), url.QueryEscape(secret), url.PathEscape(secret),
		url.UserPassword("", secret).String()[1:], base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.URLEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)))
	if strings.Contains(secret, "-----BEGIN ") {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	return all
}

func inJSON(text string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if encoder.Encode(text) != nil {
		return text
	}
	return unquoted(strings.TrimSpace(b.String()))
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// find returns the spans of the text that secrets cover, in order and without overlaps.
func (i secretIndex) find(text string) []secretSpan {
	var spans []secretSpan
	for at := 0; at+minEmbedded <= len(text); at++ {
		for _, spelling := range i.byStart[text[at:at+minEmbedded]] {
			if !strings.HasPrefix(text[at:], spelling) {
				continue
			}
			end := at + len(spelling)
			if last := len(spans) - 1; last >= 0 && at < spans[last].end {
				spans[last].end = max(spans[last].end, end)
			} else {
				spans = append(spans, secretSpan{start: at, end: end, name: i.names[spelling]})
			}
			break // the others that match here are shorter
		}
	}
	return spans
}

func (i secretIndex) replace(text string) string {
	var out strings.Builder
	at := 0
	for _, span := range i.find(text) {
		out.WriteString(text[at:span.start] + marker(span.name))
		at = span.end
	}
	return out.String() + text[at:]
}
