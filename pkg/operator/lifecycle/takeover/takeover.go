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
	"github.com/openshift/library-go/pkg/controller/factory"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
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

// Options are what New needs besides the Deps; all are required.
type Options struct {
	// Deployments watches the operand's namespace, Namespaces the namespace itself.
	Deployments appsinformers.DeploymentInformer
	Namespaces  corev1informers.NamespaceInformer
	// InTree reports whether kube-controller-manager runs the cloud controllers.
	InTree func(context.Context) (bool, error)
}

type controller struct {
	dependencies.Deps
	Options
	// externalOnly is set once kube-controller-manager does not run the cloud controllers. It never does so again.
	externalOnly bool
}

// New returns the controller that writes the condition TakingOver on managed platforms.
func New(d dependencies.Deps, o Options) factory.Controller {
	dependencies.Require(d, o)
	f := factory.New().
		WithInformers(o.Deployments.Informer(), d.Target.Core().V1().Pods().Informer(), d.Nodes.Informer(),
			o.Namespaces.Informer(), d.Lease).
		WithBareInformers(d.Infrastructures.Informer())
	return reconciler.From(f, name, d.Operator, d.Recorder, (&controller{Deps: d, Options: o}).sync)
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
	v, err := c.view()
	switch {
	case err != nil:
		return step{}, err
	case len(v.deployments) > 0:
		return c.stop(ctx, v)
	case len(v.Predecessors()) > 0:
		return stopping(v), nil
	case !v.isStarted():
		return step{}, nil
	}
	return c.replace(ctx, v)
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
func (c *controller) replace(ctx context.Context, v view) (step, error) {
	holder := v.Holder()
	if at, err := c.releaseLease(ctx, v, holder); err != nil || at.reason != "" {
		return at, err
	}
	if err := c.dropRunLevel(ctx); err != nil {
		return step{}, err
	}
	if !v.IsInstalled() {
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

// view is the control plane, and the predecessor's Deployments.
type view struct {
	controlplane.View
	deployments []*appsv1.Deployment
}

// isStarted reports whether TakingOver is True because of the predecessor. Nothing of the predecessor is stopped before
// that: after its Deployments are gone, only the condition records that a lease may be left.
func (v *view) isStarted() bool {
	conditions := v.Status().Conditions
	return predecessor.Remains(conditions) && predecessor.LetsInstall(conditions)
}

func (c *controller) view() (v view, err error) {
	if v.deployments, err = predecessor.Deployments(c.Deployments.Lister()); err != nil {
		return v, err
	}
	v.View, err = c.View()
	return v, err
}

// stop deletes the predecessor's Deployments once the static pods stand by.
func (c *controller) stop(ctx context.Context, v view) (step, error) {
	running := slices.DeleteFunc(slices.Clone(v.deployments), func(d *appsv1.Deployment) bool {
		return d.DeletionTimestamp != nil
	})
	if len(running) == 0 {
		return stopping(v), nil
	}
	if missing := v.missing(); missing != "" || !v.isStarted() {
		return step{reason: waitingForStaticPods, message: fmt.Sprintf(
			"%s of this operator's predecessor keeps running until the static pods stand by%s; if they do not come, a "+
				"Degraded condition or PreflightNotices has the cause", deploymentNames(running), missing)}, nil
	}
	for _, d := range running {
		// In the foreground, so that the Deployment exists until its pods have ended.
		err := operatorclient.Delete(ctx, c.Kube.AppsV1().Deployments(d.Namespace).Delete, "deployment", d.Namespace,
			d.Name, metav1.DeleteOptions{
				PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
				Preconditions:     metav1.NewUIDPreconditions(string(d.UID)),
			})
		if err != nil {
			return step{}, err
		}
		c.Recorder.Eventf("PredecessorStopped", "Deleted deployment/%s in %s: the static pods stand by", d.Name, d.Namespace)
	}
	return stopping(v), nil
}

func stopping(v view) step {
	waiting := "its Deployment to be deleted"
	if len(v.Predecessors()) > 0 {
		var pods []string
		for _, pod := range v.Predecessors() {
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
