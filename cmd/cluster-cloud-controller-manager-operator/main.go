// Command cluster-cloud-controller-manager-operator is the operator of the cluster's cloud-controller-managers. Its
// other subcommands run from the same image.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openshift/library-go/pkg/operator/staticpod/prune"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/convert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/dump"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/envfile"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/explain"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/handover"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/installer"
	operatorcmd "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/operator"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/remove"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/render"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/status"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/validate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/logging"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/version"
)

func main() {
	logging.Install()
	root := newCommand(context.Background())
	os.Args = asPlugin(root, os.Args)
	if err := checkUsage(root, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(usage.Unusable)
	}
	os.Exit(cli.Run(root))
}

// asPlugin makes the command a plugin of kubectl or oc if that is its name: kubectl-ccm is called as kubectl ccm, and
// kubectl_complete-ccm with a command line to complete. It returns the arguments.
func asPlugin(root *cobra.Command, args []string) []string {
	name := filepath.Base(args[0])
	client, plugin, _ := strings.Cut(name, "-")
	if plugin != "ccm" {
		return args
	}
	client, completes := strings.CutSuffix(client, "_complete")
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: client + " ccm"}
	if completes {
		return slices.Insert(slices.Clone(args), 1, cobra.ShellCompRequestCmd)
	}
	return args
}

// checkUsage returns an error for an unknown command or subcommand, and for an unknown flag of the root command.
func checkUsage(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil // cobra adds this command later
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	command, rest, err := root.Find(args)
	if err == nil && !command.Runnable() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("unknown command %q for %q", rest[0], command.CommandPath())
	}
	if err != nil || command != root {
		return err
	}
	root.InitDefaultHelpFlag()
	return root.ParseFlags(args)
}

// The groups of commands in the help.
const (
	forAdministrators = "administrators"
	inCluster         = "cluster"
)

func newCommand(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster-cloud-controller-manager-operator",
		Short: "Run the cluster's cloud-controller-managers as static pods",
	}
	// Cobra's own flag takes -v, which sets the log level, and its template makes the linker keep every method.
	printVersion := root.Flags().Bool("version", false, "Print the version.")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *printVersion {
			return writeVersion(cmd, args)
		}
		return cmd.Help()
	}
	root.AddGroup(&cobra.Group{ID: forAdministrators, Title: "Commands for administrators:"},
		&cobra.Group{ID: inCluster, Title: "Commands that run in a cluster or at its installation:"})
	addTo := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			if group == inCluster {
				command.SetFlagErrorFunc(usage.FailOnFlag)
			}
		}
		root.AddCommand(commands...)
	}
	addTo(forAdministrators, status.NewCommand(), explain.NewCommand(), dump.NewCommand(), validate.NewCommand(),
		convert.NewCommand(), newVersionCommand())
	addTo(inCluster, operatorcmd.NewCommand(ctx), render.NewCommand(), installer.NewCommand(), prune.NewPrune(),
		remove.NewCommand(), handover.NewCommand(), envfile.NewCommand())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.GroupID != inCluster {
			// cli.Run adds the flags of logging, but these commands write no logs.
			root.PersistentFlags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
		}
		help(cmd, args)
	})
	return root
}

func writeVersion(cmd *cobra.Command, _ []string) error {
	info := version.Get()
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s (commit %s, %s, %s)\n", info.GitVersion, info.GitCommit, info.GoVersion,
		info.Platform)
	return err
}

func newVersionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return usage.FailOnFlag(cmd, err)
			}
			return nil
		},
		RunE: writeVersion,
	}
	command.SetFlagErrorFunc(usage.FailOnFlag) // cli.Run sets another one for the root
	return command
}
