// Package operator wires the operator's controllers together. The packages below it implement them.
package operator

import (
	"context"
	"fmt"
	"time"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/openshift/library-go/pkg/controller/manager"
	"github.com/openshift/library-go/pkg/operator/management"
	"github.com/openshift/library-go/pkg/operator/status"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/controlplane"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/internal/dependencies"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operandhealth"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/inputs/servingcert"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/leader/leadership"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/nodes/nodedeletion"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/services/loadbalancers"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/adminevents"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/metrics"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operator/status/versions"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operatorclient"
)

// Options come from the flags and the environment of the operator's Deployment. Zero durations select the defaults.
type Options struct {
	versions.Release

	// OperandImages has the operands' pull specifications, by tag in the release payload.
	OperandImages map[string]string

	// SystemTrust is the trust bundle of the operator's image, without data if the image has none.
	SystemTrust operand.TrustSource

	// TokenLifetime is the lifetime to request for the operand's token.
	TokenLifetime time.Duration

	Validity servingcert.Validity

	// UninitializedThreshold is how long a node may stay uninitialized before the operator degrades.
	UninitializedThreshold time.Duration

	// LeaderMemory survives the process.
	LeaderMemory *leadership.Memory `optional:"without one, the next process waits for a lease from its own start"`

	Dial operandhealth.Dial `optional:"nil for the network"`
}

type wiring struct {
	Options
	*controllercmd.ControllerContext
	kube           kubernetes.Interface
	dynamic        dynamic.Interface
	metadata       metadata.Interface
	config         configclient.Interface
	client         v1helpers.StaticPodOperatorClient
	resource       dynamicinformer.DynamicSharedInformerFactory
	informers      informerSet
	lease          *controlplane.Lease
	loadBalancers  *loadbalancers.Watch
	announcements  *nodedeletion.Announcements
	versions       status.VersionGetter
	facts          *metrics.Facts
	nodeController *controlplane.NodeController
}

// Run runs the operator until ctx ends.
func Run(ctx context.Context, o Options, cc *controllercmd.ControllerContext) error {
	// library-go's controllers shall ignore spec.managementState, and not treat a missing operator resource as a removal.
	// The removal package implements Removed, and stops them.
	management.SetOperatorAlwaysManaged()
	management.SetOperatorNotRemovable()

	w, err := newWiring(o, cc)
	if err != nil {
		return err
	}
	controllers := manager.NewControllerManager()
	for _, controller := range w.controllers() {
		controllers.WithController(controller, 1)
	}
	unregister, err := metrics.Register(w.metrics())
	if err != nil {
		return err
	}
	defer unregister()
	w.resource.Start(ctx.Done())
	w.informers.start(ctx.Done())
	controllers.Start(ctx)
	return nil
}

func newWiring(o Options, cc *controllercmd.ControllerContext) (*wiring, error) {
	own := *cc
	own.EventRecorder = adminevents.New(cc.EventRecorder)
	cc = &own
	kube, err := kubernetes.NewForConfig(unthrottled(cc.ProtoKubeConfig))
	if err != nil {
		return nil, fmt.Errorf("building the Kubernetes client: %w", err)
	}
	config, err := configclient.NewForConfig(unthrottled(cc.KubeConfig))
	if err != nil {
		return nil, fmt.Errorf("building the client of config.openshift.io: %w", err)
	}
	dynamic, err := dynamic.NewForConfig(unthrottled(cc.KubeConfig))
	if err != nil {
		return nil, fmt.Errorf("building the dynamic client: %w", err)
	}
	metadata, err := metadata.NewForConfig(unthrottled(cc.KubeConfig))
	if err != nil {
		return nil, fmt.Errorf("building the client of metadata: %w", err)
	}
	client, resource, err := operatorclient.New(cc.Clock, unthrottled(cc.KubeConfig))
	if err != nil {
		return nil, err
	}
	informers := newInformerSet(kube, config)
	lease, err := controlplane.NewLease(informers.lease.Coordination().V1().Leases(), cc.Clock)
	if err != nil {
		return nil, err
	}
	if o.LeaderMemory != nil {
		o.LeaderMemory.Recall(lease)
	}
	w := &wiring{
		Options:           o,
		ControllerContext: cc,
		kube:              kube,
		dynamic:           dynamic,
		metadata:          metadata,
		config:            config,
		client:            client,
		resource:          resource,
		informers:         informers,
		lease:             lease,
		loadBalancers:     loadbalancers.NewWatch(kube.CoreV1(), cc.Clock),
		announcements:     nodedeletion.NewAnnouncements(kube.CoreV1()),
		versions:          status.NewVersionGetter(),
		facts:             &metrics.Facts{},
		nodeController:    &controlplane.NodeController{},
	}
	dependencies.Require(*w)
	dependencies.Require(w.informers)
	return w, nil
}

// unthrottled disables client-side rate limiting; API priority and fairness applies instead.
func unthrottled(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return config
}
