// Command devcluster runs the operator's development cluster: a real control plane with real nodes on this machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process immediately, and with it the servers
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "devcluster",
		Short:         "Run the operator's development cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newRunCommand(), newUpCommand(), newBuildCommand(), newImagesCommand(), newCCMCommand(),
		newDownCommand(), newPrometheusCommand(), newRotateCommand(), newMachineCommand(), newUnservedCommand())
	return command
}
