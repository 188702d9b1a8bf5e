package redaction

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// minWord is the minimum length of a secret that is redacted as a word of a text. A shorter one would be found in
	// many texts that do not quote it.
	minWord = 4
	// minRest is the minimum length of the end of a secret that is redacted at the start of a text.
	minRest = 6
)

// Line returns a text without the known secrets. The text may quote them in any spelling, and may begin in the middle
// of one, as the tail of a log does. A secret of less than eight characters is redacted only as a word, and one of less
// than four not at all.
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

// Text returns a text of several lines, each of which may begin in the middle of a secret, without the known secrets,
// and without what the function Text removes.
func (r *Redactor) Text(text string) string {
	lines := strings.Split(r.Line(text), "\n") // one may have several lines
	for i := range lines {
		lines[i] = r.Line(lines[i])
	}
	return Text(strings.Join(lines, "\n"))
}

// withoutRest replaces the longest end of a secret with which the text begins.
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

// replaceWord replaces a secret where neither a letter nor a digit is beside it.
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

// wordsOf returns the secrets that are too short to be redacted inside words, the longest first.
func wordsOf(names map[string]string) []string {
	var words []string
	for secret := range names {
		if len(secret) >= minWord && len(secret) < minEmbedded && !slices.Contains(switchValues, strings.ToLower(secret)) {
			words = append(words, secret)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(longestFirst(len(a), len(b)), strings.Compare(a, b)) })
	return words
}
