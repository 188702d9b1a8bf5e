// Package explain implements the command that explains why something waits. It has only flags and output; package
// report walks the objects.
package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/snapshot"
)

const exitCodes = "The exit code is 0 if nothing waits, 1 if something does, and 2 if the cluster cannot be\n" +
	"read. In the last case the last line on stderr has the reason."

// NewCommand returns the explain command. Its subcommands exit the process, with the codes of package usage.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain why a node, a Service, a deletion or a rollout waits, or what a code means",
		Long: "Explain walks the objects on which something depends, marks each with ✓ or ✗, and ends in one cause\n" +
			"and one action: those of the operator's conditions. It only reads.\n\n" +
			"With a code, such as CCM0042, or the reason of a condition, it says what that means and what to do.\n" +
			"That needs no cluster.\n\n" + exitCodes,
		Example: "  cluster-cloud-controller-manager-operator explain node worker-3\n" +
			"  cluster-cloud-controller-manager-operator explain service shop/frontend\n" +
			"  cluster-cloud-controller-manager-operator explain deletion worker-3\n" +
			"  cluster-cloud-controller-manager-operator explain rollout\n" +
			"  cluster-cloud-controller-manager-operator explain CCM0042",
	}
	cmd.SuggestionsMinimumDistance = 2 // cobra's default
	explainCode(cmd)
	cmd.AddCommand(
		subcommand("node NAME", "Explain why a node is not initialized", explainNode),
		subcommand("service NAMESPACE/NAME", "Explain why a Service has no load balancer", explainService),
		subcommand("deletion NODE", "Explain why the Node of a deleted machine is not deleted", explainDeletion),
		subcommand("rollout", "Explain where the rollout of the latest revision stands", explainRollout),
	)
	return cmd
}

type explanation = func(context.Context, *source.Source, []string) (*report.Explanation, error)

func explainNode(ctx context.Context, from *source.Source, args []string) (*report.Explanation, error) {
	s, err := from.Read(ctx, report.LeadingPod)
	if err != nil {
		return nil, err
	}
	return report.ExplainNode(s, strings.TrimPrefix(args[0], "node/"))
}

func explainService(ctx context.Context, from *source.Source, args []string) (*report.Explanation, error) {
	namespace, name, found := strings.Cut(args[0], "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is no Service: specify NAMESPACE/NAME", args[0])
	}
	s, err := from.Read(ctx, report.LeadingPod, snapshot.Service(namespace, name)...)
	if err != nil {
		return nil, err
	}
	return report.ExplainService(s, namespace, name)
}

func explainDeletion(ctx context.Context, from *source.Source, args []string) (*report.Explanation, error) {
	s, err := from.Read(ctx, nil, snapshot.NodeEvents()...)
	if err != nil {
		return nil, err
	}
	return report.ExplainDeletion(s, strings.TrimPrefix(args[0], "node/"))
}

func explainRollout(ctx context.Context, from *source.Source, _ []string) (*report.Explanation, error) {
	s, err := from.Read(ctx, nil)
	if err != nil {
		return nil, err
	}
	return report.ExplainRollout(s)
}

func subcommand(use, short string, explain explanation) *cobra.Command {
	from := &source.Source{}
	var format usage.Format
	cmd := &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + exitCodes,
		Args: cobra.ExactArgs(strings.Count(use, " ")), ValidArgsFunction: cobra.NoFileCompletions,
	}
	from.AddFlags(cmd)
	from.AddFrom(cmd)
	usage.AddFormat(cmd, &format)
	usage.Run(cmd, func(ctx context.Context, args []string) (int, error) {
		explanation, err := explain(ctx, from, args)
		if err != nil {
			return 0, err
		}
		code := usage.OK
		if !explanation.Healthy() {
			code = usage.Wrong
		}
		return code, usage.Write(cmd.OutOrStdout(), format, explanation, explanation.WriteText)
	})
	return cmd
}
