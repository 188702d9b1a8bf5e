package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

func newBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the pinned servers into _output/bin and install what nodes need from Debian",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return devcluster.Build(command.Context(), devcluster.Options{Progress: command.OutOrStdout()})
		},
	}
}

func newImagesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Write local images of the operator and the OpenStack cloud-controller-manager into _output/images",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			repository, err := devcluster.FindRepository(".")
			if err != nil {
				return err
			}
			options := devcluster.Options{Repository: repository, Progress: command.OutOrStdout()}
			paths, err := devcluster.Images(command.Context(), options, filepath.Join(repository, "_output", "images"))
			for _, path := range paths {
				fmt.Fprintln(command.OutOrStdout(), path)
			}
			return err
		},
	}
}

// newCCMCommand returns the command that a script calls before it builds a cluster.
func newCCMCommand() *cobra.Command {
	options := devcluster.Options{}
	command := &cobra.Command{
		Use:   "ccm",
		Short: "Check a cloud-controller-manager that is not built here, and print what it is",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			program, err := devcluster.OpenCCM(command.Context(), options)
			if err == nil && program == nil {
				err = errors.New("--ccm or --ccm-image is required")
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), program)
			return nil
		},
	}
	command.Flags().StringVar((*string)(&options.Platform), "platform", "", "platform of the cluster")
	ccmFlags(command.Flags(), &options)
	return command
}

func newDownCommand() *cobra.Command {
	options := devcluster.Options{}
	command := &cobra.Command{
		Use:   "down",
		Short: "Remove what a crashed run left",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Progress = command.OutOrStdout()
			return devcluster.Down(command.Context(), options)
		},
	}
	command.Flags().StringVar(&options.Name, "name", "default", "name of the run")
	return command
}
