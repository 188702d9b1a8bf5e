package convert

import (
	"bytes"
	"cmp"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// writeDiff writes a unified diff, or nothing if before and after are equal. Its time grows with n log n.
func (f file) writeDiff(out *bytes.Buffer) {
	text := diff.Diff(printable.Line(cmp.Or(f.title, "/dev/null")), []byte(f.before),
		printable.Line(f.name)+" of the cloud-controller-manager", []byte(f.after))
	_, text, _ = bytes.Cut(text, []byte("\n")) // the line with the command
	out.Write(text)
}
