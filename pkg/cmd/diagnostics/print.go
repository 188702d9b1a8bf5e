package diagnostics

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

// ANSI color sequences.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	plain  = "\x1b[0m"
)

// UseColor reports whether output to out has colors: out is a terminal, and the variable NO_COLOR is empty.
func UseColor(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// Print writes each diagnostic as a line.
func Print(out io.Writer, diagnostics []diagnostic.Diagnostic, color bool) error {
	var errs []error
	for _, d := range diagnostics {
		d.File, d.Message = printable.Line(d.File), printable.Line(d.Message)
		line := d.String()
		if d.File == "" {
			line = d.Coded(fmt.Sprintf("%s: %s", d.Severity, line)) // about an object of a cluster
		}
		if color && d.File != "" {
			severity := map[diagnostic.Severity]string{diagnostic.Error: red, diagnostic.Warning: yellow}[d.Severity]
			line = d.Coded(fmt.Sprintf("%s%s:%s %s%s:%s %s", bold, d.Place(), plain, severity, d.Severity, plain, d.Message))
		}
		_, err := fmt.Fprintln(out, line)
		errs = append(errs, err)
	}
	return WriteError(errors.Join(errs...))
}

// PrintRemarks writes a line for each remark.
func PrintRemarks(out io.Writer, messages []string) error {
	for _, message := range messages {
		if _, err := fmt.Fprintln(out, printable.Line(message)); err != nil {
			return WriteError(err)
		}
	}
	return nil
}

// WriteError returns the error for incomplete output, nil if err is nil.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the output cannot be written: %w", offline.Reason(err))
}

// Counted returns a number with its noun, for example "1 error" or "2 errors".
func Counted(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// Inputs lists the files of a request.
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
