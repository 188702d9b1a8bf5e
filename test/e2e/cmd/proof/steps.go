package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

const aboutSteps = `
## Platforms

The steps of the story on each platform, with the time that each took; "–" is for a step that the
platform does not have. In a cold run the machine first builds the servers, the nodes' programs and
the CCMs of all platforms from their sources, with empty caches.

`

const aboutFigures = `
What was measured in the steps:

| platform | step | seen | commit |
|---|---|---|---|
`

// column is one run of a platform's story.
type column struct {
	platform string
	cold     bool
}

func (c column) title() string {
	if c.cold {
		return c.platform + ", cold"
	}
	return c.platform
}

func (c column) compare(other column) int {
	warmFirst := func(c column) int { return map[bool]int{true: 1}[c.cold] }
	return cmp.Or(strings.Compare(c.platform, other.platform), cmp.Compare(warmFirst(c), warmFirst(other)))
}

// stories returns the steps of one story.
func (r records) stories(name string) []record.Step {
	return slices.DeleteFunc(slices.Clone(r.steps), func(s record.Step) bool { return s.Story != name })
}

// built returns the steps of the stories with a CCM that was built here.
func (r records) built() []record.Step {
	return slices.DeleteFunc(r.stories(""), func(s record.Step) bool { return s.CCM != "" })
}

// writeSteps writes the story of every platform: a table of times, a row for each step, and a table of figures.
func (r records) writeSteps(out io.Writer) {
	steps := r.built()
	took, order := map[column]map[string]string{}, map[string]int{}
	for _, s := range steps {
		c := column{s.Platform, s.Cold}
		if took[c] == nil {
			took[c] = map[string]string{}
		}
		took[c][s.Name] = seconds(s.Duration)
		order[s.Name] = max(order[s.Name], s.Order)
	}
	columns := slices.SortedFunc(maps.Keys(took), column.compare)
	fmt.Fprint(out, aboutSteps, "| step |")
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", c.title())
	}
	fmt.Fprint(out, "\n|---|", strings.Repeat("---|", len(columns)), "\n")
	for _, name := range slices.SortedFunc(maps.Keys(order), func(a, b string) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b))
	}) {
		fmt.Fprintf(out, "| %s |", cell(name))
		for _, c := range columns {
			fmt.Fprintf(out, " %s |", cmp.Or(took[c][name], "–"))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, aboutFigures)
	for _, s := range steps {
		if s.Detail != "" {
			title := column{s.Platform, s.Cold}.title()
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", title, cell(s.Name), cell(s.Detail), s.Commit)
		}
	}
}

// writeDeletions writes what is the opposite of a lie.
func (r records) writeDeletions(out io.Writer, platform string) {
	steps := slices.DeleteFunc(r.stories(record.Deletions), func(s record.Step) bool { return s.Platform != platform })
	if len(steps) > 0 {
		fmt.Fprint(out, "\nTrue answers in the same run:\n\n| step | seen | commit |\n|---|---|---|\n")
	}
	for _, s := range steps {
		fmt.Fprintf(out, "| %s | %s | %s |\n", cell(s.Name), cell(s.Detail), s.Commit)
	}
}
