package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/platform"
)

const aboutCoverage = `
## What ran where

Each cell names the CCMs with which the step has passed in a run below: built here from upstream's
module, or given, which is OpenShift's fork or the cloud's own. On external it is OpenStack's, which
an administrator gives as ` + "`spec.custom`" + `. The columns:

- R: the operator renders the pod and its files (the goldens of ` + "`pkg/operand`" + `)
- S: the CCM of the bootstrap node starts and leads, and the first control-plane node is initialized
- C: the CA of the cloud's API is replaced
- K: the credentials are rotated, and the former are used no more
- V: the machine of a Node vanishes, and the Node goes or, on IBM Cloud and Power VS, waits for its
  Machine's controller
- N: every Node is initialized

| platform | R | S | C | K | V | N |
|---|---|---|---|---|---|---|
`

// covered are the steps of the columns after the first one, each with the names that it has on some platform.
var covered = [][]string{
	{"the bootstrap node initializes the first control-plane node"},
	{"the CA of the cloud's API is replaced"},
	{"rotated credentials leave no use of the former"},
	{"the Node of a deleted instance goes",
		"the Node of a deleted instance stays until its Machine's controller deletes it"},
	{"the payload takes over from the bootstrap node and initializes every node"},
}

// uncovered are the platforms without a story, and why.
var uncovered = map[string]string{
	"none": "no CCM runs there (`TestNone` in `test/e2e`)",
}

// ran are the CCMs with which a step has passed, by platform and step.
type ran map[string]map[string][]string

func (r ran) add(platform, step, with string) {
	if r[platform] == nil {
		r[platform] = map[string][]string{}
	}
	r[platform][step] = append(r[platform][step], with)
}

// steps returns what a document says about the steps of its stories.
func (d document) steps() ran {
	found := ran{}
	d.addBuilt(found)
	for name, section := range d.subsections(givenHeading) {
		for line := range strings.Lines(section) {
			if cells := cellsOf(line); len(cells) > 1 {
				found.add(name, cells[0], "given"+markOf(cells))
			}
		}
	}
	return found
}

// addBuilt adds the steps of the table with a column for each platform, with the marks of their figures.
func (d document) addBuilt(found ran) {
	stories := d.built()
	for title, steps := range stories.took {
		marks := map[string]string{}
		for _, row := range stories.figures[title] {
			cells := cellsOf(row)
			marks[cells[1]] = markOf(cells)
		}
		if strings.Contains(title, ", cold") {
			continue
		}
		for step := range steps {
			found.add(title, step, "built"+marks[step])
		}
	}
}

// markOf returns the mark of a row, empty if it has none.
func markOf(cells []string) string {
	if strings.HasSuffix(cells[len(cells)-1], mark) {
		return mark
	}
	return ""
}

// cellsOf returns the cells of a line of a table; nil for another line.
func cellsOf(line string) []string {
	inner, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
	if !isRow {
		return nil
	}
	return strings.Split(strings.TrimSuffix(inner, " |"), " | ")
}

// writeCoverage writes a table of what has run, from the rest of the document.
func writeCoverage(out io.Writer, rest document) {
	fmt.Fprint(out, aboutCoverage)
	steps := rest.steps()
	var reasons strings.Builder
	for _, p := range platform.All() {
		rendered := "golden"
		if !p.Managed() {
			rendered = "–"
		}
		fmt.Fprintf(out, "| %s | %s |", p.Name, rendered)
		for _, names := range covered {
			with := "–"
			for _, name := range names {
				if ccms := steps[p.Name][name]; len(ccms) > 0 {
					with = strings.Join(ccms, ", ")
				}
			}
			fmt.Fprintf(out, " %s |", with)
		}
		fmt.Fprintln(out)
		if reason := uncovered[p.Name]; reason != "" {
			fmt.Fprintf(&reasons, "\n%s: %s.\n", p.Name, reason)
		}
	}
	fmt.Fprint(out, reasons.String())
}
