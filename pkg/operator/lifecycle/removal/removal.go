// Package removal removes the cloud-controller-manager from the cluster while spec.managementState is Removed: first
// the static pods from the nodes, then the objects. Its condition Removing persists the step, so that another process
// of the operator continues, and makes every other controller treat the platform as unmanaged.
package removal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/loadbalancer"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

const (
	// DegradedCondition is True while a requested removal has to wait, or fails on a node.
	DegradedCondition = "RemovalDegraded"

	name = "RemovalController"

	// pause is how long a requested removal waits before it starts. Until then it can be undone without an effect.
	pause = time.Minute

	// checkPeriod is how often a blocked removal lists all nodes and Services.
	checkPeriod = 10 * time.Second

	// verifyPeriod is how soon the deletion of objects is verified.
	verifyPeriod = 500 * time.Millisecond
)

// Inertia declares the inertia of the condition.
var Inertia = operatorclient.Inertia{DegradedCondition: operatorclient.DefaultInertia}

// Options are what New needs besides the Deps; all are required.
type Options struct {
	Policy func() (ccmv1.CloudControllerManagerRemovalPolicy, error)
	// Annotate sets annotations of the operator's resource.
	Annotate func(ctx context.Context, annotations map[string]string) error
	// Leases watches the operand's lease.
	Leases coordinationinformers.LeaseInformer
	// Metadata lists Services.
	Metadata metadata.Interface
	// RemoveStaticResources deletes the static resources and the cloud-node-manager, and reports whether any existed.
	RemoveStaticResources func(ctx context.Context, recorder events.Recorder) (found bool, err error)
	// SignerSecret is the Secret in the operator's namespace with the key of the serving certificates' CA.
	SignerSecret string
	// OperatorImage is this operator's image, which removal pods run.
	OperatorImage string
}

type controller struct {
	dependencies.Deps
	Options
	// obstacles block the removal, as of checked.
	obstacles obstacles
	checked   time.Time
}

// obstacles need a cloud-controller-manager: nodes to initialize, and Services with a load balancer to delete.
type obstacles struct{ nodes, services []string }

func (o obstacles) exist() bool { return len(o.nodes) > 0 || len(o.services) > 0 }

// New returns the controller. An unsafe removal changes nothing. A removal that has started continues until everything
// is removed, or until spec.managementState changes: then the other controllers install again what is missing.
func New(d dependencies.Deps, o Options) factory.Controller {
	dependencies.Require(d, o)
	core := d.Target.Core().V1()
	return reconciler.New(name, d.Operator, d.Recorder, (&controller{Deps: d, Options: o}).sync,
		d.Nodes.Informer(), core.Pods().Informer(), core.ConfigMaps().Informer(), core.Secrets().Informer(),
		core.ServiceAccounts().Informer(), o.Leases.Informer(), d.Target.Apps().V1().Deployments().Informer())
}

func (c *controller) sync(ctx context.Context, syncCtx factory.SyncContext) error {
	spec, status, _, err := c.Operator.GetStaticPodOperatorState()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	observed, known, err := observedplatform.Of(&spec.OperatorSpec)
	if err != nil || !known {
		return err
	}
	step := observedplatform.RemovalOf(&status.OperatorStatus)
	begun := step != "" && step != observedplatform.Removed
	requested := spec.ManagementState == operatorv1.Removed && (observed.Managed() || begun)
	switch {
	case step == "" && requested:
		return c.begin(ctx, syncCtx, &status.OperatorStatus)
	case step == "":
		return c.release(ctx, status)
	case !requested:
		return c.restore(ctx, status)
	}
	return c.proceed(ctx, syncCtx, step, spec, status)
}

func (c *controller) proceed(ctx context.Context, syncCtx factory.SyncContext, step observedplatform.Removal,
	spec *operatorv1.StaticPodOperatorSpec, status *operatorv1.StaticPodOperatorStatus,
) error {
	switch step {
	case observedplatform.RemovingStaticPods:
		return c.removeStaticPods(ctx, syncCtx, spec, status)
	case observedplatform.RemovingObjects:
		return c.removeObjects(ctx, syncCtx)
	case observedplatform.Removed:
		return c.stayRemoved(ctx)
	default: // Restoring: the removal was requested again.
		return c.enter(ctx, observedplatform.RemovingStaticPods)
	}
}

// begin starts the removal after the pause, unless obstacles exist.
func (c *controller) begin(ctx context.Context, syncCtx factory.SyncContext, status *operatorv1.OperatorStatus) error {
	meta, err := c.Operator.GetObjectMeta()
	if err != nil {
		return err
	}
	start, first := c.startOf(status)
	left := start.Sub(c.Clock.Now())
	if meta.Annotations[operatorclient.RemovalAnnotation] == strconv.FormatInt(meta.Generation, 10) {
		left = 0
	}
	if err := c.check(ctx, left <= 0); err != nil {
		return err
	}
	switch {
	case c.obstacles.exist():
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), checkPeriod)
		return c.block(ctx, c.obstacles)
	case left > 0:
		syncCtx.Queue().AddAfter(syncCtx.QueueKey(), min(left, checkPeriod))
		return c.wait(ctx, start, meta.Generation, first)
	}
	c.checked = time.Time{}
	if err := c.enter(ctx, observedplatform.RemovingStaticPods); err != nil {
		return err
	}
	c.Recorder.Eventf("RemovalStarted", "Removing the cloud-controller-manager, as spec.managementState is %s",
		operatorv1.Removed)
	return nil
}

// startOf returns when the pause ends, and whether the request is new. Removing keeps its time for the next process.
func (c *controller) startOf(status *operatorv1.OperatorStatus) (start time.Time, first bool) {
	seen := v1helpers.FindOperatorCondition(status.Conditions, observedplatform.RemovingCondition)
	if seen == nil {
		return c.Clock.Now().Add(pause), true
	}
	return seen.LastTransitionTime.Add(pause), false
}

// check lists the obstacles, at most every checkPeriod unless the removal would start now.
func (c *controller) check(ctx context.Context, now bool) error {
	policy, err := c.Policy()
	if err != nil {
		return err
	}
	if policy == ccmv1.CloudControllerManagerRemovalPolicyForce {
		c.obstacles = obstacles{}
		return nil
	}
	isRecent := c.Clock.Since(c.checked) < checkPeriod
	if isRecent && (!now || c.obstacles.exist()) {
		return nil
	}
	if c.obstacles.nodes, err = c.listUninitialized(ctx); err != nil {
		return err
	}
	if c.obstacles.services, err = c.listBalancers(ctx); err != nil {
		return err
	}
	c.checked = c.Clock.Now()
	return nil
}

// stayRemoved removes the static pod of a node that was not in the cluster during the removal.
func (c *controller) stayRemoved(ctx context.Context) error {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if exists, err := c.staticPodExists(node.Name); err != nil || exists {
			if exists {
				c.Recorder.Warningf("StaticPodReturned", "Removing the static pod that runs on node/%s", node.Name)
				err = c.enter(ctx, observedplatform.RemovingStaticPods)
			}
			return err
		}
	}
	return nil
}

// restore ends the removal, once no removal pod can remove what the installers write: a rollout goes on without a node
// whose kubelet is silent. It also removes installers of former revisions, because library-go's installer controller
// considers a revision installed on a node if the installer pod of the node and revision has succeeded. It releases the
// lease of a leader that the removal has ended.
func (c *controller) restore(ctx context.Context, status *operatorv1.StaticPodOperatorStatus) error {
	left, err := c.endPods(ctx, slices.Concat(appWriters, []string{appRemoval})...)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return c.report(ctx, observedplatform.Restoring, endsOf(onNode, left), nil)
	}
	if err := c.releaseLease(ctx); err != nil {
		return err
	}
	if err := c.release(ctx, status); err != nil {
		return err
	}
	c.Recorder.Event("RemovalEnded", "Installing the cloud-controller-manager again")
	return nil
}

const servicesPage = 10

// listBalancers returns the Services, as namespace/name, that only a CCM can delete: none while a Deployment of the
// predecessor exists, and is not being deleted, whose CCM takes over. It reads live metadata in pages, only before a
// removal starts.
func (c *controller) listBalancers(ctx context.Context) ([]string, error) {
	deployments, err := predecessor.Deployments(c.Target.Apps().V1().Deployments().Lister())
	takesOver := func(d *appsv1.Deployment) bool {
		return d.DeletionTimestamp == nil && ptr.Deref(d.Spec.Replicas, 1) > 0
	}
	if err != nil || slices.ContainsFunc(deployments, takesOver) {
		return nil, err
	}
	var balancers []string
	services := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("services"))
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return services.List(ctx, options)
	})
	// Every tenant can create many Services, with annotations of 256 KiB each.
	list.PageSize, list.PageBufferSize = servicesPage, 0
	err = list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		service, ok := object.(*metav1.PartialObjectMetadata)
		if ok && loadbalancer.NeedsCleanup(service) {
			balancers = append(balancers, service.Namespace+"/"+service.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing services: %w", err)
	}
	slices.Sort(balancers)
	return balancers, nil
}
