package findings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// The sequences of a terminal that the colours are made of.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	plain  = "\x1b[0m"
)

// UseColor tells whether what is written to out may have colours: on a terminal, unless the variable NO_COLOR has a value.
func UseColor(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// Print writes findings as lines.
func Print(out io.Writer, findings []diagnostic.Diagnostic, color bool) error {
	var errs []error
	for _, f := range findings {
		f.File, f.Message = printable.Line(f.File), printable.Line(f.Message)
		line := f.String()
		if color {
			severity := map[diagnostic.Severity]string{diagnostic.Error: red, diagnostic.Warning: yellow}[f.Severity]
			line = fmt.Sprintf("%s%s:%s %s%s:%s %s", bold, f.Place(), plain, severity, f.Severity, plain, f.Message)
		}
		_, err := fmt.Fprintln(out, line)
		errs = append(errs, err)
	}
	return WriteError(errors.Join(errs...))
}

// PrintRemarks writes what was not checked, a line each.
func PrintRemarks(out io.Writer, remarks []string) error {
	for _, remark := range remarks {
		if _, err := fmt.Fprintln(out, printable.Line(remark)); err != nil {
			return WriteError(err)
		}
	}
	return nil
}

// WriteError says that the output is not complete; nil where err is.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the output cannot be written: %w", offline.Reason(err))
}

// Counted is a number of things, for example "1 error" or "2 errors".
func Counted(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}

// Inputs names the files of a request.
func Inputs(request offline.Request) string {
	var files []string
	for _, file := range append([]string{request.CloudConfig}, request.Manifests...) {
		if file != "" {
			files = append(files, printable.Line(file))
		}
	}
	if len(files) == 0 {
		return printable.Line(request.Infrastructure)
	}
	return strings.Join(files, " and ")
}
