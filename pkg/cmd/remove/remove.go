// Package remove implements the command of the removal pods: it removes the static pod and its files from its node.
package remove

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

type options struct{ nodepod.Pod }

// NewCommand returns the command, which is hidden because only removal pods run it.
func NewCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{Use: "remove", Short: "Remove the static pod and its files from this node"}
	return o.Complete(cmd, o.doing, o.run, "cert-dir")
}

func (o *options) doing() string { return "removing the static pod from node " + o.Node }

func (o *options) run(ctx context.Context) error {
	recorder := o.Recorder(operand.Namespace, "static-pod-removal")
	if err := o.remove(ctx); err != nil {
		recorder.Warningf("StaticPodRemovalFailed", "Failed to remove the static pod: %s", printable.Text(err.Error()))
		return err
	}
	recorder.Event("StaticPodRemoved", "Removed the static pod and its files")
	return nil
}

// remove first removes the manifest, so that the files stay until nothing reads them. Completed steps are no error.
func (o *options) remove(ctx context.Context) error {
	unlock, err := o.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	manifest := filepath.Join(o.PodManifestDir, operand.ManifestFile)
	klog.InfoS("Removing the manifest", "file", manifest)
	if err := nodefiles.Remove(manifest); err != nil {
		return err
	}
	if err := o.AwaitEnd(ctx, ""); err != nil {
		return err
	}
	unlockCerts, err := o.LockCerts(ctx)
	if err != nil {
		return err
	}
	defer unlockCerts()
	directories, err := o.directories()
	if err != nil {
		return err
	}
	for _, path := range append(directories, o.CertDir, o.RestartFile(), o.LockFile()) {
		klog.InfoS("Removing", "path", path)
		if err := nodefiles.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

var revisionDirectory = regexp.MustCompile(`^` + regexp.QuoteMeta(operand.PodConfigMap) + `-\d+$`)

// directories returns the directories of the revisions, including those that an installer did not finish.
func (o *options) directories() ([]string, error) {
	entries, err := os.ReadDir(o.ResourceDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		path := nodefiles.StagedFor(filepath.Join(o.ResourceDir, entry.Name()))
		if revisionDirectory.MatchString(filepath.Base(path)) {
			found = append(found, path)
		}
	}
	return found, nil
}
