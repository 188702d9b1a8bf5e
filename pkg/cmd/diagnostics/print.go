package diagnostics

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	plain  = "\x1b[0m"
)

// Print writes a line for each diagnostic, then for each remark.
func Print(out io.Writer, diagnostics []diagnostic.Diagnostic, remarks []string) error {
	var text strings.Builder
	color := usage.UseColor(out)
	for _, d := range diagnostics {
		text.WriteString(line(d, color) + "\n")
	}
	for _, remark := range remarks {
		text.WriteString(printable.Line(remark) + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return usage.WriteError(err)
}

func line(d diagnostic.Diagnostic, color bool) string {
	d.File, d.Message = printable.Line(d.File), printable.Line(d.Message)
	switch {
	case d.File == "": // a finding about an object of a cluster
		return d.Coded(fmt.Sprintf("%s: %s", d.Severity, d.String()))
	case color:
		severity := map[diagnostic.Severity]string{diagnostic.Error: red, diagnostic.Warning: yellow}[d.Severity]
		return d.Coded(fmt.Sprintf("%s%s:%s %s%s:%s %s", bold, d.Place(), plain, severity, d.Severity, plain, d.Message))
	}
	return d.String()
}

// Without returns the diagnostics that are not among others with any severity.
func Without(all, others []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	return slices.DeleteFunc(slices.Clone(all), func(d diagnostic.Diagnostic) bool {
		return slices.ContainsFunc(others, func(other diagnostic.Diagnostic) bool {
			other.Severity = d.Severity
			return other == d
		})
	})
}

// Inputs lists the files that a request checks. The Infrastructure is listed only if there are no others.
func Inputs(request offline.Request) string {
	var files []string
	for _, file := range append([]string{request.CloudConfig}, request.Manifests...) {
		if file == offline.Stdin {
			file = offline.StdinName
		}
		if file != "" {
			files = append(files, printable.Line(file))
		}
	}
	if len(files) == 0 {
		return printable.Line(request.Infrastructure)
	}
	return strings.Join(files, " and ")
}
