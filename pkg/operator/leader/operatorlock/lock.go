package operatorlock

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// lock is the operator's lock. It is free if the process that holds it has ended. Without that, the next process waits
// for a whole duration of the lock, 137 seconds, because client-go counts from its own first look.
//
// No two processes act because of that:
//   - The holder is a process of this pod. The kubelet runs one container of a pod at a time, so the container of the
//     holder has ended. A process that a person starts in this container cannot bind the operator's port, and exits
//     before it asks for the lock.
//   - Or the kubelet of the holder's pod has reported that the container has terminated, not before the holder acquired
//     the lock. Both times are of the holder's node. A container that was started since has acquired the lock later.
//   - Or the holder's pod is gone, and the lock has not been renewed for two retry periods. The API server removes a
//     pod when its kubelet has reported that its containers have ended. A forced deletion asserts the same; the garbage
//     collector of pods forces it when a Node was deleted or is out of service. If that is wrong, the process still
//     renews the lock if it can write.
//   - Or nobody has renewed the lock for the duration of a lock of ours, whatever its holder is and whatever duration
//     the lock names: a person, or a broken client, may have written it. A process of ours has given up by then. Until
//     then, a pod on a node that does not report keeps the lock.
//   - The update that acquires the lock fails if the lock has changed since it was read.
type lock struct {
	resourcelock.Interface
	pod   Pod
	pods  corev1client.PodInterface
	clock clock.PassiveClock
	// lasts is the duration of a lock of ours.
	lasts time.Duration
	// interval is how often to ask again while nobody renews the lock. client-go asks up to 57 seconds later, although
	// time alone may prove that the holder has ended.
	interval time.Duration

	// seen is the last record, and when this process saw it first.
	seen patience.Since[string]
}

// askInterval is lock.interval of the operator.
const askInterval = 5 * time.Second

// Get returns the record without its holder if that has ended. It returns when the holder renews the lock, or has
// ended.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	first := l.seen.Value()
	for {
		record, raw, err := l.get(ctx)
		if err != nil || l.interval == 0 || record.HolderIdentity == "" || record.HolderIdentity == l.Identity() ||
			first != "" && string(raw) != first {
			return record, raw, err
		}
		first = string(raw)
		select {
		case <-ctx.Done():
			return record, raw, nil
		case <-time.After(l.interval):
		}
	}
}

func (l *lock) get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.seen.See(string(raw), l.clock.Now())
	if record.HolderIdentity == "" || record.HolderIdentity == l.Identity() {
		return record, raw, nil
	}
	if why := l.endOf(ctx, record); why != "" {
		klog.InfoS("Taking the lock of a process that has ended", "holder", record.HolderIdentity, "why", why)
		record.HolderIdentity = ""
	}
	return record, raw, nil
}

// endOf returns what proves that the holder has ended, "" if nothing does.
func (l *lock) endOf(ctx context.Context, record *resourcelock.LeaderElectionRecord) string {
	silent := l.clock.Since(l.seen.At())
	if silent >= l.lasts {
		return "nobody has renewed the lock for " + l.lasts.String()
	}
	holder, known := podOf(record.HolderIdentity)
	if !known {
		return ""
	}
	if holder.UID == l.pod.UID {
		return "it was a former container of this pod"
	}
	pod, err := l.pods.Get(ctx, holder.Name, metav1.GetOptions{})
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		klog.ErrorS(err, "Cannot read the pod of the lock's holder", "pod", holder.Name)
		return ""
	case err != nil || pod.UID != holder.UID:
		if silent < leaseholder.Silence(l.lasts) {
			return ""
		}
		return "its pod is gone, and nobody renews the lock"
	case hasTerminated(pod, record.AcquireTime):
		return "its container has terminated"
	}
	return ""
}

// hasTerminated reports whether the operator's container ended after a time. The API truncates the end to seconds, so
// one within the second of the acquisition does not count.
func hasTerminated(pod *corev1.Pod, acquired metav1.Time) bool {
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end == nil || end.FinishedAt.Before(&acquired) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}
