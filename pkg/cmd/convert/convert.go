// Package convert is the command that shows what the external cloud-controller-manager gets instead of the cloud configuration
// that was given: flags and output only.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/findings"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// NewCommand returns the convert command. It exits by itself, with the codes of package findings.
func NewCommand() *cobra.Command {
	var request offline.Request
	var diff bool
	cmd := &cobra.Command{
		Use:   "convert",
		Short: "Show a cloud configuration as the external cloud-controller-manager gets it",
		Long: "Convert checks a cloud configuration as validate does and prints what the cloud-controller-manager gets on stdout:\n" +
			"cloud.conf and, each behind a line with its name, the files beside it. With --diff it prints what differs from the\n" +
			"configuration that was given, and then the reason of each change with the place that was changed.\n\n" +
			"No secret is printed, but the name of its key in the credentials Secret or in the configuration, as in <password>, and\n" +
			"no comment. Errors and warnings are written to stderr, and with an error nothing is converted. It uses neither the API\n" +
			"nor the network.\n\n" + findings.ExitCodes,
		Example: "  cluster-cloud-controller-manager-operator convert --infra-config-file=infrastructure.yaml \\\n" +
			"    --cloud-config-file=cloud-provider-config.yaml --diff",
	}
	findings.AddFlags(cmd, &request)
	cmd.Flags().BoolVar(&diff, "diff", false, "Print the changes and their reasons instead of the result.")
	findings.Run(cmd, func() (int, error) {
		return run(cmd.OutOrStdout(), cmd.ErrOrStderr(), request, diff)
	})
	return cmd
}

func run(stdout, stderr io.Writer, request offline.Request, diff bool) (code int, err error) {
	report, err := offline.Check(request)
	if err != nil {
		return 0, err
	}
	remarks := report.Diagnostics
	if diff {
		remarks = withoutChanges(report)
	}
	if err := findings.Print(stderr, remarks, findings.UseColor(stderr)); err != nil {
		return 0, err
	}
	if err := findings.PrintRemarks(stderr, report.Remarks); err != nil {
		return 0, err
	}
	code = findings.Code(report)
	if code != findings.Accepted || !report.Managed {
		return code, nil
	}
	var out bytes.Buffer
	write := writeFiles
	if diff {
		write = writeDiff
	}
	if err := write(&out, report); err != nil {
		return 0, err
	}
	_, err = io.WriteString(stdout, printable.Text(out.String()))
	return code, findings.WriteError(err)
}

// withoutChanges are the findings that a diff does not list anyway.
func withoutChanges(report *offline.Report) []diagnostic.Diagnostic {
	return slices.DeleteFunc(slices.Clone(report.Diagnostics), func(f diagnostic.Diagnostic) bool {
		f.Severity = diagnostic.Change
		return slices.Contains(report.Changes, f)
	})
}

// file is one text before and after.
type file struct {
	// title is what the text is called where it comes from; empty where there is none.
	title, name   string
	before, after string
}

// files are cloud.conf and what stands beside it, without secrets.
func files(report *offline.Report) []file {
	c := report.CloudConfig
	configs := [][]byte{c.Data, report.Cloud.Config}
	for _, key := range slices.Sorted(maps.Keys(c.Keys)) {
		configs = append(configs, c.Keys[key])
	}
	hide := newRedactor(report.Credentials.Data, configs...).hide
	all := []file{{
		title: fmt.Sprintf("%s, key %s", c.Source, c.Key), name: "cloud.conf",
		before: hide(c.Data), after: hide(report.Cloud.Config),
	}}
	if c.Data == nil {
		all[0].title = ""
	}
	for _, name := range slices.Sorted(maps.Keys(report.Cloud.Files)) {
		f := file{name: name, after: hide(report.Cloud.Files[name])}
		if data, exists := c.Keys[name]; exists {
			f.title, f.before = fmt.Sprintf("%s, key %s", c.Source, name), hide(data)
		}
		all = append(all, f)
	}
	return all
}

func writeFiles(out *bytes.Buffer, report *offline.Report) error {
	for i, f := range files(report) {
		if i > 0 {
			fmt.Fprintf(out, "\n==> %s <==\n", printable.Line(f.name))
		}
		out.WriteString(f.after)
		if f.after != "" && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	return nil
}

func writeDiff(out *bytes.Buffer, report *offline.Report) error {
	var errs []error
	for _, f := range files(report) {
		errs = append(errs, f.writeDiff(out))
	}
	if out.Len() > 0 && len(report.Changes) > 0 {
		out.WriteByte('\n')
	}
	for _, change := range report.Changes {
		fmt.Fprintln(out, printable.Line(change.String()))
	}
	return errors.Join(errs...)
}
