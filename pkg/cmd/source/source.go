// Package source selects what the commands about a cluster read from.
package source

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

// Source is a cluster, or a directory that dump or must-gather wrote.
type Source struct{ kubeconfig, context, from string }

// AddFlags adds the flags that select the cluster.
func (s *Source) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.kubeconfig, "kubeconfig", "",
		"File with the cluster's address and credentials. Default: $KUBECONFIG, ~/.kube/config, or the pod's account.")
	cmd.Flags().StringVar(&s.context, "context", "", "Context of the kubeconfig. Default: the current one.")
	// The flag was added above.
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions)
}

// AddFrom adds the flag that selects a directory instead of a cluster.
func (s *Source) AddFrom(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.from, "from", "",
		"Directory that dump or oc adm must-gather has written, instead of a cluster.")
	// The flag was added above.
	_ = cmd.MarkFlagDirname("from")
	cmd.MarkFlagsMutuallyExclusive("from", "kubeconfig")
}

// IsDirectory reports whether the source is a directory, which does not change.
func (s *Source) IsDirectory() bool { return s.from != "" }

// Read reads what status needs, what more asks for, and the end of the log of the pod that choose, if not nil, returns.
func (s *Source) Read(
	ctx context.Context, choose func(*snapshot.Snapshot) string, more ...snapshot.Query,
) (*snapshot.Snapshot, error) {
	if s.IsDirectory() {
		return snapshot.ReadDirectory(s.from, choose, more...)
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	client, err := snapshot.NewClient(config)
	if err != nil {
		return nil, err
	}
	read, err := client.Read(ctx, choose, more...)
	return read, Reached(config, err)
}
