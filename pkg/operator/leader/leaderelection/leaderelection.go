// Package leaderelection keeps the lease of the cloud-controller-managers (CCMs) true: it releases the lease of a
// process that has ended, and restores one that was deleted while a process acts on it. The CCMs do neither.
package leaderelection

import (
	"context"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	corev1 "k8s.io/api/core/v1"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
)

const (
	name = "LeaderElection"

	// askPeriod is how soon a process that starts has asked for the lease: within the first second. It asks again after 26
	// seconds or more, and another one can take the lease meanwhile.
	askPeriod = 3 * time.Second
)

// Options are what New needs besides the Deps.
type Options struct {
	// Memory is the file that keeps what this process sees of the lease, see Recall.
	Memory string `optional:"without one, nothing is kept"`
}

type controller struct {
	dependencies.Deps
	Options
	// kept is what Memory has.
	kept []byte
	// restarted is the container that runs after the one that led and failed.
	restarted patience.Since[string]
}

// New returns the controller that releases and restores the operand's lease on managed platforms. It reacts to pods,
// Nodes and the lease; a timer requeues when time alone proves that a holder has ended.
func New(d dependencies.Deps, o Options) factory.Controller {
	dependencies.Require(d, o)
	c := &controller{Deps: d, Options: o}
	return reconciler.New(name, d.Operator, d.Recorder, c.sync,
		d.Lease, d.Target.Core().V1().Pods().Informer(), d.Nodes.Informer(), d.Infrastructures.Informer())
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	view, err := c.View()
	if err != nil || view.Record().Lease == nil {
		return err
	}
	next, err := c.act(ctx, view)
	if next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, next)
	}
	return err
}

// oneCanLead reports whether every pod of the operand is on the only control-plane node. Its kubelet runs one container
// of the static pod at a time.
func oneCanLead(v controlplane.View) bool {
	return v.Topology() == configv1.SingleReplicaTopologyMode && len(v.Nodes()) == 1 &&
		!slices.ContainsFunc(v.StaticPods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != v.Nodes()[0].Name })
}

// isAlone reports whether the node has another revision than all others: it is the first one of a rollout, or the last
// one that goes back.
func isAlone(v controlplane.View, node string) bool {
	own := v.Revisions(node).CurrentRevision
	others := slices.DeleteFunc(slices.Clone(v.Status().NodeStatuses), func(n operatorv1.NodeStatus) bool {
		return n.NodeName == node || n.CurrentRevision == 0
	})
	return own != 0 && len(others) > 0 &&
		!slices.ContainsFunc(others, func(n operatorv1.NodeStatus) bool { return n.CurrentRevision == own })
}
