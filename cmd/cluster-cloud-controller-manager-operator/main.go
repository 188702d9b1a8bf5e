// Command cluster-cloud-controller-manager-operator is the operator of the cluster's cloud-controller-managers. Its
// other subcommands run from the same image.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/openshift/library-go/pkg/operator/staticpod/prune"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/convert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/envfile"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/installer"
	operatorcmd "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/operator"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/remove"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/render"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/status"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/validate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/logging"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version"
)

func main() {
	logging.Install()
	os.Exit(cli.Run(newCommand(context.Background())))
}

func newCommand(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster-cloud-controller-manager-operator",
		Short: "Run the cluster's cloud-controller-managers as static pods",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		operatorcmd.NewCommand(ctx),
		render.NewCommand(),
		validate.NewCommand(),
		convert.NewCommand(),
		status.NewCommand(),
		installer.NewCommand(),
		prune.NewPrune(),
		remove.NewCommand(),
		envfile.NewCommand(),
		newVersionCommand(),
	)
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Get()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s (commit %s, %s, %s)\n", info.GitVersion, info.GitCommit, info.GoVersion,
				info.Platform)
			return err
		},
	}
}
