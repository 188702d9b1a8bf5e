// Package dump implements the command that writes what status and explain read to a directory, for a support case.
package dump

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version"
)

// NewCommand returns the dump command. It exits the process itself, with the codes of package usage.
func NewCommand() *cobra.Command {
	var from source.Source
	cmd := &cobra.Command{
		Use:   "dump DIR",
		Short: "Write what status and explain read to a directory, without secrets",
		Long: "Dump writes one file for each object that status and explain read, with the fields that they read and\n" +
			"no others, the end of the leader's log, and an index. No content of a Secret is written, and its\n" +
			"values are removed from the log and from messages, and so is whatever looks like a password, a token\n" +
			"or a key; if you may not list the Secrets, neither the log\n" +
			"nor what containers and Events say is written. status and explain answer from the directory\n" +
			"with --from.\n\n" +
			"The exit code is 0, or 2 if the cluster cannot be read or the directory cannot be written.",
		Example: "  cluster-cloud-controller-manager-operator dump ccm-dump\n" +
			"  cluster-cloud-controller-manager-operator explain node worker-3 --from=ccm-dump",
		Args: cobra.ExactArgs(1),
	}
	from.AddFlags(cmd)
	usage.Run(cmd, func(ctx context.Context, args []string) (int, error) {
		s, err := from.Read(ctx, report.LeadingPod, snapshot.Everything()...)
		if err != nil {
			return 0, err
		}
		files, err := s.Write(args[0], version.Get().GitVersion)
		if err != nil {
			return 0, err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s in %s\n", usage.Counted(files, "file"), args[0])
		return usage.OK, usage.WriteError(err)
	})
	return cmd
}
