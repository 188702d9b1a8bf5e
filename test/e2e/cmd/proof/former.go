package main

import (
	"strings"
)

// document is the text of docs/proof.md below each of its headings, heading included.
type document map[string]string

// parse returns the sections of a former document. The records are on the machine that made them, so a section or a
// fault without a record stays.
func parse(text string) document {
	former := document{}
	for i, section := range strings.Split(text, "\n## ") {
		heading, _, _ := strings.Cut(section, "\n")
		if i > 0 {
			former[heading] = "\n## " + strings.TrimRight(section, "\n") + "\n"
		}
	}
	return former
}

// faultRows returns the rows of the table of faults by the fault's name.
func (d document) faultRows() map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(d[faultsHeading]) {
		name, figures, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if found && line != faultsHeader {
			rows[name] = "| " + name + " | " + figures
		}
	}
	return rows
}

// subsections returns the subsections of a section by heading, heading included.
func (d document) subsections(heading string) map[string]string {
	found := map[string]string{}
	for i, section := range strings.Split(d[heading], "\n### ") {
		name, _, _ := strings.Cut(section, "\n")
		if i > 0 {
			found[name] = "\n### " + strings.TrimRight(section, "\n") + "\n"
		}
	}
	return found
}
