package convert

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// secretIndex finds known secrets inside a text in one pass over it, however many there are.
type secretIndex struct {
	// names are the names of the secrets by spelling.
	names map[string]string
	// lengths has the lengths of the spellings by their first minEmbedded bytes, the longest first.
	lengths map[string][]int
}

// secretSpan is the part of a text that one secret covers, or several that overlap. The name is the first one's.
type secretSpan struct {
	start, end int
	name       string
}

// newSecretIndex returns the index of the secrets, each with its name. It has them also with the escape sequences of
// JSON.
func newSecretIndex(names map[string]string) secretIndex {
	index := secretIndex{names: map[string]string{}, lengths: map[string][]int{}}
	add := func(spelling, name string) {
		if len(spelling) < minEmbedded || index.names[spelling] != "" {
			return
		}
		index.names[spelling] = name
		lengths := index.lengths[spelling[:minEmbedded]]
		if at, found := slices.BinarySearchFunc(lengths, len(spelling), longestFirst); !found {
			index.lengths[spelling[:minEmbedded]] = slices.Insert(lengths, at, len(spelling))
		}
	}
	for secret, name := range names {
		add(secret, name)
		if quoted, err := json.Marshal(secret); err == nil && len(secret) >= minEmbedded {
			add(string(quoted[1:len(quoted)-1]), name)
		}
	}
	return index
}

func longestFirst(a, b int) int { return cmp.Compare(b, a) }

// find returns the spans of the text that secrets cover, in their order. Spans do not overlap.
func (i secretIndex) find(text string) []secretSpan {
	var spans []secretSpan
	for at := 0; at+minEmbedded <= len(text); at++ {
		for _, length := range i.lengths[text[at:at+minEmbedded]] {
			end := at + length
			if end > len(text) || i.names[text[at:end]] == "" {
				continue
			}
			if last := len(spans) - 1; last >= 0 && at < spans[last].end {
				spans[last].end = max(spans[last].end, end)
			} else {
				spans = append(spans, secretSpan{start: at, end: end, name: i.names[text[at:end]]})
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
