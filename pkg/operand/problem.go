package operand

import (
	"fmt"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cloudconfig"
)

// Error lists the problems, one to a line.
func (e *InputError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// String is the problem as one line: source, key, line:column and message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Key != "" {
		fmt.Fprintf(&b, ", key %s", p.Key)
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, ", line %d:%d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(p.Text())
	return b.String()
}

// Text is the message with the other line that explains it, which counts as Line does.
func (p Problem) Text() string {
	return cloudconfig.Finding{Message: p.Message, SeeLine: p.SeeLine}.Text()
}
