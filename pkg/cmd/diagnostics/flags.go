// Package findings is what the commands share that check a cluster's configuration from files: the flags that name the files,
// how findings are printed, and what the exit codes mean.
package findings

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// The exit codes.
const (
	// Accepted says that there are no errors; there may be warnings.
	Accepted = 0
	// Refused says that there are errors.
	Refused = 1
	// Unusable says that nothing was checked: bad flags, or files that cannot be read or hold something else.
	Unusable = 2
)

// ExitCodes is the paragraph of the help about them.
const ExitCodes = "The exit code is 0 when there are no errors, 1 when there are, and 2 when the input cannot be used, in which case the\n" +
	"last line on stderr says why."

// AddFlags adds the flags that name the files.
func AddFlags(cmd *cobra.Command, request *offline.Request) {
	fs := cmd.Flags()
	fs.StringVar(&request.Infrastructure, "infra-config-file", "",
		"File with the Infrastructure; without it one of the rendered manifests has to be it.")
	fs.StringVar(&request.CloudConfig, "cloud-config-file", "",
		"File with the ConfigMap that holds the cloud configuration; without it the one that the cluster would use is looked for in the rendered manifests.")
	fs.StringSliceVar(&request.Manifests, "rendered-manifest-files", nil,
		"Files or folders with the installer's manifests, or with objects of a cluster: Secrets with credentials, Proxy, FeatureGate, Network and "+
			"the CloudControllerManager count.")
	fs.StringVar(&request.PayloadVersion, "payload-version", "",
		"Version of the release, whose entry in the FeatureGate counts; without it the only entry does.")
	for _, name := range []string{"infra-config-file", "cloud-config-file", "rendered-manifest-files"} {
		// The flag was added above.
		_ = cmd.MarkFlagFilename(name, "yaml", "yml", "json")
	}
}

// Run makes run what the command does, with the exit code that it returns. An error is the last line on stderr, whatever the
// root command makes of errors, and makes the code Unusable; so does everything that is wrong with the flags.
func Run(cmd *cobra.Command, run func() (code int, err error)) {
	fail := func(err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.Name(), printable.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")))
		os.Exit(Unusable)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		fail(err)
		return nil
	})
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.Run = func(_ *cobra.Command, args []string) {
		if len(args) > 0 {
			fail(fmt.Errorf("unexpected argument %q: every input is given by a flag", args[0]))
		}
		code, err := run()
		if err != nil {
			fail(err)
		}
		os.Exit(code)
	}
}

// Code is the exit code of a report.
func Code(report *offline.Report) int {
	if report.Count(diagnostic.Error) > 0 {
		return Refused
	}
	return Accepted
}
