package confdoc

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shownLength is how many characters of a name or value a message shows at most.
const shownLength = 100

// Quoted is a name or value as messages show it. A password in a URL is not shown.
func Quoted(text string) string {
	if strings.Contains(text, "@") && strings.Contains(text, "//") {
		u, err := url.Parse(text)
		if err != nil {
			return "not a URL"
		}
		text = u.Redacted()
	}
	return strconv.Quote(Cut(text))
}

// Cut keeps a message short.
func Cut(text string) string {
	if r := []rune(text); len(r) > shownLength {
		return string(r[:shownLength]) + "…"
	}
	return text
}

// Nearest is the known name that was probably meant by an unknown one; empty when none is close. Two characters may be
// wrong, missing, too many or swapped, but no more than a third of the name. Of equally close names the first one counts.
func Nearest(name string, known []string) string {
	unknown := []rune(name)
	best, bestDistance := "", 3
	for _, k := range known {
		length := utf8.RuneCountInString(k)
		limit := min(2, max(len(unknown), length)/3, bestDistance-1)
		if d := len(unknown) - length; d > limit || -d > limit {
			continue
		}
		if d := editDistance(unknown, []rune(k)); d <= limit {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b, where no part
// is changed twice ("optimal string alignment"). Upper and lower case of ASCII count as equal, as "_" and "-" do.
func editDistance(a, b []rune) int {
	older, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if fold(a[i-1]) == fold(b[j-1]) {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && fold(a[i-1]) == fold(b[j-2]) && fold(a[i-2]) == fold(b[j-1]) {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, previous, current = previous, current, older
	}
	return previous[len(b)]
}

func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == '_':
		return '-'
	}
	return r
}

// QuotedAll returns each name as Quoted does.
func QuotedAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = Quoted(n)
	}
	return out
}

// JoinFew joins the first names of a list, so that it fits in a message.
func JoinFew(names []string) string {
	const most = 12
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Position turns a byte offset into a 1-based line and column; the column counts characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}
