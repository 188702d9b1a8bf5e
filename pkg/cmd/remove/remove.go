// Package remove is the command of the removal pods: it removes the static pod and its files from the node that it runs
// on.
package remove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

// mirrorPodPeriod is how often the mirror pod is read until the kubelet has deleted it.
const mirrorPodPeriod = 500 * time.Millisecond

type options struct {
	nodepod.Pod

	resourceDir, certDir, podManifestDir string

	// timeout limits an attempt. The operator creates another removal pod after a failed one.
	timeout time.Duration
}

// NewCommand returns the command. It is hidden because only removal pods run it.
func NewCommand() *cobra.Command {
	o := &options{Pod: nodepod.Pod{TerminationLog: nodepod.TerminationLog}}
	cmd := &cobra.Command{
		Use:           "remove",
		Short:         "Remove the static pod and its files from this node",
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
	flags.StringVar(&o.resourceDir, "resource-dir", "", "Directory of the revisions on the node. Required.")
	flags.StringVar(&o.certDir, "cert-dir", "", "Directory of the objects without revisions on the node. Required.")
	flags.StringVar(&o.podManifestDir, "pod-manifest-dir", "",
		"Directory from which the kubelet reads static pods. Required.")
	flags.DurationVar(&o.timeout, "timeout-duration", 2*time.Minute, "How long the removal may take.")
	for _, required := range []string{"resource-dir", "cert-dir", "pod-manifest-dir"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // a flag of that name was not defined
		}
	}
	return cmd
}

// ended reports the command's error, if it has one.
func (o *options) ended(err error) error {
	return o.End("removing the static pod from node "+o.Node, err)
}

func (o *options) run(ctx context.Context) error {
	recorder := o.Recorder(operand.Namespace, "static-pod-removal")
	if err := o.remove(ctx); err != nil {
		recorder.Warningf("StaticPodRemovalFailed", "Removing the static pod: %s", printable.Text(err.Error()))
		return err
	}
	recorder.Event("StaticPodRemoved", "Removed the static pod and its files")
	return nil
}

// remove removes the manifest first, so that the files stay until nothing reads them. Each step succeeds if an earlier
// attempt has done it.
func (o *options) remove(ctx context.Context) error {
	lock := filepath.Join(o.resourceDir, "."+operand.PodConfigMap+".lock")
	unlock, err := nodefiles.Lock(ctx, lock)
	if err != nil {
		return fmt.Errorf("an installer may be at work on this node: %w", err)
	}
	defer unlock()
	manifest := filepath.Join(o.podManifestDir, operand.ManifestFile)
	klog.InfoS("Removing the manifest", "file", manifest)
	if err := nodefiles.Remove(manifest); err != nil {
		return err
	}
	if err := o.awaitEnd(ctx); err != nil {
		return err
	}
	unlockCerts, err := nodefiles.LockDirectory(ctx, o.certDir)
	if err != nil {
		return fmt.Errorf("the file-syncer of this node may be at work: %w", err)
	}
	defer unlockCerts()
	directories, err := o.directories()
	if err != nil {
		return err
	}
	for _, path := range append(directories, o.certDir, lock) {
		klog.InfoS("Removing", "path", path)
		if err := nodefiles.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until the kubelet has deleted the mirror pod, which it does when the static pod has ended.
func (o *options) awaitEnd(ctx context.Context) error {
	name := operand.Name + "-" + o.Node
	var last error
	err := wait.PollUntilContextCancel(ctx, mirrorPodPeriod, true, func(ctx context.Context) (bool, error) {
		_, err := o.Client.CoreV1().Pods(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
		if ctx.Err() == nil {
			last = err // an API server that does not answer may answer the next time
		}
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		if last == nil {
			last = errors.New("it still exists")
		}
		return fmt.Errorf("the static pod has not ended, pod/%s in %s: %w", name, operand.Namespace, last)
	}
	return nil
}

// revisionDirectory matches the name of a revision's directory.
var revisionDirectory = regexp.MustCompile(`^` + regexp.QuoteMeta(operand.PodConfigMap) + `-\d+$`)

// directories returns the paths of the revisions, also of those that an installer did not finish.
func (o *options) directories() ([]string, error) {
	entries, err := os.ReadDir(o.resourceDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		path := nodefiles.StagedFor(filepath.Join(o.resourceDir, entry.Name()))
		if revisionDirectory.MatchString(filepath.Base(path)) {
			found = append(found, path)
		}
	}
	return found, nil
}
