// Package validate implements the command that checks a cloud configuration without a cluster, or against one. It has
// only flags and output; the checks are those of the operator and render.
package validate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/diagnostics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

type options struct {
	request        offline.Request
	format         usage.Format
	failOn         diagnostic.Severity
	verbose        bool
	againstCluster bool
	source         source.Source
}

// NewCommand returns the validate command. It exits the process itself, with the codes of package usage.
func NewCommand() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "validate" + diagnostics.Arguments,
		Short: "Check a cloud configuration without a cluster, or against one",
		Long: "Validate makes the checks of render and the operator on files. It checks the cloud configuration\n" +
			"and, if the installer's manifests are given, the credentials, the trusted CAs and the\n" +
			"CloudControllerManager. Likely mistakes are errors, as for a change in a running cluster; with\n" +
			"--for=installation and --for=takeover they are warnings, as when a cluster is installed or upgraded\n" +
			"from a release without this operator. The command uses neither the API nor the network.\n\n" +
			"With --against-cluster it lays the files over what a cluster has, and says what the operator would\n" +
			"do with the result: what it would reject and what would stay in use, which files of the\n" +
			"cloud-controller-manager would change, and which nodes would get them. It only reads, and shows no\n" +
			"content of a Secret. Without files it checks what the cluster has.\n\n" +
			"Each diagnostic is one line on stdout in a compiler's format: file:line:column: severity: message\n" +
			"[code]. The command explain says what a code means.\n" +
			"Line and column are those of the given file, not of the value in its ConfigMap. For a value that is\n" +
			"not a literal block, such as base64 or JSON, they are those of its key, and the message has the\n" +
			"position in the value.\n\n" +
			diagnostics.ArgumentsHelp + diagnostics.ExitCodes + "\nWith --fail-on=warning it is 1 with warnings too.",
		Example: "  # Before an installation, in the installer's directory\n" +
			"  cluster-cloud-controller-manager-operator validate --for=installation \\\n" +
			"    --rendered-manifest-files=manifests\n\n" +
			"  # Before a change to a cluster, and in CI\n" +
			"  oc get infrastructure cluster -o yaml >infrastructure.yaml\n" +
			"  oc get configmap cloud-provider-config -n openshift-config -o yaml >cloud-provider-config.yaml\n" +
			"  cluster-cloud-controller-manager-operator validate --infra-config-file=infrastructure.yaml \\\n" +
			"    --cloud-config-file=cloud-provider-config.yaml --output=json\n\n" +
			"  # What the edited file would change in the cluster\n" +
			"  cluster-cloud-controller-manager-operator validate --against-cluster cloud-provider-config.yaml\n\n" +
			"  # In one line\n" +
			"  oc get infrastructure/cluster configmap/cloud-provider-config -n openshift-config -o yaml |\n" +
			"    cluster-cloud-controller-manager-operator validate --fail-on=warning -",
	}
	o.addFlags(cmd)
	diagnostics.Run(cmd, &o.request, func() (int, error) { return o.dispatch(cmd) })
	return cmd
}

func (o *options) dispatch(cmd *cobra.Command) (code int, err error) {
	if !o.againstCluster {
		return o.run(cmd.OutOrStdout())
	}
	for _, flag := range []string{"for", "payload-version", "verbose"} {
		if cmd.Flags().Changed(flag) {
			return 0, fmt.Errorf("--%s does not go with --against-cluster: the cluster determines it; omit the flag", flag)
		}
	}
	return o.runAgainstCluster(cmd.Context(), cmd.OutOrStdout())
}

func (o *options) addFlags(cmd *cobra.Command) {
	diagnostics.AddFlags(cmd, &o.request)
	cmd.Flags().BoolVar(&o.verbose, "verbose", false,
		"Also print what the cloud-controller-manager gets in another form, and why. It needs no action.")
	usage.AddFormat(cmd, &o.format)
	usage.AddChoice(cmd, &o.failOn, "fail-on", "", "Least severity with which the exit code is 1: error or warning.",
		diagnostic.Error, diagnostic.Warning)
	cmd.Flags().BoolVar(&o.againstCluster, "against-cluster", false,
		"Lay the files over what a cluster has, and say what the operator would do.")
	o.source.AddFlags(cmd)
}

func (o *options) run(out io.Writer) (code int, err error) {
	report, err := offline.Check(o.request)
	if err != nil {
		return 0, err
	}
	if o.verbose {
		silent := diagnostics.Without(report.Changes, report.Diagnostics)
		report.Diagnostics = append(report.Diagnostics, silent...)
	}
	if o.format == usage.JSON {
		return o.code(report), usage.WriteJSON(out, resultOf(report))
	}
	return o.code(report), printText(out, o.request, report)
}

func (o *options) code(report *offline.Report) int {
	if o.failOn == diagnostic.Warning && report.Count(diagnostic.Warning) > 0 {
		return usage.Wrong
	}
	return diagnostics.Code(report)
}

func printText(out io.Writer, request offline.Request, report *offline.Report) error {
	err := diagnostics.Print(out, report.Diagnostics, report.Remarks)
	if err != nil || !report.Managed && len(report.Diagnostics) == 0 {
		return err
	}
	_, err = io.WriteString(out, summary(report, diagnostics.Inputs(request)))
	return usage.WriteError(err)
}

func summary(report *offline.Report, inputs string) string {
	return fmt.Sprintf("%s, %s in %s, checked for platform %s\n",
		usage.Counted(report.Count(diagnostic.Error), "error"),
		usage.Counted(report.Count(diagnostic.Warning), "warning"), inputs, report.Platform)
}

// result is the JSON output. It is an API: fields may be added, but none may change.
type result struct {
	Findings []finding `json:"findings"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Platform string    `json:"platform"`
	Remarks  []string  `json:"remarks,omitempty"`
}

type finding struct {
	diagnostic.Diagnostic

	Code string `json:"code"`
}

func resultOf(report *offline.Report) result {
	// An empty list instead of null.
	findings := make([]finding, 0, len(report.Diagnostics))
	for _, d := range report.Diagnostics {
		findings = append(findings, finding{d, d.Code()})
	}
	return result{
		Findings: findings,
		Errors:   report.Count(diagnostic.Error),
		Warnings: report.Count(diagnostic.Warning),
		Platform: report.Platform,
		Remarks:  report.Remarks,
	}
}
