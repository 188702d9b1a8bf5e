// Package diagnostics is shared by the commands that check a cluster's configuration from files: their flags, the
// format of diagnostics, and the exit codes.
package diagnostics

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/offline"
)

// The exit codes.
const (
	// Accepted means that there are no errors; there may be warnings.
	Accepted = 0
	// Rejected means that there are errors.
	Rejected = 1
	// Unusable means that nothing was checked: the flags are invalid, or a file cannot be read or has unexpected
	// content.
	Unusable = 2
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
			"Proxy, FeatureGate, "+
			"Network and CloudControllerManager are used.")
	fs.StringVar(&request.PayloadVersion, "payload-version", "",
		"Version of the release, which selects the FeatureGate's entry. Default: the only entry.")
	fs.Var(&occasionFlag{&request.Occasion}, "for", "When the cluster gets the configuration: "+occasions(", ", " or ")+
		". A likely mistake rejects a change only.")
	// The flag exists, so there is no error.
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(strings.Fields(occasions(" ", " ")),
		cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"infra-config-file", "cloud-config-file", "rendered-manifest-files"} {
		// The flag was added above.
		_ = cmd.MarkFlagFilename(name, fileExtensions...)
	}
}

// fileExtensions are those of manifests.
var fileExtensions = []string{"yaml", "yml", "json"}

// occasionFlag is a flag with one of offline.Occasions.
type occasionFlag struct{ occasion *offline.Occasion }

func (f *occasionFlag) String() string {
	if f.occasion == nil {
		return "" // pflag asks a zero value for the default
	}
	return string(cmp.Or(*f.occasion, offline.Change))
}

func (f *occasionFlag) Set(text string) error {
	if !slices.Contains(offline.Occasions, offline.Occasion(text)) {
		return fmt.Errorf("specify %s", occasions(", ", " or "))
	}
	*f.occasion = offline.Occasion(text)
	return nil
}

func (f *occasionFlag) Type() string { return "string" }

// occasions lists the values of the flag.
func occasions(separator, last string) string {
	names := make([]string, 0, len(offline.Occasions))
	for _, occasion := range offline.Occasions {
		names = append(names, string(occasion))
	}
	end := len(names) - 1
	return strings.Join(names[:end], separator) + last + names[end]
}

// Run sets the command's Run function, which exits with the code that run returns. The arguments are further manifests
// of the request. An error, or an invalid flag, is printed as the last line on stderr and exits with Unusable. The root
// command's error handling does not apply.
func Run(cmd *cobra.Command, request *offline.Request, run func() (code int, err error)) {
	fail := func(err error) {
		fmt.Fprint(cmd.ErrOrStderr(), usage.LastLine(cmd.Name(), err))
		os.Exit(Unusable)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		fail(usage.FlagError(err))
		return nil
	})
	cmd.ValidArgsFunction = cobra.FixedCompletions(fileExtensions, cobra.ShellCompDirectiveFilterFileExt)
	cmd.Run = func(_ *cobra.Command, args []string) {
		request.Manifests = append(request.Manifests, args...)
		code, err := run()
		if err != nil {
			fail(err)
		}
		os.Exit(code)
	}
}

// Code returns the exit code of a report.
func Code(report *offline.Report) int {
	if report.Count(diagnostic.Error) > 0 {
		return Rejected
	}
	return Accepted
}
