package installer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
)

// afterGracePeriod is how long the kubelet may take to delete a mirror pod after its containers have ended. It checks
// every 2 seconds (housekeepingPeriod in k8s.io/kubernetes/pkg/kubelet).
const afterGracePeriod = 10 * time.Second

// checkLatest returns an error if an installer pod of a later revision exists for this node: only that may install.
func (o *options) checkLatest(ctx context.Context) error {
	pods, err := read(ctx, func(ctx context.Context) (*corev1.PodList, error) {
		return o.Client.CoreV1().Pods(o.namespace).List(
			ctx, metav1.ListOptions{LabelSelector: "app=" + controlplane.InstallerApp})
	})
	if err != nil {
		return fmt.Errorf("listing the installer pods: %w", err)
	}
	for _, pod := range pods.Items {
		revision, isInstaller := controlplane.InstallerRevision(pod.Name)
		if isInstaller && pod.Spec.NodeName == o.Node && revision > o.revision {
			return fmt.Errorf("pod/%s installs a later revision on this node", pod.Name)
		}
	}
	return nil
}

// replaceManifest replaces the manifest after all other files are in place. It first removes the former manifest and
// waits until its pod has ended: if the kubelet finds the new pod before it has cleaned up after the former one, it
// retries only after 10 to 15 seconds (backOffPeriod in k8s.io/kubernetes/pkg/kubelet/pod_workers.go).
//
// An equal manifest stays, unless the revision's directory was replaced, now or by an installer that ended early: the
// running containers mount the former directory. The kubelet restarts a static pod only if its manifest differs, or was
// away.
func (o *options) replaceManifest(ctx context.Context, manifest []byte) error {
	file := o.manifestFile()
	isEqual := nodefiles.Holds(file, manifest)
	if isEqual {
		if _, err := os.Lstat(o.RestartFile()); errors.Is(err, fs.ErrNotExist) {
			klog.InfoS("The manifest is in place already", "file", file)
			return nil
		}
	}
	replace, err := nodefiles.StageFile(file, manifest)
	if err != nil {
		return err
	}
	klog.InfoS("Replacing the manifest", "file", file)
	// From here on, the node gets a manifest in any case.
	if err := o.stopFormer(ctx, file, isEqual); err != nil {
		if nodefiles.Holds(file, manifest) {
			return errors.Join(err, nodefiles.Remove(nodefiles.StagingName(file))) // The next installer restarts it.
		}
		klog.ErrorS(err, "The former static pod may not have ended; the kubelet starts the new one late")
	}
	return replace()
}

// stopFormer removes the former manifest and waits until the kubelet has deleted its mirror pod, which means that the
// static pod has ended, and has cleaned up. If the former process led, its lease is free for this node's next process.
// Without a mirror pod, it does not wait, but an equal manifest has to be away for a moment.
func (o *options) stopFormer(ctx context.Context, file string, isEqual bool) error {
	former, err := o.Client.CoreV1().Pods(o.namespace).Get(ctx, operand.Name+"-"+o.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && isEqual {
		if err := os.Remove(file); err != nil {
			return err
		}
		<-o.after(nodepod.CleanupPeriod)
		return nil
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the mirror pod: %w", err)
	}
	address := ""
	if o.holder != "" {
		if address, err = o.Address(ctx, controlplane.Port(former)); err != nil {
			klog.InfoS("The operator will release the lease, if the static pod holds it", "reason", err)
		}
	}
	if err := os.Remove(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	limit := time.Duration(ptr.Deref(former.Spec.TerminationGracePeriodSeconds,
		corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit+afterGracePeriod)
	defer cancel()
	if err := o.AwaitEnd(ctx, former.UID); err != nil {
		return err
	}
	if address != "" {
		o.releaseLease(ctx, address)
	}
	<-o.after(nodepod.CleanupPeriod)
	return nil
}

// releaseLease releases the lease if the process that listened on the address held it and has ended. The operator does
// the same, but the kubelet often deletes the mirror pod without reporting the end. Then the operator has no proof of
// it before the next process has tried to acquire the lease in vain, and a process retries only after 26 to 57 seconds.
func (o *options) releaseLease(ctx context.Context, address string) {
	if !o.HasEnded(ctx, address) {
		klog.InfoS("The port of the former process is not free, so the lease stays", "address", address)
		return
	}
	lease, err := o.ReadLease(ctx)
	if err != nil {
		klog.ErrorS(err, "Failed to read the lease") // The operator will release it.
		return
	}
	if leaseholder.Identity(lease) == o.holder {
		o.Release(ctx, lease)
	}
}
