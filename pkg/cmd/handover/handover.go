// Package handover implements the command of the pods that move the lead of the cloud-controller-managers (CCMs) to
// another node: it removes the static pod's manifest from the node that it runs on, and puts it back.
//
// Two processes never lead at once: the lease is released only after the static pod has ended, by an update of the
// Lease object in which the holder was read.
package handover

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/cmd/nodepod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/nodefiles"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/printable"
)

const (
	// period is how often the API server is polled. It is short because no process leads meanwhile.
	period = 200 * time.Millisecond

	// lockPatience is how long another pod, such as an installer, may keep the node's lock.
	lockPatience = 5 * time.Second

	// successorPatience is how long the successor's static pod may take to end, including its grace period and the image
	// pull of its hand-over pod.
	successorPatience = 30 * time.Second
)

type options struct {
	nodepod.Pod

	holder string
	// successor is the node that is to lead next. It is empty in the successor's own pod. If there is no other node, it is
	// the holder's node, whose process is restarted.
	successor string
	port      int32
	// limit is how long the manifest may be away. stayAway is how long it stays away after the successor starts to lead:
	// if the successor loses the lease earlier, the process of this node starts and acquires it at once.
	limit, stayAway time.Duration

	after func(time.Duration) <-chan time.Time
}

// NewCommand returns the command.
//
// It ignores SIGTERM, because a drain deletes the pod on the holder's node soon after its start. The manifest is back
// after the limit, well within the pod's grace period.
func NewCommand() *cobra.Command {
	o := &options{after: time.After}
	cmd := &cobra.Command{
		Use:   "handover",
		Short: "Take the static pod away from this node until another process leads",
	}
	flags := cmd.Flags()
	flags.StringVar(&o.holder, "holder", "", "Identity of the process that hands over the lead. Required.")
	flags.StringVar(&o.successor, "successor", "",
		"Node that is to lead next, or this one, to restart its process. Unset on the node that is to lead next.")
	flags.Int32Var(&o.port, "port", 0, "Port of the holder. Unset on the node that is to lead next.")
	flags.DurationVar(&o.stayAway, "stay-away", 0,
		"How long the static pod stays away after the successor has begun to lead, unless it loses the lead.")
	flags.DurationVar(&o.limit, "limit", 15*time.Second, "How long the static pod may be away.")
	doing := func() string { return "moving the lead with the static pod of node " + o.Node }
	return o.Complete(cmd, doing, func(ctx context.Context) error { return o.run(context.WithoutCancel(ctx)) }, "holder")
}

func (o *options) run(ctx context.Context) error {
	recorder := o.Recorder(operand.Namespace, "static-pod-handover")
	next, err := o.handOver(ctx)
	if err != nil {
		recorder.Warningf("LeadNotMoved", "Moving the lead away from %s: %s", o.holder, printable.Text(err.Error()))
		return err
	}
	switch {
	case o.isAlone() && next == "":
		recorder.Eventf("LeadMoved", "%s has ended, and the next process of this node leads", o.holder)
	case o.successor != "" && next != "":
		recorder.Eventf("LeadMoved", "%s leads instead of %s", next, o.holder)
	}
	return nil
}

// isAlone reports whether the holder's own node is to lead next.
func (o *options) isAlone() bool { return o.successor == o.Node }

// handOver removes the manifest until the lease shows that it can come back, and returns the lease's next holder. It
// holds the node's lock, so that no installer and no removal runs there meanwhile.
//
//   - On the successor, the static pod waits until the lease has no holder: a process tries to acquire the lease when
//     it starts, and then only every 26 to 57 seconds.
//   - On the holder's node, the static pod waits until another process holds the lease, because its own next process
//     would acquire it first. The present process is not stopped before the successor waits.
//   - If the holder's own node is to lead next, its static pod waits until the lease has no holder.
//   - If the successor must prove itself, the static pod of the holder's node also waits until the successor has led
//     for stayAway, or has lost the lease.
func (o *options) handOver(ctx context.Context) (next string, err error) {
	lockContext, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	unlock, err := o.Lock(lockContext)
	if err != nil {
		return "", err
	}
	defer unlock()
	address, err := o.prepare(ctx)
	if err != nil {
		return "", err
	}
	manifest := filepath.Join(o.PodManifestDir, operand.ManifestFile)
	klog.InfoS("Taking the manifest away", "file", manifest)
	putBack, err := nodefiles.SetAside(manifest)
	if err != nil {
		return "", err
	}
	next, err = o.awaitHandover(ctx, address)
	if err == nil && o.stayAway > 0 {
		next = o.awaitProof(ctx, next)
	}
	klog.InfoS("Putting the manifest back", "file", manifest, "holder", next)
	return next, errors.Join(err, putBack())
}

// prepare waits for the successor, and returns an error if the holder no longer leads: a pod that starts late must
// change nothing. On the holder's node it returns the address on which the holder listens.
func (o *options) prepare(ctx context.Context) (address string, err error) {
	if o.successor != "" {
		if address, err = o.Address(ctx, o.port); err != nil {
			return "", err
		}
	}
	if o.successor != "" && !o.isAlone() {
		if err := o.awaitSuccessor(ctx); err != nil {
			return "", err
		}
	}
	lease, err := o.ReadLease(ctx)
	if err != nil {
		return "", err
	}
	switch holder := leaseholder.Identity(lease); holder {
	case o.holder:
		return address, nil
	case "":
		return "", fmt.Errorf("nobody holds lease/%s", operand.Lease)
	default:
		return "", fmt.Errorf("the holder of lease/%s is %q", operand.Lease, holder)
	}
}

func (o *options) awaitSuccessor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, successorPatience)
	defer cancel()
	name := operand.Name + "-" + o.successor
	var unread error
	err := wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		_, err := o.Client.CoreV1().Pods(operand.Namespace).Get(ctx, name, metav1.GetOptions{})
		unread = err // The API server may answer the next time.
		return apierrors.IsNotFound(err), nil
	})
	switch {
	case err == nil:
		<-o.after(nodepod.CleanupPeriod)
		return nil
	case unread != nil:
		return fmt.Errorf("whether pod/%s has ended within %s is not known: %w", name, successorPatience, unread)
	default:
		return fmt.Errorf("pod/%s has not ended within %s, so its node is not ready to lead", name, successorPatience)
	}
}

// awaitHandover waits until the holder has lost the lease, on the holder's node until another process has acquired it.
// On the holder's node it releases the lease once the static pod has ended: at that moment the operator may be drained
// from this node, and the kubelet may delete the mirror pod without reporting the end.
func (o *options) awaitHandover(ctx context.Context, address string) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	var unread error
	err = wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		lease, err := o.ReadLease(ctx)
		if unread = err; err != nil {
			klog.ErrorS(err, "Failed to read the lease") // The API server may answer the next time.
			return false, nil
		}
		next = leaseholder.Identity(lease)
		if next == o.holder && o.successor != "" && o.HasEnded(ctx, address) {
			o.Release(ctx, lease)
		}
		return next != o.holder && (next != "" || o.successor == "" || o.isAlone()), nil
	})
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return next, err
	case unread != nil:
		return next, fmt.Errorf("whether the lead has moved is not known after %s: %w", o.limit, unread)
	case next == "":
		return next, fmt.Errorf("nobody has taken lease/%s within %s", operand.Lease, o.limit)
	default:
		return next, fmt.Errorf("%q still holds lease/%s after %s", next, operand.Lease, o.limit)
	}
}

// awaitProof waits until the current leader has led for stayAway, or no longer leads, and returns the lease's holder.
func (o *options) awaitProof(ctx context.Context, leads string) (next string) {
	klog.InfoS("The lead has moved, and the manifest stays away", "holder", leads, "for", o.stayAway)
	ctx, cancel := context.WithTimeout(ctx, o.stayAway)
	defer cancel()
	next = leads
	_ = wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		if lease, err := o.ReadLease(ctx); err == nil { // The API server may answer the next time.
			next = leaseholder.Identity(lease)
		}
		return next != leads, nil
	})
	return next
}
