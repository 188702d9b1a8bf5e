package staticpod

import (
	"context"
	"sync"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

// settlePeriod is how long the operand's container must have been Ready before a rollout goes on with the next node. A
// cloud-controller-manager that cannot work with its new configuration often becomes Ready, fails and exits.
const settlePeriod = 5 * time.Second

// settledPods is the pod client of the installer controller. It reports the static pod of a node that is being
// installed as Ready only after its container has been Ready for settlePeriod, so a container that ends before that
// stops the rollout on its node. The time is the operator's own, because the clocks of the nodes may differ from it:
// library-go's minReadyDuration compares them. The pods of other nodes are reported as they are: the controller begins
// a rollout with a node that is not Ready, which would be the leader's if its container was restarted a moment ago.
type settledPods struct {
	corev1client.PodsGetter
	clock clock.PassiveClock
	// target returns the revision that is being installed on a node, 0 if none is.
	target func(node string) (int32, error)

	mutex sync.Mutex
	// ready has, by pod name, the IDs of the Ready containers.
	ready patience.Each[string, string]
}

func newSettledPods(
	pods corev1client.PodsGetter, clock clock.PassiveClock, target func(node string) (int32, error),
) *settledPods {
	return &settledPods{PodsGetter: pods, clock: clock, target: target, ready: patience.Each[string, string]{}}
}

// Pods implements corev1client.PodsGetter.
func (s *settledPods) Pods(namespace string) corev1client.PodInterface {
	return namespacedSettledPods{PodInterface: s.PodsGetter.Pods(namespace), settledPods: s}
}

// remaining returns the time until another pod counts as Ready, 0 if there is none.
func (s *settledPods) remaining() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	least := time.Duration(0)
	for _, container := range s.ready {
		least = patience.Sooner(least, settlePeriod-s.clock.Since(container.At()))
	}
	return least
}

// settled records the operand's container of a pod and reports whether it has been Ready for settlePeriod.
func (s *settledPods) settled(pod *corev1.Pod) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	container := controlplane.ContainerStatus(pod, operand.Name)
	if !container.Ready {
		delete(s.ready, pod.Name)
		return false
	}
	return s.clock.Since(s.ready.See(pod.Name, container.ContainerID, s.clock.Now())) >= settlePeriod
}

type namespacedSettledPods struct {
	corev1client.PodInterface
	*settledPods
}

func (p namespacedSettledPods) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	pod, err := p.PodInterface.Get(ctx, name, options)
	if err != nil || !controlplane.IsOperand(pod) || p.settled(pod) {
		return pod, err
	}
	if target, err := p.target(pod.Spec.NodeName); err != nil || target == 0 {
		return pod, err
	}
	pod = pod.DeepCopy()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			c.Status, c.Reason = corev1.ConditionFalse, "NotSettled"
		}
	}
	return pod, nil
}

// installerController is library-go's, synced again when a node's kubelet changes, when a static pod may have settled,
// and when the rollout may pass by a node.
func installerController(
	o Options, inner *installer.InstallerController, client *installerClient, pods *settledPods,
) factory.Controller {
	core := o.Target.Core().V1()
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		if err := client.abandon(ctx, pods); err != nil {
			return err
		}
		err := inner.Sync(ctx, syncCtx)
		for _, left := range []time.Duration{pods.remaining(), client.chosen.wait} {
			if left > 0 {
				syncCtx.Queue().AddAfter(syncCtx.QueueKey(), left)
			}
		}
		return err
	}
	// The controller reports its errors as InstallerControllerDegraded, which installerreports.go corrects.
	informers := factory.New().WithInformers(o.Operator.Informer(), core.Pods().Informer(), core.ConfigMaps().Informer(),
		core.Secrets().Informer(), o.Nodes.Core().V1().Nodes().Informer())
	return reconciler.Unreported(informers, inner.Name(), o.Recorder, sync)
}
