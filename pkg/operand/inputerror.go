package operand

import (
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// InputError is the error of Render if it rejects its inputs.
type InputError struct {
	// Diagnostics are the errors, at least one.
	Diagnostics []diagnostic.Diagnostic
	// Warnings do not reject the inputs.
	Warnings []diagnostic.Diagnostic
}

// Error returns the errors, one per line.
func (e *InputError) Error() string {
	lines := make([]string, 0, len(e.Diagnostics))
	for _, d := range e.Diagnostics {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}
