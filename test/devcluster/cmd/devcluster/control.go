package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

func newRotateCommand() *cobra.Command {
	return newControlCommand(&cobra.Command{
		Use: devcluster.RotateCommand, Args: cobra.NoArgs,
		Short: "Replace the credentials of a cluster that runs, in its cloud and in the Secret",
	}, devcluster.RotateCommand)
}

func newMachineCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "machine", Short: "Stop, start or delete a machine of a cluster that runs",
		// Without RunE, cobra takes an action that does not exist for a request for help.
		Args: cobra.NoArgs, RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, action := range []string{devcluster.StopCommand, devcluster.StartCommand, devcluster.DeleteCommand} {
		command.AddCommand(newControlCommand(&cobra.Command{
			Use: action + " MACHINE", Short: strings.ToUpper(action[:1]) + action[1:] + " a machine, in its cloud too",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) != 1 {
					return fmt.Errorf("name one machine, as its Node: devcluster machine %s MACHINE", action)
				}
				return nil
			},
		}, action))
	}
	return command
}

// newControlCommand returns a command that a cluster performs which another process runs.
func newControlCommand(command *cobra.Command, action string) *cobra.Command {
	options := devcluster.Options{}
	command.Flags().StringVar(&options.Name, "name", "default", "name of the run of the cluster")
	command.RunE = func(command *cobra.Command, args []string) error {
		done, err := devcluster.Control(command.Context(), options, action, strings.Join(args, ""))
		if err == nil {
			fmt.Fprintln(command.OutOrStdout(), done)
		}
		return err
	}
	return command
}

func newUnservedCommand() *cobra.Command {
	options := devcluster.Options{}
	command := &cobra.Command{
		Use:   "unserved",
		Short: "List the calls that the stand-in for the cloud did not serve",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			calls, err := devcluster.UnservedCalls(options)
			for _, call := range calls {
				fmt.Fprintln(command.OutOrStdout(), call)
			}
			return err
		},
	}
	command.Flags().StringVar(&options.Name, "name", "default", "name of the run of the cluster")
	return command
}
