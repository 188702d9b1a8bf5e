package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

const (
	givenHeading = "Platforms whose CCM was given"
	aboutGiven   = "\n## " + givenHeading + `

The same story with a CCM that is not built here (` + "`make e2e PLATFORM=… CCM=…`" + `): what the program
says about itself, and its digest.
`
)

// given returns the steps of the stories with a CCM that was given, by platform.
func (r records) given() map[string][]record.Step {
	found := map[string][]record.Step{}
	for _, s := range r.steps {
		if s.Story == "" && s.CCM != "" {
			found[s.Platform] = append(found[s.Platform], s)
		}
	}
	return found
}

// writeGiven writes a section for each platform with a CCM that was given. That of a platform without a record stays.
func (r records) writeGiven(out io.Writer) {
	sections := r.former.subsections(givenHeading)
	for platform, steps := range r.given() {
		var b strings.Builder
		fmt.Fprintf(&b, "\n### %s\n\n`%s`\n\n| step | took | seen | commit |\n|---|---|---|---|\n", platform, steps[0].CCM)
		for _, s := range steps {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(s.Name), seconds(s.Duration), cell(s.Detail), s.Commit)
		}
		sections[platform] = b.String()
	}
	fmt.Fprint(out, aboutGiven)
	for _, platform := range slices.Sorted(maps.Keys(sections)) {
		fmt.Fprint(out, sections[platform])
	}
}
