// Command file-syncer keeps the reloaded files of a static pod up to date; see package filesyncer.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/filesyncer"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	options := filesyncer.Options{
		Namespace: os.Getenv("POD_NAMESPACE"), Clock: clock.RealClock{},
		StaticPod: filesyncer.StaticPod{Pod: os.Getenv("POD_NAME"), Node: os.Getenv("NODE_NAME")},
	}
	flags := pflag.NewFlagSet("file-syncer", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "File with the API server and the credentials. Required.")
	flags.StringVar(&options.Directory, "directory", "", "Directory below which the files are written. Required.")
	flags.StringVar(&options.RevisionDirectory, "revision-directory", "",
		"Directory of the revision, which is reported. Required.")
	flags.StringVar(&options.Manifest, "manifest", "", "Manifest of the static pod, which is reported. Required.")
	flags.StringSliceVar(&options.ConfigMaps, "configmaps", nil, "ConfigMaps whose files are written.")
	flags.StringSliceVar(&options.Secrets, "secrets", nil, "Secrets whose files are written.")
	flags.DurationVar(&options.RepairPeriod, "repair-period", filesyncer.DefaultRepairPeriod,
		"How often the files are compared with the objects when nothing changes.")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if options.Pod == "" || options.Namespace == "" || options.Node == "" {
		return errors.New("these are required: the environment variables NODE_NAME, POD_NAME and POD_NAMESPACE")
	}
	var missing []string
	for _, name := range []string{"directory", "kubeconfig", "manifest", "revision-directory"} {
		if flags.Lookup(name).Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these are required: %s", strings.Join(missing, ", "))
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "file-syncer"
	if options.Client, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	filesyncer.Run(ctx, options)
	return nil
}
