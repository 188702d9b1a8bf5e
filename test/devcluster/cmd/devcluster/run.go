package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/liveview"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/memory"
)

const (
	// readyLimit is the timeout for the operator to reach its goal in a started cluster.
	readyLimit = 15 * time.Minute
	refresh    = time.Second
)

func newRunCommand() *cobra.Command {
	options := devcluster.Options{}
	var exitWhenReady bool
	command := &cobra.Command{
		Use:   "run",
		Short: "Start a cluster with the operator in it, show what it does, and keep it until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), options, exitWhenReady)
		},
	}
	clusterFlags(command.Flags(), &options)
	command.Flags().IntVar(&options.Nodes, "nodes", 3, "number of control-plane nodes, at least 1")
	command.Flags().BoolVar(&exitWhenReady, "exit-when-ready", false,
		"stop the cluster once the operator's main job is done")
	return command
}

func run(ctx context.Context, options devcluster.Options, exitWhenReady bool) (err error) {
	if options.Nodes < 1 {
		return fmt.Errorf("--nodes=%d: the operator needs a node to run on", options.Nodes)
	}
	started := time.Now()
	screen := newScreen(os.Stdout)
	options.Progress = screen
	cluster, err := devcluster.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(screen, "stopping the cluster")
		err = errors.Join(err, screen.Close(), cluster.Stop(context.WithoutCancel(ctx)))
	}()
	if err := cluster.ServeControl(ctx); err != nil {
		return err
	}
	reader, err := liveview.NewReader(cluster.RESTConfig())
	if err != nil {
		return err
	}
	if err := showUntilReady(ctx, readyLimit, reader, screen, goal(cluster)); err != nil {
		if ctx.Err() != nil {
			return nil // Ctrl-C
		}
		return fmt.Errorf("%w\nlogs: %s", err, filepath.Join(cluster.Dir(), "logs"))
	}
	if err := printReady(screen, cluster, time.Since(started)); err != nil || exitWhenReady {
		return err
	}
	return show(ctx, reader, screen, func(liveview.State) bool { return false })
}

// goal returns the state that the operator can reach on the cluster's platform.
func goal(cluster *devcluster.Cluster) liveview.Goal {
	switch {
	case !cluster.Managed():
		return liveview.Unmanaged
	case !cluster.HasOperand():
		return liveview.ImageMissing
	case !cluster.HasCloud():
		return liveview.Running
	}
	return liveview.Initialized
}

// newScreen returns a screen that redraws the view only on a terminal.
func newScreen(out *os.File) *liveview.Screen {
	descriptor := int(out.Fd())
	if !term.IsTerminal(descriptor) {
		return liveview.NewScreen(out, nil)
	}
	return liveview.NewScreen(out, func() (int, int) {
		width, height, err := term.GetSize(descriptor)
		if err != nil {
			return 80, 24
		}
		return width, height
	})
}

// stateReader is the part of liveview.Reader that the view uses.
type stateReader interface {
	Read(ctx context.Context) (liveview.State, error)
}

// showUntilReady shows the state until nothing is missing. After limit it returns an error with the missing parts.
func showUntilReady(
	ctx context.Context, limit time.Duration, reader stateReader, screen *liveview.Screen, goal liveview.Goal,
) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last liveview.State
	err := show(limited, reader, screen, func(state liveview.State) bool {
		last = state
		return len(state.Missing(goal)) == 0
	})
	if err == nil && limited.Err() != nil {
		missing := append(last.Missing(goal), last.Waiting...)
		return fmt.Errorf("not ready after %s:\n  %s", limit, strings.Join(missing, "\n  "))
	}
	return err
}

// show shows the state until done returns true or ctx ends. It reports when the API server does not answer.
func show(ctx context.Context, reader stateReader, screen *liveview.Screen, done func(liveview.State) bool) error {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		state, err := reader.Read(ctx)
		lines, summary := state.Lines(), state.Summary()
		if err != nil {
			lines, summary = []string{err.Error()}, err.Error()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := screen.Show(lines, summary); err != nil {
			return err
		}
		if err == nil && done(state) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// reached describes a cluster that has reached its goal.
var reached = map[liveview.Goal]string{
	liveview.Unmanaged:    "ready",
	liveview.Initialized:  "ready",
	liveview.Running:      "ready, but without a cloud, so nodes stay uninitialized,",
	liveview.ImageMissing: "as far as it goes without a cloud-controller-manager,",
}

// toTry are three things to try, each with what to expect. Its argument is the cgroup of the cluster's nodes.
const toTry = `then try, and look at status again:
  1. break the configuration: misspell a key, or write a wrong value
       kubectl -n openshift-config edit configmap cloud-provider-config
     expect: within seconds it is Degraded, with line, column and the right key; no node changes
  2. rotate: roll out to all nodes
       kubectl patch cloudcontrollermanager cluster --type=merge \
         -p '{"spec":{"forceRedeploymentReason":"try"}}'
     expect: a new revision, node by node, the leader's node last; it takes about a minute
  3. kill the leader
       leader=$(kubectl -n openshift-cloud-controller-manager get lease cloud-controller-manager \
         -o jsonpath='{.spec.holderIdentity}' | cut -d_ -f1)
       kill -KILL $(pgrep -f -- --leader-elect |
         xargs -I{} grep -sl /%s/$leader/ /proc/{}/cgroup | cut -d/ -f3)
     expect: the operator releases its lease, and one of them leads again within seconds
devcluster rotate, devcluster machine stop|start|delete MACHINE and devcluster unserved act as its cloud
`

// toGive is what to do without a cloud-controller-manager. Its arguments are the platform and the program's name.
const toGive = `it is Degraded because an installer waits for the image of the cloud-controller-manager;
run it with yours (docs/hacking.md, "A CCM that is not built here"):
  make run PLATFORM=%s CCM=path/to/%s
`

// things returns what to try in a cluster that has reached a goal, or what it lacks.
func things(cluster *devcluster.Cluster) string {
	switch goal(cluster) {
	case liveview.Initialized, liveview.Running:
		return fmt.Sprintf(toTry, cluster.Cgroup())
	case liveview.ImageMissing:
		return fmt.Sprintf(toGive, cluster.Platform(), cluster.OperandTag())
	case liveview.Unmanaged:
	}
	return "" // there is nothing to break
}

func printReady(out io.Writer, cluster *devcluster.Cluster, took time.Duration) error {
	usage, err := memory.OfTree(os.Getpid())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `
%s after %d s; memory of the whole: %s
in another terminal:
  export KUBECONFIG=%s
  export PATH=%s:$PATH
  cluster-cloud-controller-manager-operator status
%slogs of the servers: %s
logs of the nodes:   %s
Ctrl-C stops the cluster and removes everything but the logs

`, reached[goal(cluster)], int(took.Seconds()), usage, cluster.Kubeconfig(), cluster.BinDir(), things(cluster),
		filepath.Join(cluster.Dir(), "logs"), filepath.Join(cluster.Dir(), "nodes"))
	return err
}
