// Package takeover replaces the cloud-controller-managers (CCMs) of the Deployment-based predecessor. It lets them
// run until the static pods stand by, then deletes their Deployments, waits until their pods have ended and releases
// their lease. Every step follows from what exists, so a killed operator goes on where it ended.
//
// What else the predecessor left behind is deleted by the cluster-version-operator: manifests with the annotation
// release.openshift.io/delete come after the ClusterOperator, for which it waits.
package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	configinformers "github.com/openshift/client-go/config/informers/externalversions/config/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

const (
	name = "Takeover"

	// askAgain is the delay before kube-controller-manager's operator is asked again who runs the cloud controllers.
	askAgain = 30 * time.Second
)

// The reasons of the condition TakingOver while it is True, in the order of the steps.
const (
	waitingForStaticPods = "WaitingForStaticPods"
	stoppingPredecessor  = "StoppingPredecessor"
	releasingLease       = "ReleasingLease"
	startingStaticPods   = "StartingStaticPods"
	waitingForLeader     = "WaitingForLeader"
)

// Options are the dependencies of New; all are required.
type Options struct {
	Operator v1helpers.StaticPodOperatorClient
	Lease    *controlplane.Lease
	// Deployments and Pods watch the operand's namespace, Namespaces the namespace itself, and Nodes the control-plane
	// Nodes.
	Deployments appsinformers.DeploymentInformer
	Pods        corev1informers.PodInformer
	Namespaces  corev1informers.NamespaceInformer
	Nodes       corev1informers.NodeInformer
	// Infrastructures has the topology.
	Infrastructures configinformers.InfrastructureInformer

	DeploymentClient appsv1client.DeploymentsGetter
	LeaseClient      coordinationv1client.LeasesGetter
	NamespaceClient  corev1client.NamespacesGetter
	// InTree reports whether kube-controller-manager runs the cloud controllers.
	InTree   func(context.Context) (bool, error)
	Clock    clock.PassiveClock
	Recorder events.Recorder
}

type controller struct {
	Options
	// externalOnly is set once kube-controller-manager does not run the cloud controllers. It never does so again.
	externalOnly bool
}

// New returns the controller that writes the condition TakingOver on managed platforms.
func New(o Options) factory.Controller {
	dependencies.Require(o)
	f := factory.New().
		WithInformers(o.Deployments.Informer(), o.Pods.Informer(), o.Nodes.Informer(), o.Namespaces.Informer(), o.Lease).
		WithBareInformers(o.Infrastructures.Informer())
	return reconciler.From(f, name, o.Operator, o.Recorder, (&controller{Options: o}).sync)
}

// step is where the take-over stands; its zero value is the end.
type step struct {
	reason, message string
	// next is when to look again without an event.
	next time.Duration
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(c.Operator)
	if err != nil || !known || !managed {
		return err
	}
	at, err := c.advance(ctx)
	if err != nil {
		return err
	}
	if at.next > 0 {
		syncCtx.Queue().AddAfter(factory.DefaultQueueKey, at.next)
	}
	condition := operatorclient.AsExpected(predecessor.ConditionType)
	if at.reason != "" {
		condition = operatorclient.NewCondition(predecessor.ConditionType, operatorv1.ConditionTrue, at.reason, at.message)
	}
	return operatorclient.ApplyConditions(ctx, c.Operator, name, condition)
}

// advance takes the next step and returns where the take-over stands then.
func (c *controller) advance(ctx context.Context) (step, error) {
	if at, err := c.inTree(ctx); err != nil || at.reason != "" {
		return at, err
	}
	s, err := c.observe()
	switch {
	case err != nil:
		return step{}, err
	case len(s.deployments) > 0:
		return c.stop(ctx, s)
	case len(s.Predecessors()) > 0:
		return stopping(s), nil
	case !s.begun:
		return step{}, nil
	}
	return c.replace(ctx, s)
}

// inTree waits until kube-controller-manager does not run the cloud controllers.
func (c *controller) inTree(ctx context.Context) (step, error) {
	if c.externalOnly {
		return step{}, nil
	}
	inTree, err := c.InTree(ctx)
	if err != nil {
		return step{}, err
	}
	if inTree {
		return step{reason: predecessor.InTreeReason, next: askAgain, message: "kube-controller-manager runs the cloud " +
			"controllers: CloudControllerOwner of kubecontrollermanager/cluster is True; nothing is installed before " +
			"its operator sets that condition to False, so check clusteroperator/kube-controller-manager"}, nil
	}
	c.externalOnly = true
	return step{}, nil
}

// replace makes one of ours lead after the predecessor has ended.
func (c *controller) replace(ctx context.Context, s snapshot) (step, error) {
	holder := s.Holder()
	if at, err := c.releaseLease(ctx, s, holder); err != nil || at.reason != "" {
		return at, err
	}
	if err := c.dropRunLevel(ctx); err != nil {
		return step{}, err
	}
	if !slices.ContainsFunc(s.status.NodeStatuses, func(n operatorv1.NodeStatus) bool { return n.CurrentRevision > 0 }) {
		return step{reason: startingStaticPods, message: "the predecessor has stopped; waiting for the first static pod"},
			nil
	}
	if !holder.State.Runs() {
		return step{reason: waitingForLeader, message: fmt.Sprintf("the predecessor has stopped; waiting for a static "+
			"pod to acquire lease/%s in %s; if none does within a minute, check the logs of the container %s",
			operand.Lease, operand.Namespace, operand.Name)}, nil
	}
	return step{}, nil
}

// snapshot is the content of the caches at one moment.
type snapshot struct {
	controlplane.View
	// begun reports whether TakingOver is True because of the predecessor. Nothing of the predecessor is stopped before
	// that: after its Deployments are gone, only the condition records that a lease may be left.
	begun  bool
	status *operatorv1.StaticPodOperatorStatus
	// deployments are the predecessor's, pods everything in the operand's namespace.
	deployments []*appsv1.Deployment
	pods        []*corev1.Pod
	nodes       []*corev1.Node
}

func (c *controller) observe() (snapshot, error) {
	var s snapshot
	var err error
	if _, s.status, _, err = c.Operator.GetStaticPodOperatorState(); err != nil {
		return s, err
	}
	s.begun = predecessor.Remains(s.status.Conditions) && predecessor.LetsInstall(s.status.Conditions)
	if s.deployments, err = predecessor.Deployments(c.Deployments.Lister()); err != nil {
		return s, err
	}
	if s.View, err = controlplane.Look(c.Lease, c.Pods.Lister(), c.Infrastructures.Lister(), c.Clock); err != nil {
		return s, err
	}
	pods := c.Pods.Lister().Pods(operand.Namespace)
	if s.pods, err = operatorclient.All(pods, "pods in "+operand.Namespace); err != nil {
		return s, err
	}
	s.nodes, err = operatorclient.All(c.Nodes.Lister(), "nodes")
	return s, err
}

// stop deletes the predecessor's Deployments once the static pods stand by.
func (c *controller) stop(ctx context.Context, s snapshot) (step, error) {
	running := slices.DeleteFunc(slices.Clone(s.deployments), func(d *appsv1.Deployment) bool {
		return d.DeletionTimestamp != nil
	})
	if len(running) == 0 {
		return stopping(s), nil
	}
	if missing := s.missing(); missing != "" || !s.begun {
		return step{reason: waitingForStaticPods, message: fmt.Sprintf(
			"%s of this operator's predecessor keeps running until the static pods stand by%s; if they do not come, a "+
				"Degraded condition or PreflightNotices has the cause", deploymentNames(running), missing)}, nil
	}
	for _, d := range running {
		// In the foreground, so that the Deployment exists until its pods have ended.
		err := operatorclient.Delete(ctx, c.DeploymentClient.Deployments(d.Namespace).Delete, "deployment", d.Namespace,
			d.Name, metav1.DeleteOptions{
				PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
				Preconditions:     metav1.NewUIDPreconditions(string(d.UID)),
			})
		if err != nil {
			return step{}, err
		}
		c.Recorder.Eventf("PredecessorStopped", "Deleted deployment/%s in %s: the static pods stand by", d.Name, d.Namespace)
	}
	return stopping(s), nil
}

func stopping(s snapshot) step {
	waiting := "its Deployment to be deleted"
	if len(s.Predecessors()) > 0 {
		var pods []string
		for _, pod := range s.Predecessors() {
			pods = append(pods, fmt.Sprintf("pod/%s on node/%s", pod.Name, pod.Spec.NodeName))
		}
		waiting = strings.Join(pods, ", ") + " to end"
	}
	return step{reason: stoppingPredecessor, message: "the predecessor is being stopped; waiting for " + waiting}
}

func deploymentNames(deployments []*appsv1.Deployment) string {
	var names []string
	for _, d := range deployments {
		names = append(names, "deployment/"+d.Name)
	}
	return strings.Join(names, ", ")
}
