// Package diagnostics contains the flags and the output of the commands that check a configuration from files.
package diagnostics

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

// Arguments describes the arguments in the commands' usage and help.
const (
	Arguments     = " [flags] [FILE | DIRECTORY | -]..."
	ArgumentsHelp = "Arguments are files, directories, or - for standard input, with objects of any kind: the\n" +
		"Infrastructure, the ConfigMap that it names, and the other manifests.\n\n"
)

// ExitCodes describes the exit codes in the commands' help.
const ExitCodes = "The exit code is 0 without errors, 1 with errors, and 2 if the input cannot be used. In the last\n" +
	"case the last line on stderr has the reason."

// AddFlags adds the flags that name the files.
func AddFlags(cmd *cobra.Command, request *offline.Request) {
	fs := cmd.Flags()
	fs.StringVar(&request.Infrastructure, "infra-config-file", "",
		"File with the Infrastructure. Default: the Infrastructure among the rendered manifests.")
	fs.StringVar(&request.CloudConfig, "cloud-config-file", "",
		"File with the ConfigMap with the cloud configuration. Default: the ConfigMap among the rendered manifests that "+
			"the cluster would use.")
	fs.StringSliceVar(&request.Manifests, "rendered-manifest-files", nil,
		"Files or directories with the installer's manifests, or with objects of a cluster: Secrets with credentials, "+
			"Proxy, FeatureGate, Network and CloudControllerManager are used.")
	fs.StringVar(&request.PayloadVersion, "payload-version", "",
		"Version of the release, which selects the FeatureGate's entry. Default: the only entry.")
	usage.AddChoice(cmd, &request.Occasion, "for", "", "When the cluster gets the configuration: change, installation or "+
		"takeover. A likely mistake rejects a change only.", offline.Change, offline.Installation, offline.Takeover)
	for _, name := range []string{"infra-config-file", "cloud-config-file", "rendered-manifest-files"} {
		// The flag was added above.
		_ = cmd.MarkFlagFilename(name, fileExtensions...)
	}
}

var fileExtensions = []string{"yaml", "yml", "json"}

// Run makes the command exit with the code that run returns. It adds the arguments to the request's manifests.
func Run(cmd *cobra.Command, request *offline.Request, run func() (code int, err error)) {
	cmd.ValidArgsFunction = cobra.FixedCompletions(fileExtensions, cobra.ShellCompDirectiveFilterFileExt)
	usage.Run(cmd, func(_ context.Context, args []string) (int, error) {
		request.Manifests = append(request.Manifests, args...)
		return run()
	})
}

// Code returns the exit code of a report.
func Code(report *offline.Report) int {
	if report.Count(diagnostic.Error) > 0 {
		return usage.Wrong
	}
	return usage.OK
}
