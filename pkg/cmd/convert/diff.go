package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// context is the number of unchanged lines around each change.
const context = 3

// writeDiff writes a unified diff, or nothing if before and after are equal.
func (f file) writeDiff(out *bytes.Buffer) error {
	if err := difflib.WriteUnifiedDiff(out, difflib.UnifiedDiff{
		A: lines(f.before), FromFile: printable.Line(cmp.Or(f.title, "/dev/null")),
		B: lines(f.after), ToFile: printable.Line(f.name) + " of the cloud-controller-manager",
		Context: context,
	}); err != nil {
		return fmt.Errorf("comparing %s: %w", f.name, err)
	}
	return nil
}

// lines returns a string's lines with their ends. A last line without a newline gets diff's note.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	} else {
		all[last] += "\n\\ No newline at end of file\n"
	}
	return all
}
