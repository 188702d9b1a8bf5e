// Package leaderelection keeps the lease of the cloud-controller-managers (CCMs) true: it releases the lease of a
// process that has ended, and restores one that was deleted while a process acts on it. The CCMs do neither.
package leaderelection

import (
	"context"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1 "k8s.io/api/core/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	name = "LeaderElection"

	// askPeriod is how soon a process that starts has asked for the lease: within the first second. It asks again after 26
	// seconds or more, and another one can take the lease meanwhile.
	askPeriod = 3 * time.Second
)

// Options are the dependencies of New; all but Memory are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	Lease    *controlplane.Lease
	// Pods watches the operand's namespace, Nodes the control-plane Nodes.
	Pods            corev1informers.PodInformer
	Nodes           corev1informers.NodeInformer
	Infrastructures configinformers.InfrastructureInformer
	LeaseClient     coordinationv1client.LeasesGetter
	// Memory is the file that keeps what this process sees of the lease, see Recall.
	Memory   string `optional:"without one, nothing is kept"`
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	Options

	// kept is what Memory has.
	kept []byte
	// restarted is the container that runs after the one that led and failed.
	restarted patience.Since[string]
}

// New returns the controller that releases and restores the operand's lease on managed platforms. It reacts to pods,
// Nodes and the lease; a timer requeues when time alone proves that a holder has ended.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	c := &controller{Options: o}
	return reconciler.New(name, o.Operator, o.Recorder, c.sync,
		o.Lease, o.Pods.Informer(), o.Nodes.Informer(), o.Infrastructures.Informer())
}

// snapshot is the content of the caches at one moment.
type snapshot struct {
	controlplane.View
	// all are the pods of the operand's namespace, nodes the control-plane Nodes.
	all    []*corev1.Pod
	nodes  []*corev1.Node
	status *operatorv1.StaticPodOperatorStatus
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	s, err := c.observe()
	if err != nil {
		return err
	}
	if c.Lease.Record().Lease == nil {
		return nil
	}
	next, err := c.act(ctx, s)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return err
}

// observe reads the caches.
func (c *controller) observe() (snapshot, error) {
	var s snapshot
	var err error
	if _, s.status, _, err = c.Operator.GetStaticPodOperatorState(); err != nil {
		return s, err
	}
	if s.all, err = operatorclient.All(c.Pods.Lister().Pods(operand.Namespace), "pods in "+operand.Namespace); err != nil {
		return s, err
	}
	if s.View, err = controlplane.Look(c.Lease, c.Pods.Lister(), c.Infrastructures.Lister(), c.Clock); err != nil {
		return s, err
	}
	s.nodes, err = operatorclient.All(c.Nodes.Lister(), "nodes")
	return s, err
}

// oneCanLead reports whether every pod of the operand is on the only control-plane node. Its kubelet runs one container
// of the static pod at a time.
func (s *snapshot) oneCanLead() bool {
	return s.Topology() == configv1.SingleReplicaTopologyMode && len(s.nodes) == 1 &&
		!slices.ContainsFunc(s.StaticPods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != s.nodes[0].Name })
}

func (s *snapshot) isInstalling(node string) bool {
	return controlplane.TargetRevision(s.status, node) != 0
}

// isAlone reports whether the node has another revision than all others: it is the first one of a rollout, or the last
// one that goes back.
func (s *snapshot) isAlone(node string) bool {
	var own int32
	var others []int32
	for _, n := range s.status.NodeStatuses {
		switch {
		case n.NodeName == node:
			own = n.CurrentRevision
		case n.CurrentRevision != 0:
			others = append(others, n.CurrentRevision)
		}
	}
	return own != 0 && len(others) > 0 && !slices.Contains(others, own)
}
