package parity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Reason explains differences.
type Reason struct {
	Section string `json:"section"`
	// Items are names in which a star stands for any characters.
	Items []string `json:"items"`
	// Platforms limits the reason; without any it is for all scopes.
	Platforms []string `json:"platforms,omitempty"`
	Why       string   `json:"why"`
}

// ReadReasons reads reasons.yaml.
func ReadReasons(file string) ([]Reason, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the reasons: %w", err)
	}
	var reasons []Reason
	if err := yaml.UnmarshalStrict(content, &reasons); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return reasons, nil
}

// absent is the value of an item that one side does not have.
const absent = "–"

// row compares an item.
type row struct {
	scope, section, item, theirs, ours string
	// why is empty if both are the same.
	why string
}

func (r row) differs() bool { return r.theirs != r.ours }

func (r row) String() string {
	return fmt.Sprintf("%s, %s %s: %q of the predecessor, %q of ours", r.scope, r.section, r.item, r.theirs, r.ours)
}

// compare returns a row for each item of either side, except for platforms that only ours has. What is the same row on
// every platform has the scope every. compare fails if a difference has no reason, and if a reason explains no
// difference. Of several reasons the first counts.
func compare(theirs, ours Facts, reasons []Reason) ([]row, error) {
	explained := newExplanations(reasons)
	var rows []row
	var errs []error
	platforms := 0
	for _, scope := range keysOf(theirs, nil) {
		if scope != payload {
			platforms++
		}
		for _, section := range keysOf(theirs[scope], ours[scope]) {
			if !slices.Contains(sections, section) {
				errs = append(errs, fmt.Errorf("%s has the unknown section %s", scope, section))
			}
			for _, item := range keysOf(theirs[scope][section], ours[scope][section]) {
				compared := row{
					scope: scope, section: section, item: item,
					theirs: cmp.Or(theirs[scope][section][item], absent), ours: cmp.Or(ours[scope][section][item], absent),
				}
				if compared.differs() {
					if compared.why = explained.of(compared); compared.why == "" {
						errs = append(errs, fmt.Errorf("no reason for %s", compared))
					}
				}
				rows = append(rows, compared)
			}
		}
	}
	return join(rows, platforms), errors.Join(append(errs, explained.unused()...)...)
}

// keysOf returns the keys of both maps.
func keysOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// join replaces rows that all platforms have by one, and sorts the rows as in the document.
func join(rows []row, platforms int) []row {
	count := map[row]int{}
	shared := func(r row) row {
		r.scope = every
		return r
	}
	for _, r := range rows {
		if r.scope != payload {
			count[shared(r)]++
		}
	}
	var joined []row
	for _, r := range rows {
		if r.scope == payload || count[shared(r)] < platforms {
			joined = append(joined, r)
		}
	}
	for r, n := range count {
		if n == platforms {
			joined = append(joined, r)
		}
	}
	slices.SortFunc(joined, func(a, b row) int {
		return cmp.Or(cmp.Compare(rank(a.scope), rank(b.scope)), strings.Compare(a.scope, b.scope),
			cmp.Compare(slices.Index(sections, a.section), slices.Index(sections, b.section)), strings.Compare(a.item, b.item))
	})
	return joined
}

// rank sorts every before the platforms, and payload after them.
func rank(scope string) int {
	switch scope {
	case every:
		return 0
	case payload:
		return 2
	}
	return 1
}

// explanations are reasons and which of them were used.
type explanations struct {
	reasons  []Reason
	patterns [][]*regexp.Regexp
	used     map[string]bool
}

func newExplanations(reasons []Reason) *explanations {
	e := &explanations{reasons: reasons, used: map[string]bool{}}
	for _, reason := range reasons {
		var patterns []*regexp.Regexp
		for _, item := range reason.Items {
			patterns = append(patterns, regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(item), `\*`, ".*")+"$"))
		}
		e.patterns = append(e.patterns, patterns)
	}
	return e
}

func (e *explanations) of(r row) string {
	for i, reason := range e.reasons {
		if reason.Section != r.section || len(reason.Platforms) > 0 && !slices.Contains(reason.Platforms, r.scope) {
			continue
		}
		for j, pattern := range e.patterns[i] {
			if pattern.MatchString(r.item) {
				e.used[fmt.Sprint(i, " item ", j)] = true
				e.used[fmt.Sprint(i, " on ", r.scope)] = true
				return reason.Why
			}
		}
	}
	return ""
}

func (e *explanations) unused() []error {
	var errs []error
	for i, reason := range e.reasons {
		for j, item := range reason.Items {
			if !e.used[fmt.Sprint(i, " item ", j)] {
				errs = append(errs, fmt.Errorf("no difference for the reason of %s %s: %s", reason.Section, item, reason.Why))
			}
		}
		for _, scope := range reason.Platforms {
			if !e.used[fmt.Sprint(i, " on ", scope)] {
				errs = append(errs, fmt.Errorf("no difference on %s for the reason: %s", scope, reason.Why))
			}
		}
	}
	return errs
}
