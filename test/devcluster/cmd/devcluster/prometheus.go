package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	devcluster "github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/monitoring"
)

func newPrometheusCommand() *cobra.Command {
	var name, address string
	command := &cobra.Command{
		Use:   "prometheus",
		Short: "Run Debian's Prometheus beside a cluster that runs, and keep it until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return prometheus(command, name, address)
		},
	}
	command.Flags().StringVar(&name, "name", "default", "name of the run of the cluster")
	command.Flags().StringVar(&address, "address", "127.0.0.1:9090", "where Prometheus serves")
	return command
}

func prometheus(command *cobra.Command, name, address string) (err error) {
	ctx := command.Context()
	repository, err := devcluster.FindRepository(".")
	if err != nil {
		return err
	}
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		return fmt.Errorf("no Prometheus, so install Debian's with apt-get install prometheus: %w", err)
	}
	pki := filepath.Join(repository, "_output", "run", name, "pki")
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(pki, "admin.kubeconfig"))
	if err != nil {
		return fmt.Errorf("no cluster named %q runs, so start one with make run: %w", name, err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		return fmt.Errorf("directory of Prometheus: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := monitoring.Start(ctx, monitoring.Options{
		Binary: binary, Repository: repository, Dir: dir, Address: address,
		Kubeconfig: filepath.Join(pki, "prometheus.kubeconfig"), Admin: kube,
		Profile: "full", Interval: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(context.WithoutCancel(ctx))) }()
	fmt.Fprintf(command.OutOrStdout(),
		"targets, alerts and queries: http://%s\nthe dashboard: %s\nCtrl-C ends Prometheus\n", p.Address(), p.Dashboard())
	<-ctx.Done()
	return nil
}
