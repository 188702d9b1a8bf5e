// Package installer implements the command of the installer pods: it writes a revision of the static pod to the node
// that it runs on. It takes the flags that library-go's installer controller passes.
//
// It replaces library-go's installer, which sleeps for 30 seconds before each installation, and which also replaces the
// strings REVISION and NODE_NAME in Secrets.
package installer

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

type options struct {
	nodepod.Pod

	revision int32
	holder   string

	namespace, podConfigMap     string
	configMaps, secrets         []string
	certConfigMaps, certSecrets []string

	// after is time.After, except in tests.
	after func(time.Duration) <-chan time.Time
}

// NewCommand returns the command, which is hidden because only installer pods run it.
func NewCommand() *cobra.Command {
	o := &options{after: time.After}
	cmd := &cobra.Command{Use: "installer", Short: "Write a revision of the static pod to this node"}
	flags := cmd.Flags()
	flags.Int32Var(&o.revision, "revision", 0, "Revision to install. Required.")
	flags.StringVar(&o.namespace, "namespace", "", "Namespace of the objects. Required.")
	flags.StringVar(&o.podConfigMap, "pod", "",
		"Name, without revision suffix, of the ConfigMap that holds the manifest. Required.")
	flags.StringSliceVar(&o.configMaps, "configmaps", nil, "ConfigMap of the revision. May be repeated.")
	flags.StringSliceVar(&o.secrets, "secrets", nil, "Secret of the revision. May be repeated.")
	flags.StringSliceVar(&o.certConfigMaps, "cert-configmaps", nil, "ConfigMap without revisions. May be repeated.")
	flags.StringSliceVar(&o.certSecrets, "cert-secrets", nil, "Secret without revisions. May be repeated.")
	flags.StringVar(&o.holder, "holder", "", "Identity of the process of this node that leads, unset if none does.")
	return o.Complete(cmd, o.doing, o.run, "revision", "namespace", "pod")
}

func (o *options) doing() string {
	return fmt.Sprintf("installing revision %d on node %s", o.revision, o.Node)
}

func (o *options) run(ctx context.Context) error {
	recorder := o.Recorder(o.namespace, "static-pod-installer")
	if err := o.install(ctx); err != nil {
		recorder.Warningf("StaticPodInstallerFailed", "Failed to install revision %d: %s", o.revision,
			printable.Text(err.Error()))
		return err
	}
	recorder.Eventf("StaticPodInstallerCompleted", "Successfully installed revision %d", o.revision)
	return nil
}

// install completes every step that can fail while the former static pod still runs. It replaces the manifest last.
func (o *options) install(ctx context.Context) error {
	unlock, err := o.Lock(ctx)
	if err != nil {
		return err
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
	directory := filepath.Join(o.ResourceDir, o.named(o.podConfigMap))
	klog.InfoS("Writing the revision", "directory", directory, "files", len(revision.Files))
	isRepair := nodefiles.Holds(o.manifestFile(), revision.Manifest)
	if isRepair && !nodefiles.DirectoryHolds(directory, revision.Files) {
		if err := nodefiles.ReplaceFile(o.RestartFile(), nil); err != nil {
			return err
		}
	}
	if _, err := nodefiles.ReplaceDirectory(directory, revision.Files); err != nil {
		return err
	}
	if err := o.writeCerts(ctx, certs); err != nil {
		return err
	}
	if err := o.replaceManifest(ctx, revision.Manifest); err != nil {
		return err
	}
	return nodefiles.Remove(o.RestartFile())
}

func (o *options) manifestFile() string {
	return filepath.Join(o.PodManifestDir, o.podConfigMap+".yaml")
}

// writeCerts writes each object's files to its own directory, like the file-syncer: the parent directory is mounted.
func (o *options) writeCerts(ctx context.Context, certs map[string]nodefiles.Files) error {
	unlock, err := o.LockCerts(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for name, files := range certs {
		if _, err := nodefiles.ReplaceDirectory(filepath.Join(o.CertDir, name), files); err != nil {
			return err
		}
	}
	return nil
}
