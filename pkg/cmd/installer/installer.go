// Package installer is the command of the installer pods: it writes a revision of the static pod to the node that it
// runs on. It takes the flags that library-go's installer controller passes.
//
// It replaces library-go's installer, which sleeps for 30 seconds before each installation and replaces the texts
// REVISION and NODE_NAME in Secrets too.
package installer

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

type options struct {
	nodepod.Pod

	revision  int32
	namespace string

	// podConfigMap is the name, without the revision, of the ConfigMap with the pod's manifest.
	podConfigMap string

	// configMaps and secrets are the names, without the revision, of the objects that the revision consists of.
	configMaps, secrets []string

	// certConfigMaps and certSecrets are the names of the objects that certDir holds. They have no revisions.
	certConfigMaps, certSecrets []string

	resourceDir, certDir, podManifestDir string

	// timeout limits an attempt. The installer controller creates another installer pod after a failed one.
	timeout time.Duration

	// after is time.After.
	after func(time.Duration) <-chan time.Time
}

// NewCommand returns the command. It is hidden because only installer pods run it.
func NewCommand() *cobra.Command {
	o := &options{Pod: nodepod.Pod{TerminationLog: nodepod.TerminationLog}, after: time.After}
	cmd := &cobra.Command{
		Use:           "installer",
		Short:         "Write a revision of the static pod to this node",
		Args:          cobra.NoArgs,
		Hidden:        true,
		SilenceUsage:  true,
		SilenceErrors: true, // the root command's caller prints it
		RunE: func(*cobra.Command, []string) error {
			if err := o.Connect(); err != nil {
				return o.ended(err)
			}
			ctx, cancel := context.WithTimeout(genericapiserver.SetupSignalContext(), o.timeout)
			defer cancel()
			return o.ended(o.run(ctx))
		},
	}
	flags := cmd.Flags()
	flags.Int32Var(&o.revision, "revision", 0, "Revision to install. Required.")
	flags.StringVar(&o.namespace, "namespace", "", "Namespace of the objects. Required.")
	flags.StringVar(&o.podConfigMap, "pod", "",
		"ConfigMap, without the revision, with the static pod's manifest. Required.")
	flags.StringSliceVar(&o.configMaps, "configmaps", nil, "ConfigMap of the revision. May be repeated.")
	flags.StringSliceVar(&o.secrets, "secrets", nil, "Secret of the revision. May be repeated.")
	flags.StringSliceVar(&o.certConfigMaps, "cert-configmaps", nil, "ConfigMap without revisions. May be repeated.")
	flags.StringSliceVar(&o.certSecrets, "cert-secrets", nil, "Secret without revisions. May be repeated.")
	flags.StringVar(&o.resourceDir, "resource-dir", "", "Directory of the revisions on the node. Required.")
	flags.StringVar(&o.certDir, "cert-dir", "", "Directory of the objects without revisions on the node.")
	flags.StringVar(&o.podManifestDir, "pod-manifest-dir", "",
		"Directory from which the kubelet reads static pods. Required.")
	flags.DurationVar(&o.timeout, "timeout-duration", 2*time.Minute, "How long the installation may take.")
	for _, required := range []string{"revision", "namespace", "pod", "resource-dir", "pod-manifest-dir"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // a flag of that name was not defined
		}
	}
	return cmd
}

// ended reports the command's error, if it has one.
func (o *options) ended(err error) error {
	return o.End(fmt.Sprintf("installing revision %d on node %s", o.revision, o.Node), err)
}

func (o *options) run(ctx context.Context) error {
	recorder := o.Recorder(o.namespace, "static-pod-installer")
	if err := o.install(ctx); err != nil {
		recorder.Warningf("StaticPodInstallerFailed", "Installing revision %d: %s", o.revision, printable.Text(err.Error()))
		return err
	}
	recorder.Eventf("StaticPodInstallerCompleted", "Successfully installed revision %d", o.revision)
	return nil
}

// install does everything that can fail while the former static pod runs. It replaces the manifest last.
func (o *options) install(ctx context.Context) error {
	unlock, err := nodefiles.Lock(ctx, filepath.Join(o.resourceDir, "."+o.podConfigMap+".lock"))
	if err != nil {
		return fmt.Errorf("another installer may be at work on this node: %w", err)
	}
	defer unlock()
	if err := o.checkLatest(ctx); err != nil {
		return err
	}
	revision, err := o.readRevision(ctx)
	if err != nil {
		return err
	}
	certs, err := o.readCerts(ctx)
	if err != nil {
		return err
	}
	directory := filepath.Join(o.resourceDir, o.named(o.podConfigMap))
	klog.InfoS("Writing the revision", "directory", directory, "files", len(revision.Files))
	replaced, err := nodefiles.ReplaceDirectory(directory, revision.Files)
	if err != nil {
		return err
	}
	if err := o.writeCerts(ctx, certs); err != nil {
		return err
	}
	return o.replaceManifest(ctx, revision.Manifest, replaced)
}

// writeCerts writes the files of each object into a directory of its own, as the file-syncer does: the containers mount
// the parent.
func (o *options) writeCerts(ctx context.Context, certs map[string]nodefiles.Files) error {
	unlock, err := nodefiles.LockDirectory(ctx, o.certDir)
	if err != nil {
		return fmt.Errorf("the file-syncer of this node may be at work: %w", err)
	}
	defer unlock()
	for name, files := range certs {
		if _, err := nodefiles.ReplaceDirectory(filepath.Join(o.certDir, name), files); err != nil {
			return err
		}
	}
	return nil
}
