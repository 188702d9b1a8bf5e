package operand

import (
	"fmt"
	"strings"
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
	b.WriteString(p.Message)
	return b.String()
}
