// Package installer is the command of the installer pods: it writes a revision of the static pod to the node that it
// runs on. It takes the flags that library-go's installer controller passes.
//
// It replaces library-go's installer, which sleeps for 30 seconds before each installation and replaces the texts
// REVISION and NODE_NAME in Secrets too.
package installer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// terminationLog is where the kubelet looks for the message of a container that ended.
const terminationLog = "/dev/termination-log"

type options struct {
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

	node, pod      string
	client         kubernetes.Interface
	terminationLog string
	// after is time.After.
	after func(time.Duration) <-chan time.Time
}

// NewCommand returns the command. It is hidden because only installer pods run it.
func NewCommand() *cobra.Command {
	o := &options{terminationLog: terminationLog, after: time.After}
	cmd := &cobra.Command{
		Use:           "installer",
		Short:         "Write a revision of the static pod to this node",
		Args:          cobra.NoArgs,
		Hidden:        true,
		SilenceUsage:  true,
		SilenceErrors: true, // the root command's caller prints it
		RunE: func(*cobra.Command, []string) error {
			if err := o.complete(); err != nil {
				return o.failed(err)
			}
			ctx, cancel := context.WithTimeout(genericapiserver.SetupSignalContext(), o.timeout)
			defer cancel()
			return o.failed(o.run(ctx))
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

func (o *options) complete() error {
	// The installer controller sets both through the downward API.
	if o.node, o.pod = os.Getenv("NODE_NAME"), os.Getenv("POD_NAME"); o.node == "" || o.pod == "" {
		return errors.New("the environment variables NODE_NAME and POD_NAME are required")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("reading the credentials of the pod: %w", err)
	}
	// A request that gets no answer must leave time for another.
	config.Timeout = 15 * time.Second
	o.client, err = kubernetes.NewForConfig(config)
	return err
}

// failed writes the error to the termination log, which the operator's conditions quote.
func (o *options) failed(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("installing revision %d on node %s: %w", o.revision, o.node, err)
	// An answer of the API server may have anything in it.
	message := printable.Text(err.Error())
	if err := os.WriteFile(o.terminationLog, []byte(message), 0o600); err != nil {
		klog.ErrorS(err, "Failed to write the termination message")
	}
	return errors.New(message)
}

func (o *options) run(ctx context.Context) error {
	reference := &corev1.ObjectReference{Kind: "Pod", Namespace: o.namespace, Name: o.pod}
	recorder := events.NewRecorder(o.client.CoreV1().Events(o.namespace), "static-pod-installer", reference,
		clock.RealClock{})
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
