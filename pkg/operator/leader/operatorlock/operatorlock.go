// Package operatorlock lets one process of the operator act at a time. It is library-go's leader election, except that
// a process does not wait for the lock of one that has ended.
package operatorlock

import (
	"context"
	"fmt"
	"os"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/config/clusterstatus"
	leaderelectionconfig "github.com/openshift/library-go/pkg/config/leaderelection"
	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

// Pod is the pod of this process, from the downward API. Without a UID the process is not in a pod, and waits for the
// lock like library-go's.
type Pod struct {
	Name string
	UID  types.UID
	// Exit ends the process; nil is klog.FlushAndExit.
	Exit func(code int)
}

func (p Pod) exit(code int) {
	if p.Exit != nil {
		p.Exit(code)
		return
	}
	klog.FlushAndExit(klog.ExitFlushTimeout, code)
}

// Run calls run when this process holds the lock, and exits when it has lost or released it. component names the lock.
// As in library-go, the process exits with 1 if run ends by itself.
func Run(
	ctx context.Context, component string, pod Pod, cc *controllercmd.ControllerContext,
	run func(context.Context, *controllercmd.ControllerContext) error,
) error {
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
	if pod.UID != "" {
		election.Lock = &lock{
			Interface: election.Lock, pod: pod, pods: kube.CoreV1().Pods(times.Namespace), clock: cc.Clock,
			lasts: times.LeaseDuration.Duration, interval: askInterval,
		}
	}
	election.Callbacks.OnStartedLeading = func(ctx context.Context) {
		defer context.AfterFunc(ctx, cc.EventRecorder.Shutdown)()
		if err := run(ctx, cc); err != nil || ctx.Err() == nil {
			klog.ErrorS(err, "The controllers ended")
			pod.exit(1)
		}
	}
	election.Callbacks.OnStoppedLeading = func() {
		klog.InfoS("The process does not hold the lock any more")
		pod.exit(0)
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
// pod it is "", for which library-go makes one.
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

// podOf returns the pod of a process by its identity, and false for an identity of another form.
func podOf(identity string) (Pod, bool) {
	parts := strings.Split(identity, "_")
	if len(parts) != 4 {
		return Pod{}, false
	}
	return Pod{Name: parts[1], UID: types.UID(parts[2])}, true
}
