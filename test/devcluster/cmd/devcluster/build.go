package main

import (
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
