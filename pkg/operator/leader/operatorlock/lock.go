// Package operatorlock lets one process of the operator act at a time. It is library-go's leader election, except that
// a process does not wait for the lock of a process that has ended.
package operatorlock

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusterstatus"
	leaderelectionconfig "github.com/openshift/library-go/pkg/config/leaderelection"
	"github.com/openshift/library-go/pkg/controller/controllercmd"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane/leaseholder"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// lock is the operator's lock. It is free if the process that holds it has ended. Otherwise, the next process would
// wait for a whole duration of the lock, 137 seconds, because client-go counts from its own first look.
//
// This never lets two processes act:
//   - The holder is a process of this pod. The kubelet runs one container of a pod at a time, so the holder's container
//     has ended. A process that an administrator starts in this container cannot bind the operator's port, and exits
//     before it asks for the lock.
//   - Or the kubelet of the holder's pod has reported that the container terminated after the holder acquired the lock,
//     both by the clock of the holder's node. A container that started since would have acquired the lock later.
//   - Or the holder's pod is gone, and the lock has not been renewed for two retry periods. The API server removes a
//     pod when its kubelet has reported that its containers have ended. A forced deletion asserts the same; the pod
//     garbage collector forces it if a Node was deleted or is out of service. If that is wrong, the process still
//     renews the lock if it can write.
//   - Or the lock has not been renewed for the duration of a lock of ours, whatever its holder and its own duration,
//     which an administrator or a broken client may have written. A process of ours has given up by then. Until then, a
//     pod on a silent node keeps the lock.
//   - The update that acquires the lock fails if the lock has changed since it was read.
type lock struct {
	resourcelock.Interface
	pod    Pod
	pods   corev1client.PodInterface
	leases coordinationv1client.LeaseInterface
	name   string
	clock  clock.PassiveClock
	// lasts is the duration of a lock of ours.
	lasts time.Duration

	// seen is the last record, and since when this process has seen it.
	seen patience.Since[string]
	// left is what the former process left, if it has released the lock.
	left string
	// leads is set once this process has acquired the lock.
	leads atomic.Bool
}

// askInterval is how often to ask again while the lock is not renewed. client-go would ask up to 57 seconds later,
// although time alone may prove that the holder has ended.
const askInterval = 5 * time.Second

// Get returns the record, without a holder that has ended. It waits until the holder renews the lock or has ended.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	first := l.seen.Value()
	for {
		record, raw, err := l.get(ctx)
		if err != nil || record.HolderIdentity == "" || record.HolderIdentity == l.Identity() ||
			first != "" && string(raw) != first {
			return record, raw, err
		}
		first = string(raw)
		select {
		case <-ctx.Done():
			return record, raw, nil
		case <-time.After(askInterval):
		}
	}
}

func (l *lock) get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.seen.See(string(raw), l.clock.Now())
	switch record.HolderIdentity {
	case l.Identity():
		return record, raw, nil
	case "":
		l.left = l.legacy(ctx)
		return record, raw, nil
	}
	l.left = ""
	if l.leads.Load() { // Somebody edited the lock. client-go would go on acting until the renewal deadline.
		klog.InfoS("Another process has acquired the lock", "holder", record.HolderIdentity)
		l.pod.Exit(0)
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
// an end within the second of the acquisition does not count.
func hasTerminated(pod *corev1.Pod, acquired metav1.Time) bool {
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end == nil || end.FinishedAt.Before(&acquired) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// Pod is this process's pod, from the downward API. Without a UID, the process waits for the lock like library-go's.
type Pod struct {
	Name string
	UID  types.UID
	// Memory is what the lock takes from one pod to the next, nil for nothing.
	Memory Memory
	// Exit ends the process; nil is klog.FlushAndExit.
	Exit func(code int)
}

// Run calls run while this process holds the lock, and exits when the lock is lost or released. component names the
// lock. As in library-go, the process exits with 1 if run returns by itself.
func Run(
	ctx context.Context, component string, pod Pod, cc *controllercmd.ControllerContext,
	run func(context.Context, *controllercmd.ControllerContext) error,
) error {
	if pod.Exit == nil {
		pod.Exit = func(code int) { klog.FlushAndExit(klog.ExitFlushTimeout, code) }
	}
	times := timesOf(ctx, cc, component)
	// A request that hangs must not outlast the lock.
	config := rest.CopyConfig(cc.ProtoKubeConfig)
	config.Timeout = times.RenewDeadline.Duration
	identity, err := identityOf(pod)
	if err != nil {
		return err
	}
	election, err := leaderelectionconfig.ToLeaderElectionWithLease(config, times, component, identity)
	if err != nil {
		return fmt.Errorf("building the leader election: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building the client of the lock: %w", err)
	}
	own := &lock{
		Interface: election.Lock, pod: pod, pods: kube.CoreV1().Pods(times.Namespace), clock: cc.Clock,
		leases: kube.CoordinationV1().Leases(times.Namespace), name: times.Name, lasts: times.LeaseDuration.Duration,
	}
	if pod.UID != "" {
		election.Lock = own
	}
	election.Callbacks.OnStartedLeading = func(ctx context.Context) {
		own.leads.Store(true)
		defer context.AfterFunc(ctx, cc.EventRecorder.Shutdown)()
		own.take()
		if err := run(ctx, cc); err != nil || ctx.Err() == nil {
			klog.ErrorS(err, "The controllers ended")
			pod.Exit(1)
		}
	}
	election.Callbacks.OnStoppedLeading = func() {
		klog.InfoS("The process does not hold the lock any more")
		pod.Exit(0)
	}
	leaderelection.RunOrDie(ctx, election)
	return nil
}

func timesOf(ctx context.Context, cc *controllercmd.ControllerContext, component string) configv1.LeaderElection {
	defaults := leaderelectionconfig.LeaderElectionDefaulting(
		configv1.LeaderElection{}, cc.OperatorNamespace, component+"-lock")
	status, err := clusterstatus.GetClusterInfraStatus(ctx, cc.KubeConfig)
	switch {
	case err != nil:
		cc.EventRecorder.Warningf("ControlPlaneTopology",
			"unable to get control plane topology, using HA cluster values for leader election: %v", err)
	case status.ControlPlaneTopology == configv1.SingleReplicaTopologyMode:
		return leaderelectionconfig.LeaderElectionSNOConfig(defaults)
	}
	return defaults
}

// identityOf returns the identity of this process: "<host>_<pod>_<UID of the pod>_<UUID of the process>". Outside of a
// pod it is "", and library-go makes one.
func identityOf(pod Pod) (string, error) {
	if pod.UID == "" {
		return "", nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("reading the host name: %w", err)
	}
	return strings.Join([]string{host, pod.Name, string(pod.UID), string(uuid.NewUUID())}, "_"), nil
}

// podOf returns the pod of an identity, and false for an identity of another form.
func podOf(identity string) (Pod, bool) {
	parts := strings.Split(identity, "_")
	if len(parts) != 4 {
		return Pod{}, false
	}
	return Pod{Name: parts[1], UID: types.UID(parts[2])}, true
}
