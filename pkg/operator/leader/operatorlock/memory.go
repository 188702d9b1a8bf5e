package operatorlock

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
)

// Memory passes what a process has seen to the process of the next pod, which cannot see it.
type Memory interface {
	// Leave returns what this process has seen when it releases the lock, "" for nothing.
	Leave(now time.Time) (string, error)
	// Take receives what the former process left, before this one acts.
	Take(left string, now time.Time) error
}

// memoryAnnotation is the lock's annotation with what the process that released it left.
const memoryAnnotation = "cloudcontrollermanager.operator.openshift.io/memory"

// Update writes the record. With the one that releases the lock, it leaves the memory for the next process.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" || l.pod.Memory == nil {
		return l.Interface.Update(ctx, record)
	}
	left, err := l.pod.Memory.Leave(l.clock.Now())
	if err != nil {
		klog.ErrorS(err, "The next process has to begin without what this one has seen")
	}
	lease, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("releasing the lock: %w", err)
	}
	if holder := leaseholder.Identity(lease); holder != l.Identity() {
		return fmt.Errorf("releasing the lock: %s holds it", holder)
	}
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	delete(lease.Annotations, memoryAnnotation)
	if left != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, memoryAnnotation, left)
	}
	_, err = l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// legacy returns what the process left that released the lock. It counts only while nobody has the lock.
func (l *lock) legacy(ctx context.Context) string {
	if l.pod.Memory == nil {
		return ""
	}
	lease, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		klog.ErrorS(err, "Cannot see what the former process left")
		return ""
	}
	if leaseholder.Identity(lease) != "" {
		return ""
	}
	return lease.Annotations[memoryAnnotation]
}

// take takes what the former process left. Without it, this process begins anew.
func (l *lock) take() {
	if l.pod.Memory == nil {
		return
	}
	if err := l.pod.Memory.Take(l.left, l.clock.Now()); err != nil {
		klog.ErrorS(err, "Cannot begin with what the former process has seen")
	}
}
