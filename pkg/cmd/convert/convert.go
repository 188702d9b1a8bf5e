// Package convert implements the command that shows how a cloud configuration is converted for the external
// cloud-controller-manager. It has only flags and output.
package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/diagnostics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/redaction"
)

// NewCommand returns the convert command. It exits the process itself, with the codes of package usage.
func NewCommand() *cobra.Command {
	var request offline.Request
	var asDiff bool
	cmd := &cobra.Command{
		Use:   "convert" + diagnostics.Arguments,
		Short: "Show a cloud configuration as the external cloud-controller-manager gets it",
		Long: "Convert checks a cloud configuration like validate and prints the cloud-controller-manager's files\n" +
			"on stdout: cloud.conf, then each other file after a line with its name. With --diff it prints the\n" +
			"difference from the given configuration, then each change with its position and reason.\n\n" +
			"The output replaces each secret with the name of its key in the credentials Secret or in the\n" +
			"configuration, for example <password>, and omits comments. A value whose key the\n" +
			"cloud-controller-manager does not read is replaced in the same way. Errors and warnings are written\n" +
			"to stderr. With an error nothing is converted. The command uses neither the API nor the network.\n\n" +
			diagnostics.ExitCodes,
		Example: "  cluster-cloud-controller-manager-operator convert --infra-config-file=infrastructure.yaml \\\n" +
			"    --cloud-config-file=cloud-provider-config.yaml --diff",
	}
	diagnostics.AddFlags(cmd, &request)
	cmd.Flags().BoolVar(&asDiff, "diff", false, "Print the changes and their reasons instead of the result.")
	diagnostics.Run(cmd, &request, func() (int, error) {
		return run(cmd.OutOrStdout(), cmd.ErrOrStderr(), request, asDiff)
	})
	return cmd
}

func run(stdout, stderr io.Writer, request offline.Request, asDiff bool) (code int, err error) {
	report, err := offline.Check(request)
	if err != nil {
		return 0, err
	}
	printed := report.Diagnostics
	if asDiff {
		printed = diagnostics.Without(printed, report.Changes)
	}
	if err := diagnostics.Print(stderr, printed, report.Remarks); err != nil {
		return 0, err
	}
	code = diagnostics.Code(report)
	if code != usage.OK || !report.Managed {
		return code, nil
	}
	var out bytes.Buffer
	write := writeFiles
	if asDiff {
		write = writeDiff
	}
	write(&out, report)
	_, err = io.WriteString(stdout, printable.Text(out.String()))
	return code, usage.WriteError(err)
}

type file struct {
	// title is the name of the source, empty if there is none.
	title, name   string
	before, after string
}

func files(report *offline.Report) []file {
	c := report.CloudConfig
	configs := [][]byte{c.Data, report.Cloud.Config}
	for _, key := range slices.Sorted(maps.Keys(c.Keys)) {
		configs = append(configs, c.Keys[key])
	}
	redact := redaction.New(report.Cloud.Public, report.Credentials.Data, configs...).File
	all := []file{{
		title: fmt.Sprintf("%s, key %s", c.Source, c.Key), name: "cloud.conf",
		before: redact(c.Data), after: redact(report.Cloud.Config),
	}}
	if c.Data == nil {
		all[0].title = ""
	}
	for _, name := range slices.Sorted(maps.Keys(report.Cloud.Files)) {
		f := file{name: name, after: redact(report.Cloud.Files[name])}
		if data, exists := c.Keys[name]; exists {
			f.title, f.before = fmt.Sprintf("%s, key %s", c.Source, name), redact(data)
		}
		all = append(all, f)
	}
	return all
}

func writeFiles(out *bytes.Buffer, report *offline.Report) {
	for i, f := range files(report) {
		if i > 0 {
			fmt.Fprintf(out, "\n==> %s <==\n", printable.Line(f.name))
		}
		out.WriteString(f.after)
		if f.after != "" && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
	}
}

// writeDiff writes a unified diff, or nothing if before and after are equal. Its time grows with n log n.
func (f file) writeDiff(out *bytes.Buffer) {
	text := diff.Diff(printable.Line(cmp.Or(f.title, "/dev/null")), []byte(f.before),
		printable.Line(f.name)+" of the cloud-controller-manager", []byte(f.after))
	_, text, _ = bytes.Cut(text, []byte("\n")) // drop the line with the diff command
	out.Write(text)
}

func writeDiff(out *bytes.Buffer, report *offline.Report) {
	for _, f := range files(report) {
		f.writeDiff(out)
	}
	if out.Len() > 0 && len(report.Changes) > 0 {
		out.WriteByte('\n')
	}
	for _, change := range report.Changes {
		fmt.Fprintln(out, printable.Line(change.String()))
	}
}
