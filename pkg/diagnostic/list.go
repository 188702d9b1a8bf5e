package diagnostic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CABundleKey is the key of the CA bundle in the ConfigMap that contains the cloud configuration.
const CABundleKey = "ca-bundle.pem"

// maxSorted limits the result of Sorted, so that the list fits in a status.
const maxSorted = 100

// List collects diagnostics.
type List []Diagnostic

// Add appends a diagnostic.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// Has reports whether any diagnostic has the kind.
func (l *List) Has(kind Kind) bool {
	return slices.ContainsFunc(*l, func(d Diagnostic) bool { return d.Kind == kind })
}

// Sorted returns the diagnostics ordered by input and position. If there are more than maxSorted, it omits the least
// severe and, within a severity, the last.
func (l *List) Sorted() List {
	all := slices.Clone(*l)
	if all.Has(Invalid) || len(all) > maxSorted {
		// An invalid input is not adapted, and adaptations are the least important diagnostics.
		all = slices.DeleteFunc(all, func(d Diagnostic) bool { return d.Kind == Adapted })
	}
	slices.SortStableFunc(all, byPlace)
	if len(all) <= maxSorted {
		return all
	}
	kinds := []Kind{Invalid, Redirected, Contradictory, Ambiguous, Typo, Insecure, Doubtful, Unknown, Rewritten,
		Legacy}
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	rest := all[maxSorted-1]
	rest.Message, rest.SeeLine = fmt.Sprintf("%d more from here on are not listed: correct the others first",
		len(all)-maxSorted+1), 0
	all = append(all[:maxSorted-1:maxSorted-1], rest)
	slices.SortStableFunc(all, byPlace)
	return all
}

func byPlace(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.input(), b.input()),
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.SeeLine, b.SeeLine),
	)
}

// maxJoined limits the items of JoinFew, so that several lists fit in a condition.
const maxJoined = 5

// Few joins the first items for a sentence, and appends the number of the others.
func Few(items []string) string { return JoinFew(items, ", ", " and %d more") }

// FewNodes is Few for the names of Nodes.
func FewNodes(names []string) string {
	nodes := make([]string, len(names))
	for i, name := range names {
		nodes[i] = "node/" + name
	}
	return Few(nodes)
}

// JoinFew joins the first items, and appends the number of the others with the format more.
func JoinFew(items []string, separator, more string) string {
	joined := strings.Join(items[:min(len(items), maxJoined)], separator)
	if rest := len(items) - maxJoined; rest > 0 {
		joined += fmt.Sprintf(more, rest)
	}
	return joined
}

// input returns the position of the diagnostic's input in the order configuration, credentials, CA bundle.
func (d Diagnostic) input() int {
	switch {
	case d.Cause == Credentials:
		return 1
	case d.Key == CABundleKey:
		return 2
	}
	return 0
}
