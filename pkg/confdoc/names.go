package confdoc

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// maxShown is the maximum number of characters of a name or value in messages.
const maxShown = 100

// hiddenValue replaces a value that looks like a secret.
const hiddenValue = `"<hidden>"`

// Quoted quotes a name or value for a message. It hides the password of a URL, and a text that looks like a secret.
func Quoted(text string) string {
	bare := text
	if strings.Contains(text, "@") && strings.Contains(text, "//") {
		u, err := url.Parse(text)
		if err != nil {
			return "not a URL"
		}
		text = u.Redacted()
		if _, hasPassword := u.User.Password(); hasPassword {
			u.User = nil
			bare = u.String()
		}
	}
	if redaction.LooksSecret(bare) {
		return hiddenValue
	}
	return strconv.Quote(Cut(text))
}

// Cut truncates a text to the maximum length in messages.
func Cut(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}

// Nearest returns the known name that an unknown name probably stands for, or an empty string if none is close. Up to
// two characters, but no more than a third of the name, may be wrong, missing, extra or swapped. Case, hyphens and
// underscores are ignored. Of equally close names it returns the first one.
func Nearest(name string, known []string) string {
	unknown := folded(name)
	best, bestDistance := "", 3
	for _, k := range known {
		meant := folded(k)
		limit := min(2, max(len(unknown), len(meant))/3, bestDistance-1)
		if d := len(unknown) - len(meant); d > limit || -d > limit {
			continue
		}
		if d := editDistance(unknown, meant); d <= limit {
			best, bestDistance = k, d
		}
	}
	return best
}

const minCompleted = 5

// completion returns the known name that starts with an unknown name, or an empty string if none or several do.
func completion(name string, known []string) string {
	start, found := string(folded(name)), ""
	if len(start) < minCompleted {
		return ""
	}
	for _, k := range known {
		switch {
		case !strings.HasPrefix(string(folded(k)), start):
		case found != "":
			return ""
		default:
			found = k
		}
	}
	return found
}

var joints = strings.NewReplacer("_", "", "-", "")

// folded normalizes case and word separators: node-tags, node_tags and nodeTags are equal.
func folded(name string) []rune { return []rune(strings.ToLower(joints.Replace(name))) }

// SameName reports whether two names differ only in case and word separators.
func SameName(a, b string) bool { return slices.Equal(folded(a), folded(b)) }

// editDistance returns the number of insertions, deletions, substitutions and swaps of neighbors that turn a into b,
// where no part is changed twice ("optimal string alignment").
func editDistance(a, b []rune) int {
	older, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, previous, current = previous, current, older
	}
	return previous[len(b)]
}

// QuotedAll applies Quoted to each name.
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
