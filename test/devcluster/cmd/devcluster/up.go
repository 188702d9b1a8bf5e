package main

import (
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
)

// clusterFlags are the flags of all commands that start a cluster.
func clusterFlags(flags *pflag.FlagSet, options *devcluster.Options) {
	flags.StringVar(&options.Name, "name", "default", "name of the run; its directory is _output/run/<name>")
	flags.StringVar((*string)(&options.Platform), "platform", string(configv1.OpenStackPlatformType),
		"platform of the cluster: a type such as AWS or None, or AzureStack or DigitalOcean")
	ccmFlags(flags, options)
}

// ccmFlags are the flags for a cloud-controller-manager that is not built here.
func ccmFlags(flags *pflag.FlagSet, options *devcluster.Options) {
	flags.StringVar(&options.CCM.Binary, "ccm", "", "path of the cloud-controller-manager to run instead of the built one")
	flags.StringVar(&options.CCM.Image, "ccm-image", "", "path of an OCI archive or layout with that program")
	flags.StringVar(&options.CCM.NodeManager, "ccm-node-manager", "",
		"path of the cloud-node-manager to run beside it instead of the built one")
}

func newUpCommand() *cobra.Command {
	options := devcluster.Options{Nodes: 3}
	var controlPlaneOnly bool
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster for manual use and keep it until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if controlPlaneOnly {
				options.Nodes = 0
			}
			return up(command, options)
		},
	}
	clusterFlags(command.Flags(), &options)
	command.Flags().IntVar(&options.Nodes, "nodes", 3, "number of control-plane nodes")
	command.Flags().BoolVar(&controlPlaneOnly, "control-plane-only", false, "start no nodes; needs no root")
	command.Flags().BoolVar(&options.WithoutPayload, "without-payload", false, "do not apply the operator's manifests")
	return command
}

func up(command *cobra.Command, options devcluster.Options) error {
	ctx := command.Context()
	options.Progress = command.ErrOrStderr()
	cluster, err := devcluster.Start(ctx, options)
	if err != nil {
		return err
	}
	if err := cluster.ServeControl(ctx); err != nil {
		return errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}
	out := command.OutOrStdout()
	fmt.Fprintf(out, "export KUBECONFIG=%s\nexport PATH=%s:$PATH\n", cluster.Kubeconfig(), cluster.BinDir())
	fmt.Fprintf(command.ErrOrStderr(), "logs: %s/logs; Ctrl-C ends the cluster\n", cluster.Dir())
	<-ctx.Done()
	return cluster.Stop(context.WithoutCancel(ctx))
}
