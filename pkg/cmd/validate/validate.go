// Package validate is the command that checks a cloud configuration without a cluster: flags and output only. What is checked
// is decided where the operator and render decide it.
package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/findings"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// The formats of the output.
const (
	textFormat = "text"
	jsonFormat = "json"
)

// NewCommand returns the validate command. It exits by itself, with the codes of package findings.
func NewCommand() *cobra.Command {
	var request offline.Request
	format := textFormat
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a cloud configuration without a cluster",
		Long: "Validate makes the checks that render and the operator make, from files: of the cloud configuration and, when the\n" +
			"installer's manifests are given, of the credentials, the trusted CAs and the CloudControllerManager. Likely typos, which\n" +
			"an installation would pass over, are errors here. It uses neither the API nor the network.\n\n" +
			"Each finding is one line on stdout, as compilers write theirs: file:line:column: severity: message. Line and column\n" +
			"are those of the file that was given, not of the text inside its ConfigMap. A key stands for a text that the file\n" +
			"has in base64.\n\n" + findings.ExitCodes,
		Example: "  # Before an installation, in the installer's folder\n" +
			"  cluster-cloud-controller-manager-operator validate --rendered-manifest-files=manifests\n\n" +
			"  # Before a change of a cluster, and in CI\n" +
			"  oc get infrastructure cluster -o yaml >infrastructure.yaml\n" +
			"  oc get configmap cloud-provider-config -n openshift-config -o yaml >cloud-provider-config.yaml\n" +
			"  cluster-cloud-controller-manager-operator validate --infra-config-file=infrastructure.yaml \\\n" +
			"    --cloud-config-file=cloud-provider-config.yaml --output=json",
	}
	findings.AddFlags(cmd, &request)
	cmd.Flags().StringVarP(&format, "output", "o", format, "Format of the output: text or json.")
	// The flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{textFormat, jsonFormat}, cobra.ShellCompDirectiveNoFileComp))
	findings.Run(cmd, func() (int, error) {
		return run(cmd.OutOrStdout(), request, format)
	})
	return cmd
}

func run(out io.Writer, request offline.Request, format string) (code int, err error) {
	write := map[string]func(io.Writer, offline.Request, *offline.Report) error{textFormat: printText, jsonFormat: printJSON}[format]
	if write == nil {
		return 0, fmt.Errorf("--output is %q: give %s or %s", format, textFormat, jsonFormat)
	}
	report, err := offline.Check(request)
	if err != nil {
		return 0, err
	}
	return findings.Code(report), write(out, request, report)
}

func printText(out io.Writer, request offline.Request, report *offline.Report) error {
	if err := findings.Print(out, report.Diagnostics, findings.UseColor(out)); err != nil {
		return err
	}
	if err := findings.PrintRemarks(out, report.Remarks); err != nil {
		return err
	}
	if !report.Managed && len(report.Diagnostics) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s, %s in %s, checked for platform %s\n",
		findings.Counted(report.Count(diagnostic.Error), "error"), findings.Counted(report.Count(diagnostic.Warning), "warning"),
		findings.Inputs(request), report.Platform)
	return findings.WriteError(err)
}

// result is the output as JSON. Programs read it: fields may be added, but none may change.
type result struct {
	Findings []diagnostic.Diagnostic `json:"findings"`
	Errors   int                     `json:"errors"`
	Warnings int                     `json:"warnings"`
	Platform string                  `json:"platform"`
	Remarks  []string                `json:"remarks,omitempty"`
}

func printJSON(out io.Writer, _ offline.Request, report *offline.Report) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(result{
		// An empty list is a list too.
		Findings: append([]diagnostic.Diagnostic{}, report.Diagnostics...),
		Errors:   report.Count(diagnostic.Error),
		Warnings: report.Count(diagnostic.Warning),
		Platform: report.Platform,
		Remarks:  report.Remarks,
	}); err != nil {
		return fmt.Errorf("writing the findings as JSON: %w", err)
	}
	_, err := io.WriteString(out, printable.JSON(text.String()))
	return findings.WriteError(err)
}
