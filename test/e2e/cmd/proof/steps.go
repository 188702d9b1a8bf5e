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

const platformsHeading = "Platforms"

const aboutSteps = `
## ` + platformsHeading + `

The steps of the story on each platform, with the time that each took; "–" is for a step that the
platform does not have. In a cold run the machine first builds the servers, the nodes' programs and
the CCMs of all platforms from their sources, with empty caches.

`

const aboutFigures = `
What was measured in the steps:

| platform | step | seen | commit |
|---|---|---|---|
`

// built are the stories with a CCM that is built here: the time of each step and the rows of figures, by the title of a
// column, which is a platform or its cold run. The order is that of the steps.
type built struct {
	took    map[string]map[string]string
	figures map[string][]string
	order   map[string]int
}

// built returns what the document has.
func (d document) built() built {
	found := built{map[string]map[string]string{}, map[string][]string{}, map[string]int{}}
	var titles []string
	for line := range strings.Lines(d[platformsHeading]) {
		cells := cellsOf(line)
		switch {
		case strings.HasPrefix(line, "|--"):
		case len(cells) < 2 || cells[0] == "platform":
			titles = nil // another table begins, or this one ends
		case cells[0] == "step":
			titles = cells[1:]
		case titles == nil:
			found.figures[cells[0]] = append(found.figures[cells[0]], line)
		default:
			found.order[cells[0]] = len(found.order)
			for i, title := range titles {
				if cells[1+i] != "–" {
					found.add(title, cells[0], cells[1+i])
				}
			}
		}
	}
	return found
}

func (b built) add(title, step, took string) {
	if b.took[title] == nil {
		b.took[title] = map[string]string{}
	}
	b.took[title][step] = took
}

// stories returns the steps of one story.
func (r records) stories(name string) []record.Step {
	return slices.DeleteFunc(slices.Clone(r.steps), func(s record.Step) bool { return s.Story != name })
}

// built returns the steps of the stories with a CCM that was built here.
func (r records) built() []record.Step {
	return slices.DeleteFunc(r.stories(""), func(s record.Step) bool { return s.CCM != "" })
}

// writeSteps writes the story of every platform: a table of times, a row for each step, and a table of figures. The
// column of a platform without a record stays.
func (r records) writeSteps(out io.Writer) {
	all, fresh := r.former.built(), map[string]bool{}
	for _, s := range r.built() {
		title := s.Platform
		if s.Cold {
			title += ", cold"
		}
		if !fresh[title] {
			fresh[title] = true
			delete(all.took, title)
			delete(all.figures, title)
		}
		all.add(title, s.Name, seconds(s.Duration))
		all.order[s.Name] = max(all.order[s.Name], s.Order)
		if s.Detail != "" {
			all.figures[title] = append(all.figures[title],
				fmt.Sprintf("| %s | %s | %s | %s |\n", title, cell(s.Name), cell(s.Detail), s.Commit))
		}
	}
	titles := slices.Sorted(maps.Keys(all.took))
	fmt.Fprintf(out, "%s| step | %s |\n|---|%s\n", aboutSteps, strings.Join(titles, " | "),
		strings.Repeat("---|", len(titles)))
	for _, name := range slices.SortedFunc(maps.Keys(all.order), func(a, b string) int {
		return cmp.Or(cmp.Compare(all.order[a], all.order[b]), strings.Compare(a, b))
	}) {
		row, has := "| "+cell(name)+" |", false
		for _, title := range titles {
			row += " " + cmp.Or(all.took[title][name], "–") + " |"
			has = has || all.took[title][name] != ""
		}
		if has {
			fmt.Fprintln(out, row)
		}
	}
	fmt.Fprint(out, aboutFigures)
	for _, title := range titles {
		fmt.Fprint(out, strings.Join(all.figures[title], ""))
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
