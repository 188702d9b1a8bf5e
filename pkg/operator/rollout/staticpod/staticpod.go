// Package staticpod assembles the controllers that bring the operand to the control-plane nodes. One of its own creates
// revisions of the accepted candidates, another reports the rollout (progress.go). Those of library-go install them
// node by node, monitor the pods and prune old revisions. nextnode.go chooses the node, installerclient.go adapts the
// status that they read and write, pods.go and installerpod.go the pods, and listers.go what they read from caches.
//
// library-go's builder is not used because it binds the installer to cluster-admin. Guard pods are omitted: see
// docs/decisions/001-controllers-without-the-builder.md.
package staticpod

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/condition"
	"github.com/openshift/library-go/pkg/operator/revisioncontroller"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installer"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/installerstate"
	missingstaticpod "github.com/openshift/library-go/pkg/operator/staticpod/controller/missingstaticpod"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/node"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/prune"
	"github.com/openshift/library-go/pkg/operator/staticpod/controller/staticpodstate"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/unsupportedconfigoverridescontroller"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/hostpod"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/observedplatform"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/reconciler"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/patience"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/predecessor"
)

// reboot is how long a node and its static pod may take to reboot on bare metal.
const reboot = 10 * time.Minute

// Inertia is none for this package's conditions, whose controllers have waited, unlike library-go's.
var Inertia = operatorclient.Inertia{
	HeldBackCondition:       operatorclient.AtOnce,
	ImagePullCondition:      operatorclient.AtOnce,
	InstallerStartCondition: operatorclient.AtOnce,

	condition.NodeControllerDegradedConditionType: reboot,
	condition.StaticPodsDegradedConditionType:     reboot,
}

// Conditions returns the conditions of the controllers that New runs, including library-go's.
func Conditions() []string {
	return []string{
		HeldBackCondition, ImagePullCondition, InstallerStartCondition,
		progressController + "Degraded",
		condition.NodeControllerDegradedConditionType,
		condition.StaticPodsDegradedConditionType,
		condition.StaticPodsAvailableConditionType,
		condition.NodeInstallerDegradedConditionType,
		condition.NodeInstallerProgressingConditionType,
		condition.InstallerControllerDegradedConditionType,
		condition.RevisionControllerDegradedConditionType,
		condition.UnsupportedConfigOverridesUpgradeableConditionType,
		"MissingStaticPodControllerDegraded",
		"InstallerPodPendingDegraded",
		"InstallerPodContainerWaitingDegraded",
		"InstallerPodNetworkingDegraded",
	}
}

// options are what the controllers get. configMaps and secrets write to the operand's namespace and read from Target's
// caches. image is this operator's, which installer and pruner pods run.
type options struct {
	dependencies.Deps
	configMaps corev1client.ConfigMapsGetter
	secrets    corev1client.SecretsGetter
	image      string
}

func controllers(o options) []factory.Controller {
	pods := nodePodsOf(o, func() (*url.URL, error) { return apiServer(o.Operator) })
	// The versions package compares revisions. This controller compares images, which many upgrades do not change.
	ignored := status.NewVersionGetter()
	operator := o.Operator.Informer()
	return []factory.Controller{
		newRevisionController(o),
		newInstallerController(o, pods),
		newProgressController(o),
		installerstate.NewInstallerStateController(operand.Name, o.Target, pods, noEvents{}, o.Operator,
			operand.Namespace, o.Recorder),
		reconciler.Again(node.NewNodeController(operand.Name, o.Operator, sortedNodes(o.Nodes), o.Recorder, nil), o.Recorder,
			operator, o.Nodes.Informer()),
		staticpodstate.NewStaticPodStateController(operand.Name, operand.Namespace, operand.Name, operand.Name,
			o.Target, o.Operator, pods.seenAs(rolling{o.Deps}.view), ignored, o.Recorder),
		missingstaticpod.New(sortedLines{o.Operator}, currentInstallers(o.Deps), o.Recorder, operand.Namespace,
			operand.Name, operand.Name, o.Infrastructures),
		reconciler.Again(prune.NewPruneController(operand.Namespace, operand.PodConfigMap, []string{hostpod.Binary, "prune"},
			o.configMaps, pods, o.Operator, o.Target, o.Recorder), o.Recorder,
			operator, o.Target.Core().V1().ConfigMaps().Informer()),
		reconciler.Again(unsupportedconfigoverridescontroller.NewUnsupportedConfigOverridesController(operand.Name,
			o.Operator, o.Recorder), o.Recorder, operator),
	}
}

// newInstallerController returns library-go's, which also syncs when a node's kubelet changes, when a static pod may
// have settled, and when the rollout may abandon a node.
func newInstallerController(o options, pods nodePods) factory.Controller {
	settling, core := &settling{Deps: o.Deps, ready: patience.Each[string, string]{}}, o.Target.Core().V1()
	client := &installerClient{StaticPodOperatorClient: o.Operator, next: &nextNode{Deps: o.Deps}}
	inner := installer.NewInstallerController(operand.Name, operand.Namespace, operand.Name,
		revisioned(operand.ConfigMap), revisioned(operand.Secret), []string{hostpod.Binary, "installer"}, o.Target, client,
		o.configMaps, o.secrets, pods.seenAs(settling.view),
		installerEvents(o.Recorder, func() bool { return client.chosen.isRepair() }),
	).
		WithCerts(operand.CertDir, synced(operand.ConfigMap), synced(operand.Secret)).
		WithInstallerPodMutationFn(pullImages(core.ConfigMaps().Lister().ConfigMaps(operand.Namespace), o.image)).
		WithInstallerPodMutationFn(nameHolder(o.Lease))
	sync := func(ctx context.Context, syncCtx factory.SyncContext) error {
		if err := client.choose(); err != nil {
			return err
		}
		if err := client.abandon(ctx, pods); err != nil {
			return err
		}
		err := inner.Sync(ctx, syncCtx)
		reconciler.After(syncCtx, settling.remaining())
		reconciler.After(syncCtx, client.chosen.wait)
		return err
	}
	// The controller reports its errors as InstallerControllerDegraded, which installerclient.go corrects.
	informers := factory.New().WithInformers(o.Operator.Informer(), core.Pods().Informer(), core.ConfigMaps().Informer(),
		core.Secrets().Informer(), o.Nodes.Informer())
	return reconciler.Unreported(informers, inner.Name(), o.Recorder, sync)
}

// apiServer returns the API server's URL for the control plane, from observedConfig.
func apiServer(operator v1helpers.OperatorClient) (*url.URL, error) {
	spec, _, _, err := operator.GetOperatorState()
	if err != nil {
		return nil, err
	}
	return observedplatform.APIServer(spec)
}

// synced returns the objects of one kind that the installer writes into operand.CertDir and the file-syncer updates.
func synced(kind operand.Kind) []installer.UnrevisionedResource {
	var resources []installer.UnrevisionedResource
	for _, name := range operand.DeliveredBy(kind, operand.Synced) {
		resources = append(resources, installer.UnrevisionedResource{Name: name})
	}
	return resources
}

// revisioned returns the objects to copy for each revision. None is optional: if one appeared, it would roll out.
func revisioned(kind operand.Kind) []revisioncontroller.RevisionResource {
	var resources []revisioncontroller.RevisionResource
	for _, name := range operand.DeliveredBy(kind, operand.Revisioned) {
		resources = append(resources, revisioncontroller.RevisionResource{Name: name})
	}
	return resources
}

// New returns a controller that runs the others while the platform is managed, once kube-controller-manager does not
// run the cloud controllers. During a removal they would install what was removed, because they ignore
// spec.managementState. operatorImage is this operator's, which installer and pruner pods run.
func New(d dependencies.Deps, operatorImage string) factory.Controller {
	dependencies.Require(d, operatorImage)
	o := options{d, d.ConfigMaps(), d.Secrets(), operatorImage}
	return (&starter{Deps: d, controllers: func() []factory.Controller { return controllers(o) }}).controller()
}

type starter struct {
	dependencies.Deps
	// controllers returns new controllers, because none can run twice. The event handlers of former ones do nothing.
	controllers func() []factory.Controller
	// stop ends the controllers, nil if none run.
	stop    context.CancelFunc
	running sync.WaitGroup

	// mutex keeps a sync from starting controllers once wait has set ended.
	mutex sync.Mutex
	ended bool
}

func (s *starter) controller() factory.Controller {
	return reconciler.From(factory.New().WithPostStartHooks(s.wait), "StaticPodControllers", s.Operator, s.Recorder,
		s.sync)
}

func (s *starter) sync(ctx context.Context, _ factory.SyncContext) error {
	managed, known, err := observedplatform.Managed(s.Operator)
	if err != nil || !known || managed == (s.stop != nil) {
		return err
	}
	if !managed {
		klog.InfoS("Stopping the static-pod controllers")
		s.stop()
		s.running.Wait()
		s.stop = nil
		return nil
	}
	_, status, _, err := s.Operator.GetOperatorState()
	if err != nil {
		return err
	}
	if !predecessor.LetsInstall(status.Conditions) {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended {
		return nil
	}
	klog.InfoS("Starting the static-pod controllers")
	ctx, s.stop = context.WithCancel(ctx)
	for _, controller := range s.controllers() {
		s.running.Go(func() { controller.Run(ctx, 1) })
	}
	return nil
}

// wait blocks until the started controllers have ended. A sync may still run: its context ends after ctx.
func (s *starter) wait(ctx context.Context, _ factory.SyncContext) error {
	<-ctx.Done()
	s.mutex.Lock()
	s.ended = true
	s.mutex.Unlock()
	s.running.Wait()
	return nil
}
