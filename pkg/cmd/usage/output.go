package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/regularfile"
)

// Format is a value of --output.
type Format string

// The values of --output.
const (
	Text Format = "text"
	JSON Format = "json"
)

// AddFormat adds --output.
func AddFormat(cmd *cobra.Command, format *Format) {
	AddChoice(cmd, format, "output", "o", "Format of the output: text or json.", Text, JSON)
}

// Write writes a report in the format. text writes it in the format Text.
func Write(out io.Writer, format Format, report any, text func(out io.Writer, color bool) error) error {
	if format == JSON {
		return WriteJSON(out, report)
	}
	return WriteError(text(out, UseColor(out)))
}

// WriteJSON writes a report as indented JSON.
func WriteJSON(out io.Writer, report any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	_, err := io.WriteString(out, printable.JSON(text.String()))
	return WriteError(err)
}

// WriteError wraps the error of an output that is incomplete. It returns nil if err is nil.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the output cannot be written: %w", regularfile.Reason(err))
}

// UseColor reports whether output to out has colors: out is a terminal, NO_COLOR is empty, and TERM is not dumb.
func UseColor(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// Counted returns a number with its noun, for example "1 error" or "2 errors".
func Counted(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
