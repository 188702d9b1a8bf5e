// Package status implements the command that shows the state of the operator and of the cloud-controller-managers. It
// has only flags and output; package report computes the state.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/source"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/usage"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/report"
)

// interval is how often --wait polls. A watch would not do: the end of the operator's lock is no event.
const interval = 2 * time.Second

type options struct {
	source  source.Source
	format  usage.Format
	wait    bool
	timeout time.Duration
}

// NewCommand returns the status command. It exits the process itself, with the codes of package usage.
func NewCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the operator and the cloud-controller-managers",
		Long: "Status shows on one screen who leads, which revision and which credentials each control-plane node\n" +
			"has, which inputs are accepted, what expires, which nodes wait and why. What is wrong is what the\n" +
			"operator has written into its conditions. If the operator is down, the first lines say so, and since\n" +
			"when the conditions are not kept up to date.\n\n" +
			"It only reads. Without the right to list the Secrets in openshift-cloud-controller-manager it works\n" +
			"too, and names at its end what is missing. No content of a Secret is shown.\n\n" +
			"With --from it answers from a directory that dump or oc adm must-gather has written.\n\n" +
			"The exit code is 0 if the operator is Available, not Degraded and running, 1 if it is not, or if\n" +
			"--wait has timed out, and 2 if the cluster cannot be read. In the last case the last line on stderr\n" +
			"has the reason.",
		Example: "  # One screen\n" +
			"  cluster-cloud-controller-manager-operator status\n\n" +
			"  # After a change, in a script\n" +
			"  cluster-cloud-controller-manager-operator status --wait --timeout=15m --output=json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.source.AddFlags(cmd)
	o.source.AddFrom(cmd)
	usage.AddFormat(cmd, &o.format)
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the operator is Available, not Progressing and not Degraded.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 10*time.Minute, "How long --wait waits.")
	usage.Run(cmd, func(ctx context.Context, _ []string) (int, error) {
		return o.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	return cmd
}

func (o *options) run(ctx context.Context, out, progress io.Writer) (code int, err error) {
	if o.wait && o.source.IsDirectory() {
		return 0, errors.New("--wait needs a cluster: a directory does not change")
	}
	status, err := o.read(ctx)
	if err != nil {
		return 0, err
	}
	isWell := status.Healthy()
	if o.wait {
		if status, err = o.await(ctx, status, progress); err != nil {
			return 0, err
		}
		isWell = status.Settled()
	}
	if !isWell {
		code = usage.Wrong
	}
	return code, usage.Write(out, o.format, status, status.WriteText)
}

func (o *options) read(ctx context.Context) (*report.Status, error) {
	snapshot, err := o.source.Read(ctx, nil)
	if err != nil {
		return nil, err
	}
	return report.StatusOf(snapshot)
}

// await returns the first status that is settled, or the last one before the timeout. It retries if the API server does
// not answer, as during the API server's own rollout. If the last read before the timeout failed, it returns that
// error: the status before it may be wrong by now.
func (o *options) await(ctx context.Context, last *report.Status, progress io.Writer) (*report.Status, error) {
	said, unread := "", error(nil)
	err := wait.PollUntilContextTimeout(ctx, interval, o.timeout, true, func(ctx context.Context) (bool, error) {
		line := last.Line()
		if unread != nil {
			line = unread.Error()
		}
		if last.Settled() {
			return true, nil
		}
		if line != said {
			fmt.Fprint(progress, report.Wrapped("waiting: ", line))
			said = line
		}
		switch next, err := o.read(ctx); {
		case err == nil:
			last, unread = next, nil
		case ctx.Err() == nil: // otherwise the timeout has ended the request
			unread = err
		}
		return last.Settled(), nil
	})
	if wait.Interrupted(err) {
		err = unread
	}
	if err != nil {
		return nil, fmt.Errorf("waiting: %w", err)
	}
	return last, nil
}
