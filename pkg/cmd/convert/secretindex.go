package convert

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// secretIndex finds known secrets inside a text in one pass over it, however many there are.
type secretIndex struct {
	// byStart has the secrets by their first minEmbedded bytes, the longest first.
	byStart map[string][]string
	names   map[string]string
}

// secretSpan is the part of a text that one secret covers, or several that overlap. The name is the first one's.
type secretSpan struct {
	start, end int
	name       string
}

// newSecretIndex returns the index of the secrets, each with its name. It has them also with the escape sequences of
// JSON.
func newSecretIndex(names map[string]string) secretIndex {
	index := secretIndex{byStart: map[string][]string{}, names: map[string]string{}}
	add := func(spelling, name string) {
		if len(spelling) >= minEmbedded && index.names[spelling] == "" {
			start := spelling[:minEmbedded]
			index.names[spelling], index.byStart[start] = name, append(index.byStart[start], spelling)
		}
	}
	for secret, name := range names {
		add(secret, name)
		if quoted, err := json.Marshal(secret); err == nil && len(secret) >= minEmbedded {
			add(string(quoted[1:len(quoted)-1]), name)
		}
	}
	for _, secrets := range index.byStart {
		slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return index
}

// find returns the spans of the text that secrets cover, in their order. Spans do not overlap.
func (i secretIndex) find(text string) []secretSpan {
	var spans []secretSpan
	for at := 0; at+minEmbedded <= len(text); at++ {
		for _, secret := range i.byStart[text[at:at+minEmbedded]] {
			if !strings.HasPrefix(text[at:], secret) {
				continue
			}
			end := at + len(secret)
			if last := len(spans) - 1; last >= 0 && at < spans[last].end {
				spans[last].end = max(spans[last].end, end)
			} else {
				spans = append(spans, secretSpan{start: at, end: end, name: i.names[secret]})
			}
			break // the others with this start are shorter
		}
	}
	return spans
}

// replace returns the text with markers in place of secrets.
func (i secretIndex) replace(text string) string {
	var out strings.Builder
	at := 0
	for _, span := range i.find(text) {
		out.WriteString(text[at:span.start] + marker(span.name))
		at = span.end
	}
	return out.String() + text[at:]
}
